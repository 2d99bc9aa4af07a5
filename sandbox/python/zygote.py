# SPDX-License-Identifier: Apache-2.0
"""A Python that loads what many runs load first, then forks each of them ready (docs/adr/0009).

    python [flags] zygote.py LIBRARY MODULE,MODULE… KERNEL_TARGET HELPERS

The runner starts it with a run's own flags and environment, in "/", with its socket as descriptor 3. It runs no code of
any candidate: that begins in `go_on`, in a process that is confined already and never comes back from there.
"""
import _frozen_importlib_external as importer
import atexit
import builtins
import ctypes
import gc
import importlib
import importlib.util
import io
import os
import random
import signal
import struct
import sys
import threading
import types
import weakref

CHANNEL = 3
UNFIT = -1  # sandbox/launch_plan.hpp: unfit_to_fork
REFUSAL_BYTES = 400
FOLDER = "/run/job"
FLUSH_FAILED = 120  # CPython's own status for it


def refuse(why):
    try:
        os.write(CHANNEL, struct.pack("=Qii", 0, UNFIT, 0) + why.encode("utf-8", "replace")[:REFUSAL_BYTES - 1])
    except OSError:
        pass
    os._exit(1)


# Before the forks ----------------------------------------------------------------------------------------------------

def preload(names):
    """Those that are there."""
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            pass


def disarm():
    """What modules want done at the end with objects that they made at import (torch: take every operator off its
    tables again) touches 30 MB and is for nobody."""
    for finalizer in list(getattr(weakref.finalize, "_registry", ())):
        finalizer.atexit = False


def exercise():
    """What is done once, at the first use of each: better here than in each run."""
    if "numpy" in sys.modules:
        importlib.import_module("numpy.random").seed()
    torch = sys.modules.get("torch")
    if torch is None:
        return
    with torch.no_grad():
        x = torch.ones(8, 8)
        for y in (x @ x, torch.nn.functional.linear(x, x), torch.relu(x), x.softmax(-1), x.sum(), x.double() @ x.double()):
            torch.isfinite(y).all()
        torch.allclose(x, x)
        torch.equal(x, x)


def codes_beside(folder):
    """Our own programs that runs import, compiled: (path in the run, source) -> code."""
    codes = {}
    try:
        names = [x for x in os.listdir(folder) if x.endswith(".py")]
    except OSError:
        return codes
    for name in names:
        path = os.path.join(FOLDER, name)
        with open(os.path.join(folder, name), "rb") as file:
            source = file.read()
        codes[path, source] = compile(source, path, "exec", dont_inherit=True)
    return codes


def load_warm_gpu(folder):
    """Without a name in sys.modules: candidates meet nothing that a cold run has not."""
    path = os.path.join(folder, "warm_gpu.py")
    spec = importlib.util.spec_from_file_location("warm_gpu", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def threads():
    return os.stat("/proc/self/task").st_nlink - 2


def is_fit():
    torch = sys.modules.get("torch")
    is_cuda_up = torch is not None and torch.cuda.is_initialized()
    return int(threads() == 1 and not is_cuda_up and not warm_gpu.has_device_open())


# In the run ----------------------------------------------------------------------------------------------------------

class Loader(importer.SourceFileLoader):
    """Reads the file as any other does, but does not compile what was compiled before."""
    codes = {}

    def source_to_code(self, data, path, **options):
        return self.codes.get((path, bytes(data))) or super().source_to_code(data, path, **options)


def reopened(old, number, mode):
    """A new file on a standard descriptor that is another one's by now, made as the interpreter made the old one."""
    is_raw = isinstance(old.buffer, io.RawIOBase)
    buffer = open(number, mode + "b", buffering=0 if is_raw else -1, closefd=False)
    raw = buffer if is_raw else buffer.raw
    raw.name = old.name
    new = io.TextIOWrapper(buffer, old.encoding, old.errors, "\n" if mode == "w" else None, old.line_buffering,
                           getattr(old, "write_through", False))
    if mode == "w":
        new.mode = "w"
    else:
        new.mode = "r"
    return new


def settle():
    """What a new process has and a fork has not."""
    for number, handler in ((signal.SIGPIPE, signal.SIG_IGN), (signal.SIGXFSZ, signal.SIG_IGN),
                            (signal.SIGINT, signal.default_int_handler)):
        signal.signal(number, handler)
    kept = (sys.stdin, sys.stdout, sys.stderr)  # somebody may hold them, and they work
    sys.stdin = sys.__stdin__ = reopened(sys.stdin, 0, "r")
    sys.stdout = sys.__stdout__ = reopened(sys.stdout, 1, "w")
    sys.stderr = sys.__stderr__ = reopened(sys.stderr, 2, "w")
    random.seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.seed()
    return kept


def main_module(path):
    module = types.ModuleType("__main__")
    module.__dict__.update(__annotations__={}, __builtins__=builtins, __cached__=None, __file__=path,
                           __loader__=Loader("__main__", path))
    sys.modules["__main__"] = module
    return module


def run_script(argv):
    """argv: interpreter, flags, script, arguments. The exit status, as the interpreter would have it."""
    at = next(i for i in range(1, len(argv)) if not argv[i].startswith("-"))
    path = os.path.join(FOLDER, argv[at])
    sys.argv, sys.orig_argv = argv[at:], argv
    sys.path_importer_cache[FOLDER] = importer.FileFinder(
        FOLDER, (importer.ExtensionFileLoader, importer._imp.extension_suffixes()), (Loader, importer.SOURCE_SUFFIXES),
        (importer.SourcelessFileLoader, importer.BYTECODE_SUFFIXES))
    if not getattr(sys.flags, "safe_path", sys.flags.isolated):
        sys.path.insert(0, FOLDER)
    module = main_module(path)
    try:
        with io.open_code(path) as file:
            source = file.read()
        code = Loader.codes.get((path, source)) or compile(source, path, "exec", dont_inherit=True)
        exec(code, module.__dict__)
    except SystemExit as error:
        return status_of(error)
    except BaseException as error:
        return report(error, error.__traceback__.tb_next)
    return 0


def status_of(error):
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xff if -2**31 <= error.code < 2**31 else 0xff
    try:
        sys.stderr.write(str(error.code) + "\n")
    except BaseException:
        pass
    return 1


def report(error, trace):
    """Without our own frame. -SIGINT: by the signal, as the interpreter ends."""
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    try:
        sys.excepthook(type(error), error.with_traceback(trace), trace)
    except SystemExit as other:
        return status_of(other)
    except BaseException as other:
        other.__context__ = None
        sys.stderr.write("Error in sys.excepthook:\n")
        sys.__excepthook__(type(other), other.with_traceback(other.__traceback__.tb_next), None)
        sys.stderr.write("\nOriginal exception was:\n")
        sys.__excepthook__(type(error), error, trace)
    return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1


def end_resource_tracker():
    """What its `__del__` does in newer Pythons: the process of multiprocessing that cleans up does not stay behind."""
    tracker = getattr(sys.modules.get("multiprocessing.resource_tracker"), "_resource_tracker", None)
    try:
        getattr(tracker, "__del__", lambda: None)()
    except BaseException as error:
        report(error, error.__traceback__)


def leave(status):
    """The interpreter's own end tears every module down, which touches, and so copies, all that is shared."""
    try:
        threading._shutdown()
    except BaseException as error:
        report(error, error.__traceback__)
    atexit._run_exitfuncs()
    end_resource_tracker()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except BaseException as error:
            if stream is sys.stdout:
                status = FLUSH_FAILED
                where = "on flushing sys.stdout:" if sys.version_info >= (3, 13) else "in: %r" % (stream,)
                sys.stderr.write("Exception ignored %s\n%s: %s\n" % (where, type(error).__name__, error))
    if status == -signal.SIGINT:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(status & 0xff)


def work_to_come():
    """Waits, with the GPU up, for a run. Its arguments; its standard streams are in place then."""
    import socket
    link = socket.socket(fileno=os.dup(0))
    warm_gpu.bring_up()
    link.send(b"ready")
    words, extra, _, _ = link.recvmsg(1 << 16, socket.CMSG_SPACE(3 * 4))
    if not words:
        os._exit(0)  # nobody needs us
    descriptors = [x for _, _, data in extra for x in struct.unpack("=3i", data)]
    for number, given in enumerate(descriptors):
        os.dup2(given, number)
        os.close(given)
    warm_gpu.settle()
    link.send(b"taken")
    link.close()
    return [os.fsdecode(x) for x in words.split(b"\0")]


def go_on(count, words, waits):
    try:
        status = 1
        warm_gpu.take_helpers(HELPERS)
        argv = work_to_come() if waits else [os.fsdecode(words[i]) for i in range(count)]
        kept = settle()  # noqa: F841
        status = run_script(argv)
    except Exception as error:  # ours: a script's own do not come here
        sys.__excepthook__(type(error), error, error.__traceback__)
    finally:
        leave(status)


def main():
    global warm_gpu, HELPERS
    library, names, target, HELPERS = sys.argv[1:5]
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [x for x in sys.path if x != here]
    try:
        warm_gpu = load_warm_gpu(here)
        preload([x for x in names.split(",") if x])
        warm_gpu.compile_once(target)
        exercise()
        disarm()
        Loader.codes = codes_beside(os.path.join(here, "judge"))
    except Exception as error:
        refuse("%s: %s" % (type(error).__name__, error))
    if not is_fit():
        refuse("%d threads or CUDA in use after the imports" % threads())
    try:
        serve = ctypes.PyDLL(library).regatta_zygote_serve
    except (OSError, AttributeError) as error:
        refuse(str(error))
    fitness = ctypes.PYFUNCTYPE(ctypes.c_int)(is_fit)
    continuation = ctypes.PYFUNCTYPE(None, ctypes.c_int, ctypes.POINTER(ctypes.c_char_p), ctypes.c_int)(go_on)
    gc.collect()
    gc.freeze()
    os._exit(serve(fitness, continuation))


main()
