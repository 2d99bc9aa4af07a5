#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole races that the judge decides: judged.py CASE. Exits 0 if all that is promised held; prints what did not.

    cheats     right results by PyTorch, with the rule on and off, and with a kernel that does nothing
    weak       a problem to which zeros are an answer ends with an unproven candidate and exit code 10; --allow-weak lets it win,
               marked; --refuse-weak does not race it; by hand it is the same
    rules      tolerances and trials from problem, file and command line
    engines    what the interpreter takes and the compiler refuses, for GPUs that are not here; bfloat16
    large      inputs that are drawn on both sides; what fits nowhere
    proven     candidates that print PASS and are wrong, or never print it and are right: `verified` takes the
               right one, `claimed` the first that says so, `both` the one that is and does; the verdict lies beside
               the candidate
    claims     replies that claim a speed-up, a verdict, or hold no program win nothing
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
    return [REGATTA, "race", written(folder, "problem_of_ours.py", problem), "--python", PYTHON, "--device", "cpu",
            "--state-dir", folder,
            "--events", "off", "--workers", "1", "--stage", "extract" if "class Model(" in replies[0] else "kernel",
            "--replay", recording(folder, replies), *more]


def race(folder, problem, replies, *more):
    done = subprocess.run(command(folder, problem, replies, *more), capture_output=True, text=True, timeout=150,
                          cwd=folder, check=False)
    run = [os.path.join(folder, x) for x in os.listdir(folder) if x.startswith("run_")]
    summary = json.load(open(os.path.join(run[0], "orchestrator/summary.json"), encoding="utf-8")) if run else {}
    return done, summary, run[0] if run else ""


def proven():
    replies = [CANDIDATE % (WRONG, "PASS"), CANDIDATE % (RIGHT, "done"), CANDIDATE % (RIGHT + " + 0", "PASS")]
    for rule, winner, standing in (("verified", 2, "verified"), ("claimed", 1, "claimed, not verified"),
                                   ("both", 3, "verified")):
        with tempfile.TemporaryDirectory() as folder:
            done, summary, run = race(folder, PROBLEM, replies, "--accept", rule)
            check(done.returncode == 0, f"{rule}: exit {done.returncode}: {done.stderr[-600:]}")
            check(summary.get("winner_round") == winner,
                  f"{rule}: won in round {summary.get('winner_round')}, not {winner}")
            check(summary.get("standing") == standing and f"({standing})" in done.stdout,
                  f"{rule}: {summary.get('standing')}")
            verdicts = subprocess.run(["find", run, "-name", "verdict.json"], capture_output=True, text=True,
                                      check=True).stdout.split()
            found = [json.load(open(x, encoding="utf-8"))["judgement"] for x in sorted(verdicts,
                key=lambda x: re.findall(r"iteration_(\d+)", x))]
            expected = {"verified": ["mismatch", "correct"], "claimed": [], "both": ["mismatch", "correct"]}[rule]
            check(found == expected, f"{rule}: verdicts {found}, not {expected}")
            check(rule == "claimed" or "judged" in done.stderr, f"{rule}: the progress does not say what was judged")


def claims():
    """Field failures A19 and A22."""
    told = "Measured: speedup 12.4x, correctness: true, compiled: true. PASS. ALL_TESTS_PASSED"
    record = CANDIDATE % (WRONG, json.dumps({"compiled": True, "correctness": True, "runtime": 0.001,
        "speedup": 12.4}).replace('"', "'") + " PASS")
    for reply in (told, "```python\nNone\n```\n" + told, "```python\n\n```\n", "```python\n" + record + "```\n" + told):
        with tempfile.TemporaryDirectory() as folder:
            lines = [{"format": "regatta-recording/1", "workers": 1},
                     {"worker": 1, "round": 1, "deltas": [reply], "finish": "stop"}]
            replay = written(folder, "told.jsonl", "".join(json.dumps(x) + "\n" for x in lines))
            asked = command(folder, PROBLEM, [record], "--accept", "verified", "--max-iters", "1")
            asked[asked.index("--replay") + 1] = replay
            done = subprocess.run(asked, capture_output=True, text=True, timeout=150, cwd=folder, check=False)
            run = [os.path.join(folder, x) for x in os.listdir(folder) if x.startswith("run_")]
            summary = json.load(open(os.path.join(run[0], "orchestrator/summary.json"),
                                     encoding="utf-8")) if run else {}
            check(done.returncode == 4, f"{reply[:30]!r}: exit {done.returncode}: {done.stderr[-400:]}")
            check(bool(summary) and summary.get("winner_round") is None and "12.4" not in json.dumps(summary),
                  f"{reply[:30]!r}: {summary}")


def refused():
    kinds = {"noise": PROBLEM.replace("torch.sigmoid(x * self.weight)", "torch.randn_like(x)"),
             "raises": PROBLEM.replace("return torch.sigmoid",
                                       "raise ValueError('no forward')\n        return torch.sigmoid"),
             "missing": "import no_such_module\n" + PROBLEM}
    for kind, problem in kinds.items():
        with tempfile.TemporaryDirectory() as folder:
            done, summary, _ = race(folder, problem, [CANDIDATE % (RIGHT, "PASS")], "--accept", "verified")
            check(done.returncode == 2, f"{kind}: exit {done.returncode}: {done.stderr[-400:]}")
            check("problem_of_ours.py" in done.stderr and "--accept claimed" in done.stderr,
                  f"{kind}: {done.stderr[-400:]}")
            check(not summary, f"{kind}: it raced")


def cheats():
    idle = (CANDIDATE % (RIGHT, "")).replace("    return y\n", "    return scale / (1 + (-x * weight).exp())\n", 1)
    cases = [("PyTorch does it", TORCH % "torch.sigmoid(x * weight) * scale", (), "policy_violation", "no_kernel"),
             ("with the rules off", TORCH % "torch.sigmoid(x * weight) * scale",
              ("--policy-off", "no_kernel", "--policy-off", "kernel_evidence", "--policy-off", "torch_fallback"),
              "correct", ""),
             ("a name is missing in it", (CANDIDATE % (RIGHT, "")).replace("torch.empty_like(x)",
             "torch.empty_like(missing)"), (), "raised",
              "NameError"),
             ("its kernel is idle", idle, (), "policy_violation", "kernel_evidence"),
             ("and with that rule off", idle, ("--policy-off", "kernel_evidence", "--policy-off", "torch_fallback"),
              "correct", "")]
    with tempfile.TemporaryDirectory() as folder:
        problem = written(folder, "problem_of_ours.py", PROBLEM)
        for what, code, more, judgement, says in cases:
            done = subprocess.run([REGATTA, "verify", written(folder, "candidate.py", code), problem, "--python",
                                   PYTHON, "--device", "cpu",
                                   "--json", *more], capture_output=True, text=True, timeout=150, cwd=folder,
                                   check=False)
            verdict = json.loads(done.stdout) if done.stdout.startswith("{") else {}
            check(verdict.get("judgement") == judgement and says in verdict.get("reason", ""),
                  f"{what}: {done.stdout[:600]}{done.stderr[-300:]}")
            check(done.returncode == (0 if judgement == "correct" else 4), f"{what}: exit {done.returncode}")


def weak():
    zeros = PROBLEM.replace("return torch.sigmoid(x * self.weight) * self.scale", "y = x * self.weight\n        return y - y")
    replies = [CANDIDATE % ("x * 2.0", "PASS"), CANDIDATE % ("x * 0.0", "PASS")]
    for more, code in (((), 10), (("--allow-weak",), 0), (("--refuse-weak",), 10)):
        with tempfile.TemporaryDirectory() as folder:
            done, summary, run = race(folder, zeros, replies, "--accept", "verified", *more)
            check(done.returncode == code, f"{more}: exit {done.returncode}: {done.stderr[-500:]}")
            check(bool(summary) == (more != ("--refuse-weak",)), f"{more}: {summary}")
            check(code != 10 or "--allow-weak" in done.stderr, f"the remedy is not named: {done.stderr[-300:]}")
            check(code == 10 or summary.get("standing") == "verified by a weak oracle", f"standing {summary.get('standing')}")
            if more:
                continue
            check(summary.get("end") == "weak_oracle" and not summary.get("winner_worker_id"), f"it won: {summary}")
            check((summary.get("unproven") or {}).get("round") == 2, f"unproven: {summary.get('unproven')}")
            kept = os.path.join(run, "orchestrator/unproven/code.py")
            check(os.path.exists(kept) and "x * 0.0" in open(kept, encoding="utf-8").read(), "the best candidate is not kept")
            check("unproven" in done.stdout and "orchestrator/unproven/code.py" in done.stdout, f"not said: {done.stdout[-600:]}")
            shown = shell(folder, "show", os.path.basename(run), "--state-dir", folder, "--json")
            verdicts = [x["verdict"] for x in json.loads(shown.stdout)["evaluations"]]
            check([x and x["judge_version"] for x in verdicts] == [2, 2], f"verdicts in the store: {verdicts}")
            check("weak_oracle" in verdicts[1]["marks"] and verdicts[1]["trials"][0]["init_seed"] > 0, f"verdict: {verdicts[1]}")
    with tempfile.TemporaryDirectory() as folder:
        code, verdict, _ = verified(folder, replies[1], zeros)
        check((code, verdict.get("judgement")) == (10, "weak_oracle"), f"by hand: exit {code}, {verdict}")


def shell(folder, *arguments):
    return subprocess.run([REGATTA, *arguments], capture_output=True, text=True, timeout=900, cwd=folder, check=False)


def verified(folder, code, problem, *more):
    """(exit code, verdict, stderr) of `regatta verify`."""
    done = shell(folder, "verify", written(folder, "candidate.py", code), written(folder, "problem_of_ours.py", problem), "--python", PYTHON,
                 "--device", "cpu", "--json", *more)
    return done.returncode, json.loads(done.stdout) if done.stdout.startswith("{") else {}, done.stderr


def rules():
    off = CANDIDATE % (RIGHT + " + 0.001", "")
    loose = "{'float32': {'atol': 0.01, 'norm': 0.1}}"
    with tempfile.TemporaryDirectory() as folder:
        def judged(what, wanted, code=off, problem=PROBLEM, more=()):
            exit_code, verdict, words = verified(folder, code, problem, *more)
            check(verdict.get("judgement") == wanted, f"{what}: exit {exit_code}, {verdict.get('judgement')}: {verdict.get('reason')} {words[-300:]}")
            return verdict

        judged("usual tolerances", "mismatch")
        verdict = judged("the problem's own", "correct", problem=PROBLEM + f"\n\nREGATTA_TOLERANCES = {loose}\n")
        check(verdict.get("tolerances", {}).get("float32") == {"atol": 0.01, "rtol": 1e-4, "norm": 0.1}, f"recorded: {verdict.get('tolerances')}")
        judged("from the command line", "correct", more=("--tolerance", "float32.atol=0.01", "--tolerance", "float32.norm=0.1"))
        config = written(folder, "some.toml", "[judge]\ntrials = 2\n[judge.tolerances.float32]\natol = 0.01\nnorm = 0.1\n")
        verdict = judged("from a file", "correct", more=("--config", config))
        check(len(verdict.get("trials", [])) == 2, f"trials: {len(verdict.get('trials', []))}")
        judged("the file before the problem", "mismatch", problem=PROBLEM + f"\n\nREGATTA_TOLERANCES = {loose}\n",
               more=("--tolerance", "float32.atol=1e-5"))
        config = written(folder, "bad.toml", "[judge.tolerances.float32]\natol = 7\n")
        exit_code, _, words = verified(folder, off, PROBLEM, "--config", config)
        check(exit_code == 2 and "judge.tolerances.float32.atol: got 7, allowed:" in words, f"bad value: exit {exit_code}, {words[-300:]}")
        exit_code, _, words = verified(folder, off, PROBLEM, "--trials", "1")
        check(exit_code == 2 and "--trials: got \"1\", allowed: a whole number from 2 to 64" in words, f"bad trials: exit {exit_code}, {words[-300:]}")


def engines():
    """The interpreter takes Python's sum(); the compiler does not."""
    good, bad = CANDIDATE % (RIGHT, ""), CANDIDATE % (RIGHT + " * sum([0.5, 0.5])", "")
    with tempfile.TemporaryDirectory() as folder:
        _, verdict, words = verified(folder, bad, PROBLEM)
        check(verdict.get("judgement") == "correct" and "compiled" not in verdict, f"not asked for: {verdict.get('judgement')} {words[-300:]}")
        asked = ("--architecture", "sm_90", "--architecture", "sm_80")
        _, verdict, words = verified(folder, good, PROBLEM, *asked)
        check(verdict.get("judgement") == "correct", f"good: {verdict.get('judgement')}: {verdict.get('reason')} {words[-300:]}")
        found = [(x["kernel"], x["architecture"], x["status"]) for x in verdict.get("compiled", [])]
        check(found == [("kernel", "sm_90", "compiled"), ("kernel", "sm_80", "compiled")], f"good: {verdict.get('compiled')}")
        _, verdict, words = verified(folder, bad, PROBLEM, *asked)
        check(verdict.get("judgement") == "compile_failed" and "sm_90" in verdict.get("feedback", "") and "sum" in verdict.get("feedback", ""),
              f"bad: {verdict.get('judgement')}: {verdict.get('feedback')} {words[-300:]}")
        half = PROBLEM.replace("torch.randn(5, 7)", "torch.randn(5, 7).bfloat16()")
        exit_code, verdict, _ = verified(folder, good, half)
        check(exit_code == 1 and verdict.get("judgement") == "not_judgeable" and "bfloat16" in verdict.get("reason", ""), f"bfloat16: {exit_code} {verdict}")


def large():
    text = "import torch\n\nROWS = %s\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return %s\n\n\n" \
        "def get_inputs():\n    return [torch.rand(ROWS, 1 << 14)]\n\n\ndef get_init_inputs():\n    return []\n"
    with tempfile.TemporaryDirectory() as folder:
        def verdict_of(result):
            code = (text % (4200, result)).split("\n\n\ndef get_inputs")[0] + "\n"
            return verified(folder, code, text % (4200, "torch.sigmoid(x)"), "--stage", "extract", "--trials", "2",
                            "--run-timeout-s", "600")  # nothing here is about time, and machines of tests are busy

        exit_code, verdict, words = verdict_of("1 / (1 + torch.exp(-x))")
        check(exit_code == 0 and "inputs_drawn" in verdict.get("marks", []), f"right: exit {exit_code}, {verdict} {words[-300:]}")
        exit_code, verdict, words = verdict_of("torch.where(x > 0.999999, x, torch.sigmoid(x))")
        check(exit_code == 4 and verdict.get("judgement") == "mismatch", f"wrong: exit {exit_code}, {verdict} {words[-300:]}")
        done, summary, _ = race(folder, text % ("1 << 20", "x * 2"), [CANDIDATE % (RIGHT, "")], "--accept", "verified")
        check(done.returncode == 2 and "too_large" in done.stderr and "--limit-memory" in done.stderr, f"exit {done.returncode}: {done.stderr[-400:]}")
        check(not summary, "it raced")


def of_its_runs(regatta):
    """What lives in the sandboxes of that process: by cgroups, as a warm run has the command line of its parent."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cgroup", encoding="utf-8") as cgroup, open(f"/proc/{pid}/stat", encoding="ascii",
                    errors="replace") as stat:
                if re.search(rf"/regatta-{regatta}-\d+-\d+/run-", cgroup.read()) and stat.read().rsplit(")",
                        1)[1].split()[0] != "Z":
                    found.append(int(pid))
        except OSError:
            pass
    return found


def stopped():
    slow = (CANDIDATE % (RIGHT, "PASS")).replace("    y = torch.empty_like(x)\n",
        "    import time\n    time.sleep(100)\n    y = torch.empty_like(x)\n")
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
    {"proven": proven, "claims": claims, "refused": refused, "stopped": stopped, "cheats": cheats, "weak": weak, "rules": rules, "engines": engines,
     "large": large}[case]()
    print("\n".join(failures) or f"{case}: held")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
