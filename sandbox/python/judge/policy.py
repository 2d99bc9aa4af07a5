# SPDX-License-Identifier: Apache-2.0
"""Rules about what a candidate's code may do, by Python's own ast; nothing is run.

    python -I policy.py [--stage kernel] [--off RULE,RULE] FILE        prints a JSON list of findings

Looks at what runs when the judge calls it: what can be reached from `kernel_function` and `ModelNew.forward`, and, for
some rules, at what runs at import and in constructors. The self-test and what only it reaches are free, and so is code
under @triton.jit. Findings are hints that an honest program hardly ever gives: what cannot be told is let pass.
"""
import ast
import json
import sys

FILE_BYTES = 1 << 20
FINDINGS = 64
TEXT = 160

# Rule -> (severity, what it says). The names are what users switch off.
RULES = {
    "torch_fallback": ("error", "the mathematics is done by PyTorch"),
    "torch_arithmetic": ("warning", "PyTorch computes something here"),
    "module_called": ("error", "a layer of torch.nn is called"),
    "torch_compile": ("error", "the kernel is left to torch.compile or TorchScript"),
    "no_kernel": ("error", "the program uses torch but has no kernel of its own"),
    "kernel_unused": ("warning", "no kernel is launched by kernel_function"),
    "try_around_kernel": ("error", "an exception handler around the kernel"),
    "patched_function": ("error", "a function of a library is replaced"),
    "library_setting": ("warning", "a setting of torch that is global is changed"),
    "environment": ("warning", "environment variables are changed"),
    "uses_problem": ("error", "the problem's own code is used"),
    "streams": ("error", "streams or graphs of the device"),
    "threads": ("error", "threads or processes"),
    "file_use": ("error", "files are read or written"),
    "network_use": ("error", "the network is used"),
    "introspection": ("error", "frames or the garbage collector are looked into"),
    "process_control": ("error", "the process is ended, or others are started or signalled"),
    "native_access": ("error", "memory is reached past Python"),
    "dynamic_code": ("warning", "code is made or names are looked up at run time"),
}
KERNEL_STAGES = ("kernel", "compose")
KERNEL_RULES = ("torch_fallback", "torch_arithmetic", "module_called", "torch_compile", "no_kernel", "kernel_unused",
                "try_around_kernel")

HEAVY = frozenset("""matmul mm bmm addmm addmv addbmm baddbmm mv dot vdot inner outer einsum tensordot chain_matmul multi_dot
    linear bilinear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution softmax
    log_softmax softmin gumbel_softmax layer_norm batch_norm group_norm instance_norm rms_norm local_response_norm
    native_layer_norm native_batch_norm native_group_norm scaled_dot_product_attention multi_head_attention_forward
    max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d
    adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d lp_pool1d lp_pool2d gelu silu mish
    hardswish hardsigmoid hardtanh elu selu celu leaky_relu prelu rrelu glu logsigmoid softplus softsign tanhshrink
    softshrink hardshrink relu relu6 cross_entropy nll_loss mse_loss l1_loss smooth_l1_loss huber_loss kl_div
    binary_cross_entropy binary_cross_entropy_with_logits cosine_similarity cosine_embedding_loss triplet_margin_loss
    embedding embedding_bag interpolate grid_sample fold unfold cdist cumsum cumprod logcumsumexp logsumexp svd qr
    cholesky inverse solve lstsq eigh lu_factor lstm gru rnn_tanh rnn_relu""".split())
# As methods of tensors some of these mean other things on other objects.
HEAVY_METHODS = HEAVY - frozenset(("dot", "inner", "outer", "linear", "embedding", "fold", "unfold", "solve", "inverse",
                                   "interpolate", "lstm", "gru", "convolution"))
LIGHT = frozenset("""sum mean prod amax amin var std norm argmax argmin sort topk median exp exp2 log log2 sqrt rsqrt
    sigmoid tanh sin cos erf pow abs add sub mul div clamp clip maximum minimum where square reciprocal cummax cummin
    addcmul addcdiv lerp var_mean std_mean all_reduce""".split())
LIGHT_METHODS = frozenset("""sigmoid tanh sigmoid_ tanh_ relu_ exp_ rsqrt softmax mean var std amax amin logsumexp
    argmax argmin cumsum cumprod mul_ add_ sub_ div_ clamp_ sqrt_ norm""".split())
SETTINGS = ("torch.backends", "torch._dynamo", "torch._inductor", "torch.cuda.tunable", "triton.knobs", "torch.utils.deterministic",
            "sys.path", "sys.dont_write_bytecode", "warnings", "logging")
SETTERS = ("torch.set_default_dtype", "torch.set_default_device", "torch.set_float32_matmul_precision", "torch.set_num_threads",
           "torch.use_deterministic_algorithms", "torch.set_default_tensor_type", "torch.manual_seed", "torch.random.manual_seed")
PATCHABLE = ("torch", "triton", "time", "builtins", "json", "os", "sys", "numpy", "math", "io", "struct", "hashlib", "gc", "inspect",
             "importlib", "traceback", "random", "functools", "problem")
# Dotted beginnings of what is used -> rule.
USES = [
    ("torch_compile", ("torch.compile", "torch.jit", "torch.fx", "torch.export", "torch._dynamo.optimize", "torch._inductor.compile")),
    ("streams", ("torch.cuda.Stream", "torch.cuda.stream", "torch.cuda.ExternalStream", "torch.cuda.CUDAGraph", "torch.cuda.graph",
                 "torch.cuda.graphs", "torch.cuda.make_graphed_callables", "torch.cuda.Event", "torch.Stream")),
    ("threads", ("threading", "_thread", "concurrent", "multiprocessing", "asyncio", "torch.multiprocessing", "torch.futures",
                 "torch.distributed", "torch.jit.fork", "queue")),
    ("network_use", ("socket", "urllib", "http", "requests", "ssl", "ftplib", "smtplib", "socketserver", "xmlrpc", "httpx",
                     "aiohttp", "torch.hub", "huggingface_hub")),
    ("file_use", ("open", "io.open", "os.open", "os.remove", "os.unlink", "os.rename", "os.replace", "os.listdir", "os.scandir",
                  "os.walk", "os.makedirs", "os.mkdir", "os.read", "os.write", "os.pipe", "shutil", "tempfile", "glob", "pathlib",
                  "torch.save", "torch.load", "numpy.load", "numpy.save", "numpy.memmap", "numpy.fromfile", "pickle", "shelve",
                  "sqlite3", "torch.from_file")),
    ("introspection", ("sys._getframe", "sys._current_frames", "inspect.currentframe", "inspect.stack", "inspect.trace",
                       "inspect.getouterframes", "gc.get_objects", "gc.get_referrers", "gc.get_referents", "sys.settrace",
                       "sys.setprofile", "sys.modules", "tracemalloc", "traceback.walk_stack")),
    ("process_control", ("os._exit", "os.abort", "os.kill", "os.killpg", "os.fork", "os.system", "os.popen", "os.execv",
                         "os.execve", "os.execvp", "os.spawnv", "os.posix_spawn", "os.dup2", "os.close", "os.closerange",
                         "subprocess", "signal", "atexit", "sys.exit", "pty", "resource", "exit", "quit", "faulthandler")),
    ("native_access", ("ctypes", "cffi", "mmap", "_ctypes", "torch.cuda.caching_allocator_alloc", "torch.cuda.memory._snapshot",
                       "torch.UntypedStorage._new_shared_fd_cpu", "torch.multiprocessing.reductions")),
    ("dynamic_code", ("exec", "eval", "compile", "__import__", "importlib", "globals", "locals", "runpy", "marshal",
                      "types.FunctionType", "types.CodeType")),
]
# Looked at in constructors and at import, too: there they have no honest use either.
EVERYWHERE = ("threads", "network_use", "introspection", "process_control", "native_access", "patched_function", "uses_problem",
              "environment")
IMPORT_TIME_FREE = ("sys.exit", "exit", "quit", "sys.modules", "resource", "faulthandler")
FRAME_ATTRIBUTES = frozenset(("f_back", "f_locals", "f_globals", "gi_frame", "cr_frame", "tb_frame", "__subclasses__"))
JIT = ("triton.jit", "triton.autotune", "triton.heuristics", "triton.experimental.gluon.jit", "jit", "autotune", "heuristics",
       "gluon.jit")
NATIVE_KERNELS = ("torch.utils.cpp_extension", "cupy.RawKernel", "cupy.RawModule", "numba.cuda.jit")


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
        return any(self.dotted(x) in JIT or self.dotted(x).endswith(".jit") and "torch" not in self.dotted(x) for x in marks)

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
                    for method in program.methods(node.id).values():
                        self.want(method, node.id)
                for name in program.classes_in([program.globals[node.id]] if node.id in program.globals else []):
                    self.want_class(name)
            elif is_self(node):
                self.want(methods.get(node.attr), owner)
                for name in program.classes_in(attributes.get(node.attr, [])):
                    self.want_class(name)


class Checker:
    def __init__(self, tree, lines, stage, off):
        self.program, self.lines, self.stage = Program(tree), lines, stage
        self.off = set(off) | (set() if stage in KERNEL_STAGES else set(KERNEL_RULES))
        self.findings, self.told = [], set()

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
            name[9:] not in ("Parameter", "Buffer", "ParameterList", "ParameterDict", "Module", "ModuleList", "ModuleDict",
                             "UninitializedParameter", "Identity")

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
        elif parts[0] == "torch" and parts[-1].rstrip("_") in HEAVY:
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
        if isinstance(node, ast.Attribute) and node.attr in FRAME_ATTRIBUTES and not only:
            self.tell("introspection", node, node.attr)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self.look_at_import(node)
        if not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(node.ctx, ast.Load):
            return
        name = self.program.dotted(node)
        for rule, beginnings in USES:
            if name and matches(name, beginnings) and (not only or rule in only) and not (only and name in IMPORT_TIME_FREE):
                self.tell(rule, node, name)

    def look_at_import(self, node):
        names = [x.name for x in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        if "problem" in [x.split(".")[0] for x in names]:
            self.tell("uses_problem", node)

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
        kernels = [x for x in program.functions.values() if program.is_kernel(x)]
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
