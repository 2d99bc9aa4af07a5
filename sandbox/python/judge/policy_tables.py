# SPDX-License-Identifier: Apache-2.0
"""The names that policy.py knows."""

# Rule -> (severity, what it says). The names are what users switch off.
RULES = {
    "torch_fallback": ("error", "the mathematics is done by PyTorch or NumPy"),
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

HEAVY = frozenset("""matmul mm bmm addmm addmv addbmm baddbmm mv dot vdot inner outer einsum tensordot chain_matmul
    multi_dot linear bilinear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution
    softmax log_softmax softmin gumbel_softmax layer_norm batch_norm group_norm instance_norm rms_norm
    local_response_norm native_layer_norm native_batch_norm native_group_norm scaled_dot_product_attention
    multi_head_attention_forward
    max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d
    adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d lp_pool1d lp_pool2d gelu silu mish
    hardswish hardsigmoid hardtanh elu selu celu leaky_relu prelu rrelu glu logsigmoid softplus softsign tanhshrink
    softshrink hardshrink relu relu6 cross_entropy nll_loss mse_loss l1_loss smooth_l1_loss huber_loss kl_div
    binary_cross_entropy binary_cross_entropy_with_logits cosine_similarity cosine_embedding_loss triplet_margin_loss
    embedding embedding_bag interpolate grid_sample fold unfold cdist cumsum cumprod logcumsumexp logsumexp svd qr
    cholesky inverse solve lstsq eigh lu_factor lstm gru rnn_tanh rnn_relu""".split())
# Those whose functions of these names compute.
LIBRARIES = ("torch", "numpy", "operator")
# As methods of tensors some of these mean other things on other objects.
HEAVY_METHODS = HEAVY - frozenset(("dot", "inner", "outer", "linear", "embedding", "fold", "unfold", "solve", "inverse",
                                   "interpolate", "lstm", "gru", "convolution"))
LIGHT = frozenset("""sum mean prod amax amin var std norm argmax argmin sort topk median exp exp2 log log2 sqrt rsqrt
    sigmoid tanh sin cos erf pow abs add sub mul div clamp clip maximum minimum where square reciprocal cummax cummin
    addcmul addcdiv lerp var_mean std_mean all_reduce""".split())
LIGHT_METHODS = frozenset("""sigmoid tanh sigmoid_ tanh_ relu_ exp_ rsqrt softmax mean var std amax amin logsumexp
    argmax argmin cumsum cumprod mul_ add_ sub_ div_ clamp_ sqrt_ norm""".split())
SETTINGS = ("torch.backends", "torch._dynamo", "torch._inductor", "torch.cuda.tunable", "triton.knobs",
            "torch.utils.deterministic", "sys.path", "sys.dont_write_bytecode", "warnings", "logging")
SETTERS = ("torch.set_default_dtype", "torch.set_default_device", "torch.set_float32_matmul_precision",
           "torch.set_num_threads", "torch.use_deterministic_algorithms", "torch.set_default_tensor_type",
           "torch.manual_seed", "torch.random.manual_seed")
PATCHABLE = ("torch", "triton", "time", "builtins", "json", "os", "sys", "numpy", "math", "io", "struct", "hashlib",
             "gc", "inspect", "importlib", "traceback", "random", "functools", "problem")
# Dotted beginnings of what is used -> rule.
USES = [
    ("torch_compile", ("torch.compile", "torch.jit", "torch.fx", "torch.export", "torch._dynamo.optimize",
                       "torch._inductor.compile")),
    ("streams", ("torch.cuda.Stream", "torch.cuda.stream", "torch.cuda.ExternalStream", "torch.cuda.CUDAGraph",
                 "torch.cuda.graph", "torch.cuda.graphs", "torch.cuda.make_graphed_callables", "torch.cuda.Event",
                 "torch.Stream")),
    ("threads", ("threading", "_thread", "concurrent", "multiprocessing", "asyncio", "torch.multiprocessing",
                 "torch.futures", "torch.distributed", "torch.jit.fork", "queue")),
    ("network_use", ("socket", "urllib", "http", "requests", "ssl", "ftplib", "smtplib", "socketserver", "xmlrpc",
                     "httpx", "aiohttp", "torch.hub", "huggingface_hub")),
    ("file_use", ("open", "io.open", "os.open", "os.remove", "os.unlink", "os.rename", "os.replace", "os.listdir",
                  "os.scandir", "os.walk", "os.makedirs", "os.mkdir", "os.read", "os.write", "os.pipe", "shutil",
                  "tempfile", "glob", "pathlib", "torch.save", "torch.load", "numpy.load", "numpy.save", "numpy.memmap",
                  "numpy.fromfile", "pickle", "shelve", "sqlite3", "torch.from_file")),
    ("introspection", ("sys._getframe", "sys._current_frames", "inspect.currentframe", "inspect.stack", "inspect.trace",
                       "inspect.getouterframes", "gc.get_objects", "gc.get_referrers", "gc.get_referents",
                       "sys.settrace", "sys.setprofile", "sys.modules", "tracemalloc", "traceback.walk_stack")),
    ("process_control", ("os._exit", "os.abort", "os.kill", "os.killpg", "os.fork", "os.system", "os.popen", "os.execv",
                         "os.execve", "os.execvp", "os.spawnv", "os.posix_spawn", "os.dup2", "os.close",
                         "os.closerange", "subprocess", "signal", "atexit", "sys.exit", "pty", "resource", "exit",
                         "quit", "faulthandler")),
    ("native_access", ("ctypes", "cffi", "mmap", "_ctypes", "torch.cuda.caching_allocator_alloc",
                       "torch.cuda.memory._snapshot", "torch.UntypedStorage._new_shared_fd_cpu",
                       "torch.multiprocessing.reductions")),
    ("dynamic_code", ("exec", "eval", "compile", "__import__", "importlib", "globals", "locals", "runpy", "marshal",
                      "types.FunctionType", "types.CodeType")),
]
# Looked at in constructors and at import, too: there they have no honest use either.
EVERYWHERE = ("threads", "network_use", "introspection", "process_control", "native_access", "patched_function",
              "uses_problem", "environment")
IMPORT_TIME_FREE = ("sys.exit", "exit", "quit", "sys.modules", "resource", "faulthandler")
FRAME_ATTRIBUTES = frozenset(("f_back", "f_locals", "f_globals", "gi_frame", "cr_frame", "tb_frame", "__subclasses__"))
JIT = ("triton.jit", "triton.autotune", "triton.heuristics", "triton.experimental.gluon.jit", "jit", "autotune",
       "heuristics", "gluon.jit")
# Methods of torch.autograd.Function that a forward pass never calls.
GRADIENTS = frozenset(("backward", "vjp", "jvp"))
# What the rule about a whole module does not mean.
HARMLESS = frozenset(("threading.Lock", "threading.RLock", "threading.local"))
NATIVE_KERNELS = ("torch.utils.cpp_extension", "cupy.RawKernel", "cupy.RawModule", "numba.cuda.jit")
