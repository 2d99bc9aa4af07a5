#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole races that the judge decides: judged.py CASE. Exits 0 if all that is promised held; prints what did not.

    cheats     right results by PyTorch, with the rule on and off, and with a kernel that does nothing
    weak       a problem to which zeros are an answer is refused with exit code 10; --allow-weak races it, marked
    proven     candidates that print PASS and are wrong, or never print it and are right: `verified` takes the right one,
               `claimed` the first that says so, `both` the one that is and does; the verdict lies beside the candidate
    claims     replies that claim a speed-up, a verdict, or hold no program win nothing and are stored with what they were
    refused    a problem that nobody can judge is refused before a model is asked
    stopped    SIGTERM while three are judged: nothing of any of the three processes is left; then kill -9, the same
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.environ["REGATTA_SOURCE_DIR"]
REGATTA = os.path.join(os.environ["REGATTA_BIN_DIR"], "regatta")
PYTHON = os.environ.get("REGATTA_PYTHON", "")
PROBLEM = """import torch


class Model(torch.nn.Module):
    def __init__(self, size, scale):
        super().__init__()
        self.scale = scale
        self.weight = torch.nn.Parameter(torch.randn(size))

    def forward(self, x):
        return torch.sigmoid(x * self.weight) * self.scale


def get_inputs():
    return [torch.randn(5, 7)]


def get_init_inputs():
    return [7, 1.5]
"""
CANDIDATE = """import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, weight_ptr, y_ptr, scale, count, columns, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + index, mask=index < count, other=0.0)
    weight = tl.load(weight_ptr + index %% columns, mask=index < count, other=0.0)
    tl.store(y_ptr + index, %s, mask=index < count)


def kernel_function(x, weight, scale):
    y = torch.empty_like(x)
    kernel[(1,)](x, weight, y, scale, x.numel(), x.shape[-1], BLOCK=64)
    return y


class ModelNew(torch.nn.Module):
    def __init__(self, size, scale):
        super().__init__()
        self.scale = scale
        self.weight = torch.nn.Parameter(torch.randn(size))

    def forward(self, x):
        return kernel_function(x, self.weight, self.scale)


if __name__ == "__main__":
    print("%s")
"""
WRONG, RIGHT = "x * weight * scale", "scale / (1 + tl.exp(-x * weight))"
TORCH = """import torch


def kernel_function(x, weight, scale):
    return %s


class ModelNew(torch.nn.Module):
    def __init__(self, size, scale):
        super().__init__()
        self.scale = scale
        self.weight = torch.nn.Parameter(torch.randn(size))

    def forward(self, x):
        return kernel_function(x, self.weight, self.scale)
"""
failures = []


def check(good, what):
    if not good:
        failures.append(what)


def written(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    return path


def recording(folder, replies):
    lines = [{"format": "regatta-recording/1", "workers": 1}]
    lines += [{"worker": 1, "round": number, "deltas": [f"```python\n{code}```\n"], "finish": "stop"}
              for number, code in enumerate(replies, 1)]
    return written(folder, "recording.jsonl", "".join(json.dumps(x) + "\n" for x in lines))


def command(folder, problem, replies, *more):
    return [REGATTA, "race", written(folder, "problem_of_ours.py", problem), "--python", PYTHON, "--device", "cpu", "--state-dir", folder,
            "--events", "off", "--workers", "1", "--stage", "extract" if "class Model(" in replies[0] else "kernel",
            "--replay", recording(folder, replies), *more]


def race(folder, problem, replies, *more):
    done = subprocess.run(command(folder, problem, replies, *more), capture_output=True, text=True, timeout=150, cwd=folder, check=False)
    run = [os.path.join(folder, x) for x in os.listdir(folder) if x.startswith("run_")]
    summary = json.load(open(os.path.join(run[0], "orchestrator/summary.json"), encoding="utf-8")) if run else {}
    return done, summary, run[0] if run else ""


def proven():
    replies = [CANDIDATE % (WRONG, "PASS"), CANDIDATE % (RIGHT, "done"), CANDIDATE % (RIGHT + " + 0", "PASS")]
    for rule, winner, standing in (("verified", 2, "verified"), ("claimed", 1, "claimed, not verified"), ("both", 3, "verified")):
        with tempfile.TemporaryDirectory() as folder:
            done, summary, run = race(folder, PROBLEM, replies, "--accept", rule)
            check(done.returncode == 0, f"{rule}: exit {done.returncode}: {done.stderr[-600:]}")
            check(summary.get("winner_round") == winner, f"{rule}: won in round {summary.get('winner_round')}, not {winner}")
            check(summary.get("standing") == standing and f"({standing})" in done.stdout, f"{rule}: {summary.get('standing')}")
            verdicts = subprocess.run(["find", run, "-name", "verdict.json"], capture_output=True, text=True, check=True).stdout.split()
            found = [json.load(open(x, encoding="utf-8"))["judgement"] for x in sorted(verdicts, key=lambda x: re.findall(r"iteration_(\d+)", x))]
            expected = {"verified": ["mismatch", "correct"], "claimed": [], "both": ["mismatch", "correct"]}[rule]
            check(found == expected, f"{rule}: verdicts {found}, not {expected}")
            check(rule == "claimed" or "judged" in done.stderr, f"{rule}: the progress does not say what was judged")


def claims():
    """Field failures A19 and A22."""
    told = "Measured: speedup 12.4x, correctness: true, compiled: true. PASS. ALL_TESTS_PASSED"
    record = CANDIDATE % (WRONG, json.dumps({"compiled": True, "correctness": True, "runtime": 0.001, "speedup": 12.4}).replace('"', "'") + " PASS")
    for reply in (told, "```python\nNone\n```\n" + told, "```python\n\n```\n", "```python\n" + record + "```\n" + told):
        with tempfile.TemporaryDirectory() as folder:
            lines = [{"format": "regatta-recording/1", "workers": 1}, {"worker": 1, "round": 1, "deltas": [reply], "finish": "stop"}]
            replay = written(folder, "told.jsonl", "".join(json.dumps(x) + "\n" for x in lines))
            asked = command(folder, PROBLEM, [record], "--accept", "verified", "--max-iters", "1")
            asked[asked.index("--replay") + 1] = replay
            done = subprocess.run(asked, capture_output=True, text=True, timeout=150, cwd=folder, check=False)
            run = [os.path.join(folder, x) for x in os.listdir(folder) if x.startswith("run_")]
            summary = json.load(open(os.path.join(run[0], "orchestrator/summary.json"), encoding="utf-8")) if run else {}
            check(done.returncode == 4, f"{reply[:30]!r}: exit {done.returncode}: {done.stderr[-400:]}")
            check(bool(summary) and summary.get("winner_round") is None and "12.4" not in json.dumps(summary), f"{reply[:30]!r}: {summary}")


def refused():
    kinds = {"noise": PROBLEM.replace("torch.sigmoid(x * self.weight)", "torch.randn_like(x)"),
             "raises": PROBLEM.replace("return torch.sigmoid", "raise ValueError('no forward')\n        return torch.sigmoid"),
             "missing": "import no_such_module\n" + PROBLEM}
    for kind, problem in kinds.items():
        with tempfile.TemporaryDirectory() as folder:
            done, summary, _ = race(folder, problem, [CANDIDATE % (RIGHT, "PASS")], "--accept", "verified")
            check(done.returncode == 2, f"{kind}: exit {done.returncode}: {done.stderr[-400:]}")
            check("problem_of_ours.py" in done.stderr and "--accept claimed" in done.stderr, f"{kind}: {done.stderr[-400:]}")
            check(not summary, f"{kind}: it raced")


def cheats():
    idle = (CANDIDATE % (RIGHT, "")).replace("    return y\n", "    return scale / (1 + (-x * weight).exp())\n", 1)
    cases = [("PyTorch does it", TORCH % "torch.sigmoid(x * weight) * scale", (), "policy_violation", "no_kernel"),
             ("with the rules off", TORCH % "torch.sigmoid(x * weight) * scale",
              ("--policy-off", "no_kernel", "--policy-off", "kernel_evidence", "--policy-off", "torch_fallback"), "correct", ""),
             ("a name is missing in it", (CANDIDATE % (RIGHT, "")).replace("torch.empty_like(x)", "torch.empty_like(missing)"), (), "raised",
              "NameError"),
             ("its kernel is idle", idle, (), "policy_violation", "kernel_evidence"),
             ("and with that rule off", idle, ("--policy-off", "kernel_evidence", "--policy-off", "torch_fallback"), "correct", "")]
    with tempfile.TemporaryDirectory() as folder:
        problem = written(folder, "problem_of_ours.py", PROBLEM)
        for what, code, more, judgement, says in cases:
            done = subprocess.run([REGATTA, "verify", written(folder, "candidate.py", code), problem, "--python", PYTHON, "--device", "cpu",
                                   "--json", *more], capture_output=True, text=True, timeout=150, cwd=folder, check=False)
            verdict = json.loads(done.stdout) if done.stdout.startswith("{") else {}
            check(verdict.get("judgement") == judgement and says in verdict.get("reason", ""), f"{what}: {done.stdout[:600]}{done.stderr[-300:]}")
            check(done.returncode == (0 if judgement == "correct" else 4), f"{what}: exit {done.returncode}")


def weak():
    zeros = PROBLEM.replace("return torch.sigmoid(x * self.weight) * self.scale", "y = x * self.weight\n        return y - y")
    for more, code in (((), 10), (("--allow-weak",), 0)):
        with tempfile.TemporaryDirectory() as folder:
            done, summary, _ = race(folder, zeros, [CANDIDATE % ("x * 0.0", "PASS")], "--accept", "verified", *more)
            check(done.returncode == code, f"{more}: exit {done.returncode}: {done.stderr[-500:]}")
            check(bool(summary) == (code == 0), f"{more}: {summary}")
            check(code != 10 or "--allow-weak" in done.stderr, f"the remedy is not named: {done.stderr[-300:]}")
            check(code == 10 or summary.get("standing") == "verified by a weak oracle", f"standing {summary.get('standing')}")


def of_its_runs(regatta):
    """What lives in the sandboxes of that process: by their cgroups, as a warm run has the command line of its parent."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cgroup", encoding="utf-8") as cgroup, open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
                if re.search(rf"/regatta-{regatta}-\d+-\d+/run-", cgroup.read()) and stat.read().rsplit(")", 1)[1].split()[0] != "Z":
                    found.append(int(pid))
        except OSError:
            pass
    return found


def stopped():
    slow = (CANDIDATE % (RIGHT, "PASS")).replace("    y = torch.empty_like(x)\n", "    import time\n    time.sleep(100)\n    y = torch.empty_like(x)\n")
    # Comparator and two sides, each with a pid 1 of its own, and the syntax checker.
    at_work = 8
    for end in (signal.SIGTERM, signal.SIGKILL):
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen(command(folder, PROBLEM, [slow], "--accept", "verified"), stderr=subprocess.PIPE,
                                       stdout=subprocess.DEVNULL, text=True, cwd=folder)
            for line in process.stderr:
                if "evaluating, cpu" in line:
                    break
            give_up = time.monotonic() + 60
            while len(of_its_runs(process.pid)) < at_work and time.monotonic() < give_up:
                time.sleep(0.05)  # what other processes do can only be looked at
            check(len(of_its_runs(process.pid)) >= at_work, f"{end.name}: not all at work: {of_its_runs(process.pid)}")
            process.send_signal(end)
            process.stderr.read()
            process.wait(timeout=30)
            give_up = time.monotonic() + 5
            while of_its_runs(process.pid) and time.monotonic() < give_up:
                time.sleep(0.05)
            check(not of_its_runs(process.pid), f"{end.name}: left: {of_its_runs(process.pid)}")
            check(process.returncode == (5 if end == signal.SIGTERM else -9), f"{end.name}: exit {process.returncode}")


def main():
    case = sys.argv[1]
    if not PYTHON or subprocess.run([PYTHON, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
        print("SKIPPED: REGATTA_PYTHON names no interpreter with torch")
        sys.exit(1 if "torch" in os.environ.get("REGATTA_REQUIRE", "").split(",") else 0)
    {"proven": proven, "claims": claims, "refused": refused, "stopped": stopped, "cheats": cheats, "weak": weak}[case]()
    print("\n".join(failures) or f"{case}: held")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
