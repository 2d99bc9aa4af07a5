# SPDX-License-Identifier: Apache-2.0
"""What a file defines and what reaches what in it, for policy.py."""
import ast

from policy_tables import GRADIENTS, JIT


def matches(name, beginnings):
    return any(name == x or name.startswith(x + ".") for x in beginnings)


def is_main_guard(node):
    return isinstance(node, ast.If) and isinstance(node.test, ast.Compare) and \
        any(isinstance(x, ast.Name) and x.id == "__name__" for x in [node.test.left] + node.test.comparators)


class Program:
    """What a file defines, under which names it knows libraries, and what reaches what."""

    def __init__(self, tree):
        self.functions, self.classes, self.aliases, self.globals = {}, {}, {}, {}
        self.top = []  # statements that run at import
        for node in tree.body:
            self.add(node)
        for node in ast.walk(tree):
            self.add_import(node)
        self.kernels = [x for x in ast.walk(tree) if self.makes_kernel(x)]

    def add(self, node):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self.functions[node.name] = node
        elif isinstance(node, ast.ClassDef):
            self.classes[node.name] = node
        elif is_main_guard(node):
            for child in node.orelse:
                self.add(child)
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.stmt):
                    self.add(child)
                elif isinstance(child, ast.ExceptHandler):
                    for inner in child.body:
                        self.add(inner)
        else:
            self.top.append(node)
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        self.globals[target.id] = node.value

    def add_import(self, node):
        if isinstance(node, ast.Import):
            for x in node.names:
                self.aliases[x.asname or x.name.split(".")[0]] = x.name if x.asname else x.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for x in node.names:
                self.aliases[x.asname or x.name] = node.module + "." + x.name

    def dotted(self, node):
        """`F.relu` -> torch.nn.functional.relu; "" for what is no plain name of an import or builtin."""
        names = []
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        if isinstance(node, ast.Call) and self.dotted(node.func) == "getattr" and len(node.args) >= 2 and \
                isinstance(node.args[1], ast.Constant) and isinstance(node.args[1].value, str):
            head = self.dotted(node.args[0])
            names.append(node.args[1].value)
        elif isinstance(node, ast.Name):
            head = self.aliases.get(node.id, node.id)
            if node.id in self.functions or node.id in self.classes:
                return ""
        else:
            return ""
        return ".".join([head] + names[::-1]) if head else ""

    def is_kernel(self, function):
        marks = [x.func if isinstance(x, ast.Call) else x for x in function.decorator_list]
        return any(self.is_jit(x) for x in marks)

    def makes_kernel(self, node):
        """A kernel's definition, wherever it stands, or `jit(function)`."""
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return self.is_kernel(node)
        return isinstance(node, ast.Call) and bool(node.args) and self.is_jit(node.func)

    def is_jit(self, node):
        name = self.dotted(node)
        return name in JIT or name.endswith(".jit") and "torch" not in name

    def methods(self, name):
        """A class's own methods and those of its bases in this file."""
        made, waiting, seen = {}, [name], set()
        while waiting:
            node = self.classes.get(waiting.pop(0))
            if node is None or node.name in seen:
                continue
            seen.add(node.name)
            for x in node.body:
                if isinstance(x, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    made.setdefault(x.name, x)
            waiting += [x.id for x in node.bases if isinstance(x, ast.Name)]
        return made

    def attributes(self, name):
        """self.NAME = value, in any method: NAME -> [values]."""
        made = {}
        for method in self.methods(name).values():
            for node in ast.walk(method):
                if isinstance(node, ast.Assign):
                    targets, value = node.targets, node.value
                elif isinstance(node, ast.AnnAssign) and node.value is not None:
                    targets, value = [node.target], node.value
                else:
                    continue
                for target in targets:
                    if is_self(target):
                        made.setdefault(target.attr, []).append(value)
        return made

    def classes_in(self, values):
        """Classes of this file that a value is made of: Block(...), or a list of them."""
        return [x.func.id for value in values for x in ast.walk(value)
                if isinstance(x, ast.Call) and isinstance(x.func, ast.Name) and x.func.id in self.classes]


def is_self(node):
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


class Reach:
    """Functions that run when the judge calls, each with the class it belongs to."""

    def __init__(self, program, roots):
        self.program, self.found, self.waiting, self.seen = program, [], [], set()
        for function, owner in roots:
            self.want(function, owner)
        while self.waiting:
            function, owner = self.waiting.pop()
            self.found.append((function, owner))
            self.follow(function, owner)

    def want(self, function, owner):
        if function is not None and id(function) not in self.seen and not self.program.is_kernel(function):
            self.seen.add(id(function))
            self.waiting.append((function, owner))

    def want_class(self, name):
        methods = self.program.methods(name)
        for entry in ("forward", "__call__"):
            self.want(methods.get(entry), name)

    def follow(self, function, owner):
        program = self.program
        methods = program.methods(owner) if owner else {}
        attributes = program.attributes(owner) if owner else {}
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self.want(program.functions.get(node.id), None)
                if node.id in program.classes:  # made here, used here: all of it
                    for name, method in program.methods(node.id).items():
                        if name not in GRADIENTS:
                            self.want(method, node.id)
                for name in program.classes_in([program.globals[node.id]] if node.id in program.globals else []):
                    self.want_class(name)
            elif is_self(node):
                self.want(methods.get(node.attr), owner)
                for name in program.classes_in(attributes.get(node.attr, [])):
                    self.want_class(name)
