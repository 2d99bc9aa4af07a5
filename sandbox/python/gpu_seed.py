# SPDX-License-Identifier: Apache-2.0
"""Builds the C helpers that Triton has compiled at their first use: its driver module, and up to Triton 3.6 a launcher
for each signature of arguments (0.2 to 0.4 s of gcc each). Runs in a sandbox on a GPU, and runs no code but this.

Leaves `helpers.bin` in its folder: for each file "FOLDER NAME SIZE\\n" and its bytes, then "end COUNT\\n".
"""
import concurrent.futures
import itertools
import os
import sys
import types

import torch
import triton
import triton.language as tl
import triton.runtime

OUTPUT = "helpers.bin"
# What one artifact may have (messages/limits.hpp).
MOST_BYTES = 15 << 20


@triton.jit
def touch(x, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(x + at, tl.load(x + at, mask=at < n) + 1.0, mask=at < n)


def signatures():
    """Common ones first: pointers, then integers, floats, constants, in the order in which people write them."""
    shapes = itertools.product(range(1, 5), range(1, 7), range(0, 7), range(0, 2))
    for constants, pointers, integers, floats in shapes:
        yield ["*fp32"] * pointers + ["i32"] * integers + ["fp32"] * floats + ["constexpr"] * constants


def build(launcher, metadata, kinds):
    names = ["a%d" % i for i in range(len(kinds))]
    launcher(types.SimpleNamespace(constants={}, signature=dict(zip(names, kinds)),
                                   fn=types.SimpleNamespace(arg_names=names)), metadata)


def helpers_in(cache):
    for folder in sorted(os.listdir(cache)):
        for name in sorted(os.listdir(os.path.join(cache, folder))):
            if name.endswith(".so"):
                with open(os.path.join(cache, folder, name), "rb") as file:
                    yield folder, name, file.read()


def pack(cache, path):
    count, total = 0, 0
    with open(path, "wb") as out:
        for folder, name, content in helpers_in(cache):
            total += len(content)
            if total > MOST_BYTES:
                break
            out.write(("%s %s %d\n" % (folder, name, len(content))).encode() + content)
            count += 1
        out.write(b"end %d\n" % count)
    print("%d helpers, %d bytes" % (count, total))


def main():
    x = torch.zeros(256, device="cuda")
    kernel = touch[(2,)](x, 256, block=128)
    torch.cuda.synchronize()
    assert float(x.sum()) == 256.0
    launcher = triton.runtime.driver.active.launcher_cls
    cache = os.environ["TRITON_CACHE_DIR"]
    before = len(list(helpers_in(cache)))
    build(launcher, kernel.metadata, ["*fp32"] * 7 + ["i32"])
    if len(list(helpers_in(cache))) > before:  # this Triton builds one for each signature
        with concurrent.futures.ThreadPoolExecutor(min(os.cpu_count() or 1, 16)) as pool:
            for each in [pool.submit(build, launcher, kernel.metadata, kinds) for kinds in signatures()]:
                each.exception()
    pack(cache, OUTPUT)
    sys.stdout.flush()


main()
