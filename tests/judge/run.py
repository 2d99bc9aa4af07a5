# SPDX-License-Identifier: Apache-2.0
"""run.py CASE [test names]: one file of tests. Those that need torch run under REGATTA_PYTHON, which loads it once and
forks a process for every side, as a warm node does; a few tests start sides cold."""
import os
import sys
import unittest

CASES = {"trees": "torch", "reference": "torch", "honest": "torch", "triton": "triton", "hostile": "torch", "rules": ""}


def skip(why, feature):
    print("SKIPPED: " + why)
    sys.exit(1 if feature in os.environ.get("REGATTA_REQUIRE", "").split(",") else 0)


def main():
    case = sys.argv[1]
    needs = CASES[case]
    python = os.environ.get("REGATTA_PYTHON")
    if needs and not python:
        skip("REGATTA_PYTHON names no Python with " + needs, needs)
    if needs and os.environ.get("REGATTA_JUDGE_TEST") != python:
        environment = {**os.environ, "REGATTA_JUDGE_TEST": python, "TRITON_INTERPRET": "0" if os.environ.get("REGATTA_JUDGE_DEVICE") == "cuda" else "1", "OMP_NUM_THREADS": "1"}
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
