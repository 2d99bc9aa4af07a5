# SPDX-License-Identifier: Apache-2.0
"""Compiles a candidate's Triton kernels for devices that are not here (docs/judge.md, "Engines").

    python -s -B compile_side.py --candidate FILE --launches FILE --architecture sm_90 … --out FILE

In a process of its own: whether Triton interprets or compiles is settled at its import. The launches are those that the
interpreter saw. Writes [{"kernel", "architecture", "status": "compiled|refused|untold", "reason"}] to `--out`.
"""
__builtins__ = dict(vars(__import__("builtins")))

import argparse
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from loading import forget_our_folder, load, one_line, own_lines  # noqa: E402

REASON = 300
DETAIL = 2000
_dump, _load_json = json.dump, json.load


def parsed(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("--candidate", required=True)
    parser.add_argument("--launches", required=True)
    parser.add_argument("--architecture", action="append", required=True)
    parser.add_argument("--out", required=True)
    return parser.parse_args(argv)


def kernel_of(module, name, jit_function):
    """Under its decorators: autotune, heuristics."""
    found = getattr(module, name, None)
    for _ in range(8):
        if found is None or isinstance(found, jit_function):
            return found
        found = getattr(found, "fn", None)
    return None


def source_of(triton, kernel, launch):
    signature, constants = {}, {}
    for parameter in kernel.params:
        word = launch["args"].get(parameter.name)
        if word is None:
            raise LookupError("nothing is told of " + parameter.name)
        if "type" in word and not parameter.is_constexpr:
            signature[parameter.name] = word["type"]
            continue
        signature[parameter.name] = "constexpr"
        constants[parameter.name] = getattr(triton.language, {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp64": "float64"}.get(
            word["dtype"], word["dtype"])) if "dtype" in word else word.get("value")
    return triton.compiler.ASTSource(fn=kernel, signature=signature, constexprs=constants)


def compiled(triton, module, launch, architecture, path):
    made = {"kernel": str(launch.get("kernel"))[:100], "architecture": architecture}
    if "untold" in launch:
        return {**made, "status": "untold", "reason": "argument " + str(launch["untold"])[:100]}
    kernel = kernel_of(module, made["kernel"], triton.runtime.jit.JITFunction)
    if kernel is None:
        return {**made, "status": "untold", "reason": "not at the top of the program"}
    try:
        source = source_of(triton, kernel, launch)
    except Exception as error:
        return {**made, "status": "untold", "reason": one_line(error)}
    try:
        from triton.backends.compiler import GPUTarget
        triton.compile(source, target=GPUTarget("cuda", int(architecture[3:]), 32), options=dict(launch.get("options", {})))
        return {**made, "status": "compiled", "reason": ""}
    except BaseException as error:
        return {**made, "status": "refused", "reason": reason_of(error)[:REASON], "detail": own_lines(error, path)[:DETAIL]}


def reason_of(error):
    """The innermost cause: Triton wraps an error of a called function into one of the call."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [x.strip() for x in str(error).split("\n") if x.strip() and set(x.strip()) != {"^"}]
    last = lines[-1] if lines else ""
    first = lines[0] if lines else ""
    return ("%s: %s" % (type(error).__name__, first if first == last else first + " … " + last))


def main():
    options = parsed(sys.argv[1:])
    with open(options.launches, encoding="utf-8") as file:
        launches = _load_json(file)
    path = os.path.abspath(options.candidate)
    out = os.path.abspath(options.out)
    forget_our_folder()
    try:
        import triton
        import triton.compiler
        import triton.runtime.jit
        module = load(path, "candidate")
        made = [compiled(triton, module, x, y, path) for y in options.architecture for x in launches]
    except BaseException as error:  # a program that needs a device at its import says nothing about its kernels
        made = [{"kernel": "", "architecture": x, "status": "untold", "reason": one_line(error)} for x in options.architecture]
    with open(out, "w", encoding="utf-8") as file:
        _dump(made, file)
    os._exit(0)


main()
