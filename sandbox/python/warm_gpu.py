# SPDX-License-Identifier: Apache-2.0
"""What a zygote does besides for runs on a GPU (docs/adr/0010). Only `bring_up` touches the driver, and it is called in
a run that is confined already and has its GPU's nodes.

No part of this file is known to a candidate's process by name: zygote.py loads it without registering it.
"""
import importlib
import os
import shutil
import sys
import tempfile


# Two kernels of ours; what their compilation loads (MLIR's dialects, LLVM, ptxas) the first compilation of a candidate
# needs not load again: 0.4 s and more. Not decorated here, as triton may be absent.
def scaled_sum(x, y, out, n, block: "tl.constexpr"):
    at = tl.program_id(0) * block + tl.arange(0, block)
    mask = at < n
    tl.store(out + at, tl.exp(tl.load(x + at, mask=mask)) * 2.0 + tl.load(y + at, mask=mask), mask=mask)


def row_product(a, b, out, n, block: "tl.constexpr"):
    at = tl.arange(0, block)
    tile = at[:, None] * n + at[None, :]
    made = tl.dot(tl.load(a + tile), tl.load(b + tile))
    tl.store(out + at, tl.sum(tl.maximum(made, 0.0), axis=1))


def compile_once(target):
    """`target` is `cuda:90`. Needs neither GPU nor driver."""
    triton = sys.modules.get("triton")
    if triton is None or not target:
        return
    backend, arch = target.split(":")
    compiler = importlib.import_module("triton.compiler")
    globals()["tl"] = importlib.import_module("triton.language")
    where = importlib.import_module("triton.backends.compiler").GPUTarget(backend, int(arch), 32)
    folder = tempfile.mkdtemp()
    before = os.environ.get("TRITON_CACHE_DIR")
    os.environ["TRITON_CACHE_DIR"] = folder
    try:
        for function in (scaled_sum, row_product):
            names = function.__code__.co_varnames[:function.__code__.co_argcount]
            signature = {x: "i32" if x == "n" else "constexpr" if x == "block" else "*fp32" for x in names}
            source = compiler.ASTSource(fn=triton.jit(function), signature=signature, constexprs={"block": 32})
            triton.compile(source, target=where)
    finally:
        if before is None:
            del os.environ["TRITON_CACHE_DIR"]
        else:
            os.environ["TRITON_CACHE_DIR"] = before
        shutil.rmtree(folder, ignore_errors=True)
        tempfile.tempdir = None  # each run has a place of its own


def has_device_open():
    """A fork of a process that uses a GPU cannot use one."""
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink("/proc/self/fd/" + name).startswith("/dev/nvidia"):
                return True
        except OSError:
            pass  # the folder's own descriptor
    return False


# In the run ----------------------------------------------------------------------------------------------------------

def take_helpers(folder):
    """Triton's C helpers, as our seeding run (gpu_seed.py) built them, into this run's cache: links to read-only folders.
    """
    cache = os.environ.get("TRITON_CACHE_DIR", "")
    if not folder or not cache:
        return
    try:
        names = os.listdir(folder)
        os.makedirs(cache, exist_ok=True)
    except OSError:
        return  # not made yet
    for name in names:
        try:
            os.symlink(os.path.join(folder, name), os.path.join(cache, name))
        except OSError:
            pass


def bring_up():
    """What every run on a GPU does first: driver, context, torch's own kernels that are loaded at their first use."""
    torch = sys.modules.get("torch")
    if torch is None:
        return
    with torch.no_grad():
        x = torch.randn(64, 64, device="cuda")
        for y in (x + x, x * 2.0, torch.relu(x), x.exp(), x.sum(), x.amax(-1), x.double(), x.t().contiguous()):
            torch.isfinite(y).all().item()
        torch.allclose(x, x)
        torch.equal(x, x)
        torch.empty_like(x).copy_(x.cpu())
        torch.empty_like(x).fill_(0.5).uniform_()
        torch.randint(0, 9, (8,), device="cuda")
    torch.cuda.synchronize()
    if "triton" in sys.modules:
        sys.modules["triton"].runtime.driver.active.get_current_target()


def settle():
    """As a new process has them. Raises if the GPU has failed since `bring_up`: that is not the run's fault."""
    torch = sys.modules.get("torch")
    if torch is None:
        return
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.default_generators[0].seed()
