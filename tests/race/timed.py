#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Winners that are timed: timed.py CASE. Exits 0 if all that is promised held; prints what did not. No case says that
something is fast or slow: the machine decides that.

    verify     right candidates are timed after they were judged, wrong ones are not; whoever remembers outputs is caught
    race       the winner is timed when all else is gone; record, summary, store, `show` and a later race's baseline
    stopped    SIGTERM while it is timed: nothing is left, the race is won, and the record says why it was not timed
    killed     kill -9 while it is timed: nothing is left; the resumed race is won by the same and times it
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from judged import CANDIDATE, PROBLEM, PYTHON, REGATTA, RIGHT, WRONG, check, command, failures, of_its_runs, race, written

EXTRACT = """import torch


class Model(torch.nn.Module):
    def __init__(self, size, scale):
        super().__init__()
        self.scale = scale
        self.weight = torch.nn.Parameter(torch.randn(size))

    def forward(self, x):
        %s


def run_tests():
    pass
"""
HONEST = EXTRACT % "return torch.sigmoid(self.weight * x) * self.scale"
REMEMBERS = "known = {}\n" + EXTRACT % """key = tuple(x.shape)
        if key not in known or len(known[key]) < 12:
            known.setdefault(key, []).append(torch.sigmoid(self.weight * x) * self.scale)
        return known[key][-1]"""
SLOW = EXTRACT % """self.calls = getattr(self, "calls", 0) + 1
        if self.calls > 1:
            import time
            time.sleep(0.4)
        return torch.sigmoid(self.weight * x) * self.scale"""


def verified(folder, code, *more):
    problem = written(folder, "problem_of_ours.py", PROBLEM)
    done = subprocess.run([REGATTA, "verify", written(folder, "candidate.py", code), problem, "--python", PYTHON, "--device", "cpu",
                           "--stage", "extract" if "class Model(" in code else "kernel", "--timing", *more], capture_output=True, text=True,
                          timeout=300, cwd=folder, check=False)
    return done, json.loads(done.stdout) if done.stdout.startswith("{") else {}


def is_number(x):
    return isinstance(x, (int, float)) and not isinstance(x, bool) and x > 0


def verify():
    with tempfile.TemporaryDirectory() as folder:
        for what, code in (("eager", HONEST), ("interpreted", CANDIDATE % (RIGHT, ""))):
            done, verdict = verified(folder, code, "--json")
            timing = verdict.get("timing", {})
            check(done.returncode == 0, f"{what}: exit {done.returncode}: {done.stderr[-400:]}")
            # On a machine that is busy enough, pairs may give no time; that is said, too.
            check(timing.get("status") in ("timed", "unsteady"), f"{what}: {json.dumps(timing)[:600]}")
            if timing.get("status") == "timed":
                check(all(is_number(timing[x]["median"]) for x in ("speedup", "reference_ms", "candidate_ms")), f"{what}: {timing}")
                check(timing["checked_calls"] >= 2 * timing["pairs"], f"{what}: {timing['checked_calls']} calls checked")
            check(timing.get("device") and timing.get("candidate_sha256") and timing.get("problem_sha256"), f"{what}: {timing}")
            check(("interpreted" in timing.get("flags", [])) == (what == "interpreted"), f"{what}: {timing.get('flags')}")
        done, _ = verified(folder, HONEST)
        check("timing" in done.stdout, f"nothing for people: {done.stdout}")
        done, verdict = verified(folder, CANDIDATE % (WRONG, ""), "--json")
        check(done.returncode == 4 and "timing" not in verdict, f"a wrong one is timed: {done.returncode} {done.stdout[-300:]}")
        done, verdict = verified(folder, REMEMBERS, "--json")
        check(verdict.get("judgement") != "correct" or verdict.get("timing", {}).get("status") == "not_right",
              f"outputs remembered by shape: {done.stdout[-900:]}")


def load_show(folder, run="latest"):
    shown = subprocess.run([REGATTA, "show", run, "--state-dir", folder, "--json"], capture_output=True, text=True, timeout=60, check=False)
    return json.loads(shown.stdout)["timing"] if shown.returncode == 0 else {"error": shown.stderr}


def race_timed():
    with tempfile.TemporaryDirectory() as folder:
        done, summary, run = race(folder, PROBLEM, [HONEST], "--timing")
        check(done.returncode == 0, f"exit {done.returncode}: {done.stderr[-600:]}")
        timing = summary.get("timing") or {}
        check(summary.get("not_timed") is None and timing.get("status") in ("timed", "unsteady"), f"summary: {json.dumps(summary)[:900]}")
        check("Timing " in done.stdout, f"account: {done.stdout}")
        beside = json.load(open(os.path.join(run, "orchestrator/winner/timing.json"), encoding="utf-8"))
        check(beside == timing, "timing.json differs from the summary's")
        check(summary["quiet_ms"] < summary["elapsed_ms"], f"{summary['quiet_ms']} of {summary['elapsed_ms']} ms")
        shown = load_show(folder)
        check(shown.get("status") == timing.get("status") and shown.get("baseline") is None, f"show: {shown}")
        os.rename(run, os.path.join(folder, "kept"))
        done, summary, run = race(folder, PROBLEM, [HONEST])
        shown = load_show(folder)
        check(summary.get("timing") is None and summary.get("not_timed") is None, f"timed unasked: {json.dumps(summary)[:600]}")
        check(timing.get("status") != "timed" or is_number(((shown or {}).get("baseline") or {}).get("reference_ms")) or
              "baseline" in subprocess.run([REGATTA, "show", "latest", "--state-dir", folder], capture_output=True, text=True, check=False).stdout,
              f"no baseline in a later race: {shown}")
        done, _, _ = race(folder, PROBLEM, [CANDIDATE % (RIGHT, "PASS")], "--timing", "--accept", "claimed")
        check(done.returncode == 2 and "--timing" in done.stderr, f"timing of what is only claimed: {done.returncode} {done.stderr[-300:]}")


def until_timed(process):
    """The race is won, everything else is gone, and the three processes of the timing are at work."""
    for line in process.stderr:
        if line.startswith("regatta: stopped (won)") or "stopped (won)" in line:
            break
    give_up = time.monotonic() + 90
    while len(of_its_runs(process.pid)) < 6 and time.monotonic() < give_up:
        time.sleep(0.05)  # what other processes do can only be looked at
    check(len(of_its_runs(process.pid)) >= 6, f"nothing is timed: {of_its_runs(process.pid)}")
    time.sleep(1)


def gone(process, what):
    give_up = time.monotonic() + 10
    while of_its_runs(process.pid) and time.monotonic() < give_up:
        time.sleep(0.05)
    check(not of_its_runs(process.pid), f"{what}: left: {of_its_runs(process.pid)}")


def only_run(folder):
    return next(x for x in os.listdir(folder) if x.startswith("run_"))


def stopped():
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(command(folder, PROBLEM, [SLOW], "--timing"), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   cwd=folder)
        until_timed(process)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=60)
        gone(process, "SIGTERM")
        check(process.returncode == 0, f"exit {process.returncode}")
        check("won by worker_01" in out and "not done: stopped: SIGTERM" in out, out)
        with open(os.path.join(folder, only_run(folder), "orchestrator/summary.json"), encoding="utf-8") as file:
            summary = json.load(file)
        check(summary["end"] == "won" and summary["not_timed"] == "stopped: SIGTERM" and summary["timing"] is None, json.dumps(summary)[:600])
        check(summary["unconfirmed_nodes"] == [], f"unconfirmed: {summary['unconfirmed_nodes']}")


def killed():
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(command(folder, PROBLEM, [SLOW], "--timing"), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
                                   cwd=folder)
        until_timed(process)
        process.kill()
        process.communicate()
        gone(process, "SIGKILL")
        resumed = subprocess.Popen([REGATTA, "resume", "latest", "--python", PYTHON, "--state-dir", folder, "--events", "off"],
                                   stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder)
        until_timed(resumed)
        resumed.send_signal(signal.SIGTERM)
        out, err = resumed.communicate(timeout=60)
        gone(resumed, "after the resume")
        check(resumed.returncode == 0 and "won by worker_01" in out, f"{resumed.returncode}: {out}{err[-400:]}")


def main():
    case = sys.argv[1]
    if not PYTHON or subprocess.run([PYTHON, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
        print("SKIPPED: REGATTA_PYTHON names no interpreter with torch")
        sys.exit(1 if "torch" in os.environ.get("REGATTA_REQUIRE", "").split(",") else 0)
    {"verify": verify, "race": race_timed, "stopped": stopped, "killed": killed}[case]()
    print("\n".join(failures) or f"{case}: held")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
