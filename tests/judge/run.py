# SPDX-License-Identifier: Apache-2.0
"""run.py CASE [test names]: one file of tests. Those that need torch run under REGATTA_PYTHON, which loads it once and
forks a process for every side, as a warm node does; a few tests start sides cold."""
import os
import subprocess
import sys
import unittest

NODE = "triton in a node"  # the tests only ask: judge_queue has the interpreter
CASES = {"trees": "torch", "reference": "torch", "honest": "torch", "triton": "triton", "hostile": "torch", "large": "triton", "rules": "", "gpu": "triton", "timing": "torch",
         "whole": NODE, "exploit": NODE, "field": NODE, "weak": NODE}


def import_in_vain(python, name):
    """The error's last line, or nothing."""
    done = subprocess.run([python, "-c", "import torch, " + name], capture_output=True, text=True, check=False)
    return done.stderr.strip().split("\n")[-1] if done.returncode else ""


def skip(why, feature):
    print("SKIPPED: " + why)
    sys.exit(1 if feature in os.environ.get("REGATTA_REQUIRE", "").split(",") else 0)


def main():
    case = sys.argv[1]
    needs = CASES[case]
    python = os.environ.get("REGATTA_PYTHON")
    if needs and not python:
        skip("REGATTA_PYTHON names no Python with " + needs, needs.split()[0])
    if needs == NODE:
        needs, missing = "", import_in_vain(python, "triton")
        if missing:
            skip(missing, "triton")
    if needs and os.environ.get("REGATTA_JUDGE_TEST") != python:
        environment = {**os.environ, "REGATTA_JUDGE_TEST": python, "OMP_NUM_THREADS": "1",
                       "TRITON_INTERPRET": "0" if os.environ.get("REGATTA_JUDGE_DEVICE") == "cuda" else "1"}
        os.execve(python, [python, "-B", os.path.abspath(__file__), *sys.argv[1:]], environment)
    if needs:
        try:
            __import__("torch")
            __import__(needs)
        except ImportError as error:
            skip(str(error), needs)
    module = __import__(case + "_cases")
    unittest.main(module, argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)


main()
