#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One evaluation of a right candidate: warm and cold, judged and by its own test, against a fresh process that runs that test.

    evaluation_bench.py [--python PYTHON] [--count N] [--example NAME …]

Everything is measured in turns within one run, so that ratios hold on a busy machine; medians. `fresh` is KernelAgent's
way: a new Python runs the candidate's self-test in a folder of its own, without a sandbox, and its word is taken.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = pathlib.Path(os.environ.get("REGATTA_BIN_DIR", ROOT / "build" / "release" / "bin"))
sys.path.insert(0, str(ROOT / "examples"))
import candidate_files  # noqa: E402

# Name in the tables: (problem, stage). A fused PyTorch file is judged in `extract`: the problem is its own candidate.
EXAMPLES = {"torch": ("small_mlp", "extract"), "triton": ("linear_gelu", "kernel")}
SELF_TEST = """
if __name__ == "__main__":
    import torch
    model = Model(*get_init_inputs())
    again = Model(*get_init_inputs())
    again.load_state_dict(model.state_dict())
    inputs = get_inputs()
    with torch.no_grad():
        if torch.allclose(model(*inputs), again(*inputs)):
            print("PASS")
        else:
            raise SystemExit(1)
"""


class Driver:
    """One runner, as a node holds it, that answers as often as it is asked."""

    def __init__(self, options, problem, candidate, stage, accept, is_cold):
        words = [str(BIN / "evaluation_driver"), options.python, str(problem), str(candidate), stage, accept,
                 str(options.count + 1)] + (["cold"] if is_cold else [])
        self.name = ("cold" if is_cold else "warm") + (", judged" if accept == "verified" else ", own test")
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.first = self.next()["ms"]

    def next(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        is_right = answer["judgement"] == "correct" or answer["claim"] != "none"
        if not is_right or answer["is_warm"] != self.name.startswith("warm"):
            sys.exit("%s: %s" % (self.name, answer))
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def fresh(options, problem, candidate):
    with tempfile.TemporaryDirectory() as folder:
        for name, path in (("candidate_main.py", candidate), ("problem.py", problem)):
            pathlib.Path(folder, name).write_text(path.read_text())
        before, began = os.times(), time.monotonic()
        done = subprocess.run([options.python, "candidate_main.py"], cwd=folder, capture_output=True, text=True,
                              env={**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"})
        took, after = time.monotonic() - began, os.times()
        if done.returncode != 0 or "PASS" not in done.stdout:
            sys.exit("fresh: " + done.stdout + done.stderr)
        return took * 1e3, (after.children_user + after.children_system - before.children_user - before.children_system) * 1e3


def measure(options, name):
    problem_name, stage = EXAMPLES[name]
    problem = candidate_files.problems()[problem_name]
    with tempfile.TemporaryDirectory() as folder:
        candidate = pathlib.Path(folder, "candidate.py")
        if stage == "extract":
            candidate.write_text(problem.read_text() + SELF_TEST)
        else:
            candidate.write_text(next(x for x in candidate_files.replies(problem_name) if x.expect == "passes").code)
        drivers = [Driver(options, problem, candidate, stage, accept, is_cold)
                   for accept in ("verified", "claimed") for is_cold in (False, True)]
        rows = {x.name: [] for x in drivers}
        rows["fresh process, own test"] = []
        for _ in range(options.count):
            for driver in drivers:
                answer = driver.next()
                rows[driver.name].append((answer["ms"], answer["cpu_ms"]))
            rows["fresh process, own test"].append(fresh(options, problem, candidate))
        for driver in drivers:
            driver.close()
    firsts = {x.name: x.first for x in drivers}
    base = statistics.median(x[0] for x in rows["fresh process, own test"])
    for way, values in rows.items():
        wall, cpu = (statistics.median(x[i] for x in values) for i in (0, 1))
        print("| %s | %s | %d | %.0f | %.0f–%.0f | %.0f | %.0f | × %.2f |" % (
            name, way, len(values), wall, min(x[0] for x in values), max(x[0] for x in values), cpu,
            firsts.get(way, float("nan")), base / wall), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", default=os.environ.get("REGATTA_PYTHON", sys.executable))
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--example", action="append", choices=tuple(EXAMPLES))
    options = parser.parse_args()
    print("load average %s, %d cores" % (" ".join("%.1f" % x for x in os.getloadavg()), os.cpu_count()))
    print("| example | way | n | ms | from–to | CPU ms of the candidate's run | first, ms | against a fresh process |")
    print("|---|---|---|---|---|---|---|---|")
    for name in options.example or EXAMPLES:
        measure(options, name)
    print("load average %s" % " ".join("%.1f" % x for x in os.getloadavg()))


main()
