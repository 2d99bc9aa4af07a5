#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Evaluations of one right Triton candidate on a GPU, from its code to the verdict: cold, warm, with Triton's helpers
built before, in a process that waited; judged and by its own test; then how many a second when slots share the GPU.

    gpu_bench.py [--python PYTHON] [--count N] [--example NAME] [--helpers DIR] [--driver PATH]

Medians, in turns within one run.
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

WAYS = {
    "cold": ["cold"],
    "warm": [],
    "warm, helpers": ["HELPERS"],
    "warm, helpers, waiting": ["HELPERS", "ready=4"],
}


class Driver:
    def __init__(self, options, files, accept, count, words):
        self.words = ["gpu"] + [x.replace("HELPERS", "helpers=" + options.helpers) for x in words]
        problem, candidate = files
        command = [options.driver, options.python, str(problem), str(candidate), "kernel", accept, str(count)]
        self.process = subprocess.Popen(command + self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def next(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("%s: it ended" % " ".join(self.words))
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def one_at_a_time(options, files, accept):
    for way, words in WAYS.items():
        count = min(2, options.count) if way == "cold" else options.count
        driver = Driver(options, files, accept, count + 2, words)
        first = driver.next()
        rows = []
        for _ in range(count):
            time.sleep(1.2 if "ready=4" in words else 0)  # a worker's own pause between two candidates is longer
            answer = driver.next()
            if answer["judgement"] != "correct" and answer["claim"] == "none":
                sys.exit("%s: %s" % (way, answer))
            rows.append(answer)
        driver.close()
        wall = [x["ms"] for x in rows]
        print("| %s | %s | %d | %.0f | %.0f–%.0f | %.0f | %d | %.0f |" % (
            "judged" if accept == "verified" else "own test", way, len(rows), statistics.median(wall), min(wall),
            max(wall), statistics.median(x["cpu_ms"] for x in rows), sum(x["was_ready"] for x in rows), first["ms"]),
            flush=True)


def many(options, files, accept):
    for parallel in options.parallel:
        for ready in options.ready:
            words = ["HELPERS", "ready=%d" % ready, "parallel=%d" % parallel]
            driver = Driver(options, files, accept, options.many, words)
            answer = driver.next()
            driver.close()
            print("| %s | %d | %d | %d of %d | %.2f | %.0f | %.0f |" % (
                "judged" if accept == "verified" else "own test", parallel, ready, answer["right"], answer["count"],
                answer["per_second"], answer["mean_ms"], answer["cpu_ms"]), flush=True)


def numbers(text):
    return [int(x) for x in text.split(",") if x]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", default=os.environ.get("REGATTA_PYTHON", sys.executable))
    parser.add_argument("--driver", default=str(BIN / "evaluation_driver"))
    parser.add_argument("--count", type=int, default=8)
    parser.add_argument("--many", type=int, default=24)
    parser.add_argument("--parallel", type=numbers, default=[1, 2, 4])
    parser.add_argument("--ready", type=numbers, default=[0, 4])
    parser.add_argument("--accept", type=lambda x: x.split(","), default=["claimed", "verified"])
    parser.add_argument("--example", default="swish_residual")
    parser.add_argument("--helpers", default=os.path.join(tempfile.mkdtemp(), "helpers"))
    options = parser.parse_args()
    problem = candidate_files.problems()[options.example]
    with tempfile.TemporaryDirectory() as folder:
        candidate = pathlib.Path(folder, "candidate.py")
        candidate.write_text(next(x for x in candidate_files.replies(options.example) if x.expect == "passes").code)
        files = (problem, candidate)
        print("%s; load average %s, %d cores" % (options.example, " ".join("%.1f" % x for x in os.getloadavg()),
                                                os.cpu_count()))
        began = time.monotonic()
        Driver(options, files, "claimed", 1, ["HELPERS"]).close()
        print("seeding: %.1f s, %d helpers" % (time.monotonic() - began, len(os.listdir(options.helpers))
                                              if os.path.isdir(options.helpers) else 0), flush=True)
        print("| | way | n | ms | from–to | CPU ms of the candidate's run | waited for it | first, ms |\n"
              "|---|---|---|---|---|---|---|---|", flush=True)
        for accept in options.accept:
            one_at_a_time(options, files, accept)
        print("| | at once | waiting | right | evaluations/s | mean ms | CPU ms |\n|---|---|---|---|---|---|---|", flush=True)
        for accept in ("claimed", "verified"):
            many(options, files, accept)


main()
