#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every reply under candidates/ behaves as its front matter says, by running it.

    examples/check_recordings.py [--python PATH] [--jobs N] [--timeout S] [--gpu] [--quick] [--judge REGATTA] [PROBLEM …]

Runs each program beside its problem, as the evaluator lays them out, but in no sandbox: the programs are our own.
--quick runs only what must pass; --gpu lets Triton compile instead of interpret. --judge asks `REGATTA verify` about each
program instead: right are those that pass, or that say `judged: correct`. Exits 1 if anything differs.
"""
import argparse
import ast
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import make_recordings
from candidate_files import RUNS, problems, replies

MUST_DEFINE = {"ModelNew", "kernel_function"}
DEFAULT_TIMEOUT_S = 60


def main():
    options = parse()
    make_recordings.main(check=True)
    known = problems()
    names = options.problems or list(known)
    jobs, complaints = [], []
    for name in names:
        found = replies(name)
        complaints += check_texts(name, found)
        jobs += [(known[name], x) for x in found if x.expect in RUNS and (x.expect == "passes" or not options.quick)]
    check = check_verdict if options.judge else check_run
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        complaints += [x for x in pool.map(lambda job: check(*job, options), jobs) if x]
    print("\n".join(complaints + [f"{len(jobs)} programs run, {len(complaints)} complaints"]))
    sys.exit(1 if complaints else 0)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--python", default=os.environ.get("REGATTA_PYTHON", sys.executable))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=float, default=DEFAULT_TIMEOUT_S)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--judge", metavar="REGATTA")
    parser.add_argument("problems", nargs="*")
    return parser.parse_args()


def check_texts(name, found):
    """What can be said without running anything."""
    by_stem = {x.path.stem: x for x in found}
    for reply in found:
        where = f"{name}/{reply.path.name}"
        if reply.expect in RUNS and not MUST_DEFINE <= definitions(reply.code):
            yield f"{where}: defines {definitions(reply.code)}"
        if reply.expect == "syntax_error" and parses(reply.code):
            yield f"{where}: parses"
        if reply.expect == "no_entry_point" and (not parses(reply.code) or MUST_DEFINE <= definitions(reply.code)):
            yield f"{where}: is no program without entry point"
        if reply.expect == "no_code" and "```" in reply.text:
            yield f"{where}: has a fence"
        if reply.expect == "truncated" and reply.front.get("finish") != "length":
            yield f"{where}: is not cut"
        if reply.expect == "duplicate_of" and by_stem[reply.original].code != reply.code:
            yield f"{where}: is not the program of {reply.original}"
    if sum(x.expect == "passes" for x in found) != 1:
        yield f"{name}: needs exactly one reply that passes, so that every replay has the same winner"


def parses(code):
    try:
        ast.parse(code)
    except SyntaxError:
        return False
    return True


def definitions(code):
    return {x.name for x in ast.parse(code).body if isinstance(x, (ast.FunctionDef, ast.ClassDef))}


def check_run(problem, reply, options):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "candidate_main.py").write_text(reply.code, encoding="utf-8")
        (folder / "problem.py").write_bytes(problem.read_bytes())
        environment = {**os.environ, "HOME": str(folder), "TRITON_CACHE_DIR": str(folder / "triton")}
        if not options.gpu:
            environment["TRITON_INTERPRET"] = "1"
        try:
            done = subprocess.run([options.python, "candidate_main.py"], cwd=folder, env=environment,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=options.timeout)
        except subprocess.TimeoutExpired:
            return complaint(problem, reply, "timed_out", "")
    is_pass = done.returncode == 0 and re.search(r"\bPASS\b|ALL_TESTS_PASSED", done.stdout)
    return complaint(problem, reply, "passes" if is_pass else "exited_nonzero" if done.returncode else "exited",
                     done.stdout + done.stderr)


def check_verdict(problem, reply, options):
    with tempfile.TemporaryDirectory() as folder:
        candidate = pathlib.Path(folder) / "candidate.py"
        candidate.write_text(reply.code, encoding="utf-8")
        done = subprocess.run([options.judge, "verify", str(candidate), str(problem), "--python", options.python, "--device",
                               "any" if options.gpu else "cpu", "--run-timeout-s", str(int(options.timeout))],
                              capture_output=True, text=True, check=False)
    if done.returncode == (0 if reply.is_right else 4):
        return None
    return f"{problem.stem}/{reply.path.name}: verify exits {done.returncode}\n{(done.stdout + done.stderr)[-2000:]}"


def complaint(problem, reply, got, output):
    expected = reply.front.get("says", "")
    if got == reply.expect and expected in output:
        return None
    return f"{problem.stem}/{reply.path.name}: {got}, expected {reply.expect} and \"{expected}\"\n{output[-2000:]}"


if __name__ == "__main__":
    main()
