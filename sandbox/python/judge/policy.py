# SPDX-License-Identifier: Apache-2.0
"""Rules about what a candidate's code may do, by Python's own ast; nothing is run.

    python -I policy.py [--stage kernel] [--off RULE,RULE] FILE        prints a JSON list of findings

Looks at what runs when the judge calls it: what can be reached from `kernel_function` and `ModelNew.forward`, and, for
some rules, at what runs at import and in constructors. The self-test and what only it reaches are free, and so is code
under @triton.jit. Findings are hints that an honest program hardly ever gives: what cannot be told is let pass.
"""
import ast
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from policy_program import Program, Reach, is_self, matches  # noqa: E402
from policy_tables import (EVERYWHERE, FRAME_ATTRIBUTES, HARMLESS, HEAVY, HEAVY_METHODS, IMPORT_TIME_FREE,  # noqa: E402
                           KERNEL_RULES, KERNEL_STAGES, LIBRARIES, LIGHT, LIGHT_METHODS, NATIVE_KERNELS, PATCHABLE,
                           RULES, SETTERS, SETTINGS, USES)

FILE_BYTES = 1 << 20
FINDINGS = 64
TEXT = 160


class Checker:
    def __init__(self, tree, lines, stage, off):
        self.program, self.lines, self.stage = Program(tree), lines, stage
        self.off = set(off) | (set() if stage in KERNEL_STAGES else set(KERNEL_RULES))
        self.findings, self.told, self.harmless = [], set(), set()

    def tell(self, rule, node, detail=""):
        line = getattr(node, "lineno", 0)
        if rule in self.off or (rule, line) in self.told or len(self.findings) >= FINDINGS:
            return
        self.told.add((rule, line))
        severity, text = RULES[rule]
        shown = self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""
        text += (" (%s)" % detail if detail else "") + (": " + shown if shown else "")
        self.findings.append({"rule": rule, "severity": severity, "line": line, "text": text[:TEXT]})

    def run(self):
        program = self.program
        entry = "ModelNew" if self.stage in KERNEL_STAGES else "Model"
        roots = [(program.functions.get("kernel_function"), None)]
        methods = program.methods(entry)
        roots += [(methods.get(x), entry) for x in ("forward", "__call__")]
        reached = Reach(program, roots).found
        for function, owner in reached:
            self.look(function, owner)
        self.look_at_making(methods.get("__init__"))
        for node in program.top:
            self.look_at_making(node)
        self.look_at_kernels(reached)
        self.findings.sort(key=lambda x: (x["line"], x["rule"]))
        return self.findings

    # What runs when the candidate is called --------------------------------------------------------------------------

    def look(self, function, owner):
        layers = self.layers(owner) if owner else set()
        for node in ast.walk(function):
            self.look_at_use(node)
            self.look_at_patch(node)
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
                self.tell("torch_fallback", node, "@")
            elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.MatMult):
                self.tell("torch_fallback", node, "@=")
            elif isinstance(node, ast.Call):
                self.look_at_call(node, layers)
            elif isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
                self.look_at_try(node, node.body, bool(node.handlers))
            elif isinstance(node, ast.With):
                is_quiet = any(isinstance(x.context_expr, ast.Call) and
                               self.program.dotted(x.context_expr.func) == "contextlib.suppress" for x in node.items)
                self.look_at_try(node, node.body, is_quiet)

    def layers(self, owner):
        """Attributes that hold layers of torch.nn (parameters, lists of them and own modules are none)."""
        made = set()
        for name, values in self.program.attributes(owner).items():
            for value in values:
                if isinstance(value, ast.Call) and self.is_layer(value.func):
                    made.add(name)
        return made

    def is_layer(self, node):
        name = self.program.dotted(node)
        return name.startswith("torch.nn.") and name.count(".") == 2 and name[9:10].isupper() and \
            name[9:] not in ("Parameter", "Buffer", "ParameterList", "ParameterDict", "Module", "ModuleList",
                             "ModuleDict", "UninitializedParameter", "Identity")

    def look_at_call(self, node, layers):
        name = self.program.dotted(node.func)
        if name:
            self.look_at_torch(node, name)
        elif isinstance(node.func, ast.Attribute):
            self.look_at_method(node)
        target = node.func
        if isinstance(target, ast.Attribute) and target.attr == "forward":
            target = target.value
        if is_self(target) and target.attr in layers:
            self.tell("module_called", node, target.attr)
        if isinstance(target, ast.Call) and self.is_layer(target.func):
            self.tell("module_called", node, self.program.dotted(target.func))

    def look_at_torch(self, node, name):
        parts = name.split(".")
        if name.startswith(("torch.linalg.", "torch.fft.", "torch.ops.aten.", "torch.special.", "torch.sparse.")):
            self.tell("torch_fallback", node, name)
        elif parts[0] in LIBRARIES and parts[-1].rstrip("_") in HEAVY or name.startswith(("numpy.linalg.", "scipy.")):
            self.tell("torch_fallback", node, name)
        elif parts[0] == "torch" and parts[1:2] != ["cuda"] and parts[-1] in LIGHT and len(parts) in (2, 4):
            self.tell("torch_arithmetic", node, name)
        elif name in SETTERS:
            self.tell("library_setting", node, name)
        elif parts[0] in self.aliases_free() and isinstance(node.func, ast.Attribute):
            self.look_at_method(node)

    def aliases_free(self):
        return NotImported(self.program)

    def look_at_method(self, node):
        """`x.softmax(-1)` of something that may be a tensor."""
        attr = node.func.attr
        if attr.rstrip("_") in HEAVY_METHODS:
            self.tell("torch_fallback", node, "." + attr)
        elif attr in LIGHT_METHODS:
            self.tell("torch_arithmetic", node, "." + attr)

    def look_at_try(self, node, body, is_handled):
        if is_handled and any(self.launches(x) for statement in body for x in ast.walk(statement)):
            self.tell("try_around_kernel", node)

    def launches(self, node, depth=0):
        """A launch, or a call of a function of this file that launches."""
        if not isinstance(node, ast.Call):
            return False
        if isinstance(node.func, ast.Subscript):
            return True
        if isinstance(node.func, ast.Name) and depth < 8:
            function = self.program.functions.get(node.func.id)
            if function is not None:
                return self.program.is_kernel(function) or any(self.launches(x, depth + 1) for x in ast.walk(function))
        return False

    # Everywhere ------------------------------------------------------------------------------------------------------

    def look_at_use(self, node, only=()):
        if isinstance(node, ast.Attribute) and node.attr in FRAME_ATTRIBUTES:
            self.tell("introspection", node, node.attr)
        self.look_at_harness(node)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self.look_at_import(node)
        if not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(node.ctx, ast.Load):
            return
        name = self.program.dotted(node)
        if name in HARMLESS:
            self.harmless.update(map(id, ast.walk(node)))
        if id(node) in self.harmless:
            return
        for rule, beginnings in USES:
            is_looked_at = not only or rule in only and name not in IMPORT_TIME_FREE
            if name and matches(name, beginnings) and is_looked_at:
                self.tell(rule, node, name)

    def look_at_harness(self, node):
        """Whoever runs the candidate is `__main__`; its own guard compares that with __name__."""
        if isinstance(node, ast.Compare) and any(
                isinstance(x, ast.Name) and x.id == "__name__" for x in [node.left] + node.comparators):
            self.harmless.update(map(id, ast.walk(node)))
        elif isinstance(node, ast.Constant) and node.value == "__main__" and id(node) not in self.harmless:
            self.tell("introspection", node, "__main__")

    def look_at_import(self, node):
        names = [x.name for x in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        if "problem" in [x.split(".")[0] for x in names]:
            self.tell("uses_problem", node)
        if "__main__" in [x.split(".")[0] for x in names]:
            self.tell("introspection", node, "__main__")

    def look_at_patch(self, node):
        targets = []
        if isinstance(node, (ast.Assign, ast.Delete)):
            targets = node.targets
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            targets = [node.target]
        elif isinstance(node, ast.Call):
            name = self.program.dotted(node.func)
            if name in ("setattr", "delattr") and node.args:
                owner = self.program.dotted(node.args[0])
                if owner.split(".")[0] in PATCHABLE and self.is_imported(owner):
                    self.tell("patched_function", node, owner)
            elif name.startswith(("unittest.mock.patch", "mock.patch")):
                self.tell("patched_function", node, name)
            elif name in ("os.putenv", "os.environ.update", "os.environ.setdefault", "os.environ.pop"):
                self.tell("environment", node, name)
        for target in targets:
            for x in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
                self.look_at_target(node, x)

    def look_at_target(self, node, target):
        if isinstance(target, ast.Subscript):
            owner = self.program.dotted(target.value)
            if owner == "os.environ":
                self.tell("environment", node, owner)
            elif owner in ("sys.modules", "__builtins__") or owner.endswith(".__dict__") and self.is_imported(owner):
                self.tell("patched_function", node, owner)
        elif isinstance(target, ast.Attribute):
            owner = self.program.dotted(target)
            if matches(owner, SETTINGS) and self.is_imported(owner):
                self.tell("library_setting", node, owner)
            elif owner.split(".")[0] in PATCHABLE and self.is_imported(owner):
                self.tell("patched_function", node, owner)

    def is_imported(self, name):
        first = name.split(".")[0]
        return first == "builtins" or any(x.split(".")[0] == first for x in self.program.aliases.values())

    def look_at_making(self, node):
        """At import and in the constructor."""
        if node is None:
            return
        for x in ast.walk(node):
            self.look_at_use(x, EVERYWHERE)
            self.look_at_patch(x)

    def look_at_kernels(self, reached):
        if self.stage not in KERNEL_STAGES or not self.is_imported("torch"):
            return
        program = self.program
        has_native = any(matches(x, NATIVE_KERNELS) for x in program.aliases.values())
        kernels = program.kernels
        if not kernels and not has_native:
            first = program.functions.get("kernel_function") or program.classes.get("ModelNew")
            self.tell("no_kernel", first)
        elif kernels and not has_native and not any(isinstance(x, ast.Call) and (
                isinstance(x.func, ast.Subscript) or isinstance(x.func, ast.Attribute) and x.func.attr == "run")
                for function, _ in reached for x in ast.walk(function)):
            self.tell("kernel_unused", program.functions.get("kernel_function"))


class NotImported:
    """Holds every name that is no import: a variable, which may be a tensor."""

    def __init__(self, program):
        self.imported = {x.split(".")[0] for x in program.aliases.values()} | set(program.aliases)

    def __contains__(self, name):
        return name not in self.imported


def check(source, stage="kernel", off=()):
    """Findings, each {rule, severity, line, text}, in the order of lines. A text that is no Python has none: that is
    said elsewhere."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    text = source.decode("utf-8", "replace") if isinstance(source, bytes) else source
    try:
        return Checker(tree, text.split("\n"), stage, off).run()
    except RecursionError:
        return []


def main(argv):
    stage, off, files = "kernel", [], []
    waiting = list(argv)
    while waiting:
        word = waiting.pop(0)
        if word == "--stage":
            stage = waiting.pop(0)
        elif word == "--off":
            off = waiting.pop(0).split(",")
        else:
            files.append(word)
    with open(files[0], "rb") as file:
        source = file.read(FILE_BYTES)
    print(json.dumps(check(source, stage, off), ensure_ascii=True))


if __name__ == "__main__":
    main(sys.argv[1:])
