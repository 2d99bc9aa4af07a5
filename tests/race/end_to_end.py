#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole races by the real program: end_to_end.py CASE. Exits 0 if all that is promised held; prints what did not.

    live       one worker per reply on a scripted HTTP server, both wires: a syntax error, a failure, then PASS, sent in
               awkward pieces
    cancel     16 slots; one worker passes while the others' candidates fork, ignore SIGTERM and leave their session, and
               two workers wait for a stream that stalls; a scan of /proc finds nothing afterwards
    replays    the toy recording twenty times with 1 slot and twenty times with 16: one winner
    killed     kill -9 of the program in mid-race: no candidate is left, and `list` says running before, killed after
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.environ["REGATTA_SOURCE_DIR"]
REGATTA = os.path.join(os.environ["REGATTA_BIN_DIR"], "regatta")
PYTHON = "/usr/bin/python3"
TOY = os.path.join(ROOT, "examples/toy/moving_average.py")
NAMES = "\nclass ModelNew: pass\ndef kernel_function(*inputs): pass\n"
FIERCE = """import os, signal, time
for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(name, signal.SIG_IGN)
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
        os.fork()
time.sleep(600)
"""
failures = []


def check(good, what):
    if not good:
        failures.append(what)


def block(code):
    return f"Here it is ✓\n```python\n{code}{NAMES}```\n"


class Imposter:
    def __init__(self, rules):
        self.script = tempfile.NamedTemporaryFile("w", suffix=".json")
        json.dump({"rules": rules}, self.script)
        self.script.flush()
        self.process = subprocess.Popen([PYTHON, os.path.join(ROOT, "tests/support/imposter/imposter.py"), self.script.name],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{self.process.stdout.readline().split()[1]}/v1"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def command(folder, *more):
    return [REGATTA, "race", TOY, "--python", PYTHON, "--device", "cpu", "--state-dir", folder, "--events", "off", *more]


def race(folder, *more, environment=None):
    done = subprocess.run(command(folder, *more), capture_output=True, text=True, timeout=120, cwd=folder,
                          env=dict(os.environ, **(environment or {})))
    found = [os.path.join(folder, x, "orchestrator/summary.json") for x in os.listdir(folder) if x.startswith("run_")]
    summary = json.load(open(max(found, key=os.path.getmtime), encoding="utf-8")) if found else {}
    return done, summary


def candidates_alive():
    """All of this machine but those that were there before this test (somebody else's races)."""
    alive = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as cmdline, open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
                if b"candidate_main.py" in cmdline.read() and stat.read().rsplit(")", 1)[1].split()[0] != "Z":
                    alive.append(int(pid))
        except OSError:
            pass
    return [pid for pid in alive if pid not in OTHERS]


OTHERS = set()


def live():
    for wire, provider, key in (("responses", "openai", "sk-canary-1"), ("chat", "chat", "sk-canary-2")):
        rules = [{"match": f"ATTEMPT: {k}", "steps": [{wire: {"text": block(code), "pieces": 40}}]}
                 for k, code in ((1, "print((\n"), (2, "raise SystemExit('mismatch')\n"), (3, "print('PASS')\n"))]
        with tempfile.TemporaryDirectory() as folder, Imposter(rules) as server:
            done, summary = race(folder, "--provider", provider, "--model", "some-model", "--workers", "2",
                                 environment={"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": key})
            check(done.returncode == 0, f"{wire}: exit {done.returncode}: {done.stderr[-400:]}")
            check(summary.get("winner_round") == 3, f"{wire}: {summary.get('winner_round')} is not round 3")
            check("claimed, not verified" in done.stdout, f"{wire}: the account does not say how much a win means")
            kept = subprocess.run(["grep", "-rl", key, folder], capture_output=True, text=True, check=False).stdout
            check(not kept and key not in done.stdout + done.stderr, f"{wire}: the key is in {kept or 'the output'}")


def cancel():
    rules = [{"times": 1, "steps": [{"responses": {"text": block("import time\ntime.sleep(2)\nprint('PASS')\n")}}]},
             {"times": 2, "steps": [{"text": ": nothing yet\n\n"}, {"stall": True}]}]
    rules += [{"times": 1, "steps": [{"responses": {"text": block(f"# {n}\n{FIERCE}")}}]} for n in range(15)]
    with tempfile.TemporaryDirectory() as folder, Imposter(rules) as server:
        done, summary = race(folder, "--provider", "openai", "--model", "m", "--workers", "18", "--slots", "16",
                             environment={"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k"})
        left = candidates_alive()
    check(done.returncode == 0, f"exit {done.returncode}: {done.stderr[-400:]}")
    check(not left, f"alive after the end: {left}")
    check(summary.get("unconfirmed_nodes") == [], "a node did not confirm")
    check(summary.get("cancel_ms") is not None and summary.get("quiet_ms") is not None, "times are missing")
    print("cancel_ms", summary.get("cancel_ms"), "quiet_ms", summary.get("quiet_ms"))


def replays():
    winners = set()
    for slots in ["1", "16"] * 20:
        with tempfile.TemporaryDirectory() as folder:
            done, summary = race(folder, "--replay", TOY.replace(".py", ".jsonl"), "--slots", slots, "--quiet")
            check(done.returncode == 0, f"exit {done.returncode}: {done.stderr[-400:]}")
            winners.add((summary.get("winner_worker_id"), summary.get("winner_round"), summary.get("winner_digest")))
    check(len(winners) == 1, f"winners differ: {winners}")


def listed(folder):
    return subprocess.run([REGATTA, "list", "--state-dir", folder], capture_output=True, text=True, check=False).stdout


def killed():
    with tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(folder, "fierce.jsonl")
        with open(recording, "w", encoding="utf-8") as out:
            out.write(json.dumps({"format": "regatta-recording/1", "workers": 4}) + "\n")
            for worker in range(1, 5):
                out.write(json.dumps({"worker": worker, "round": 1, "deltas": [block(f"# {worker}\n{FIERCE}")],
                                      "finish": "stop", "accepted": False}) + "\n")
        with subprocess.Popen(command(folder, "--replay", recording, "--slots", "4"), cwd=folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
            until = time.monotonic() + 30
            while len(candidates_alive()) < 12 and time.monotonic() < until:
                time.sleep(0.05)
            check(len(candidates_alive()) >= 12, "the candidates did not start")
            check(" running " in listed(folder), f"a live race is listed as {listed(folder)!r}")
            program.send_signal(signal.SIGKILL)
        until = time.monotonic() + 10
        while candidates_alive() and time.monotonic() < until:
            time.sleep(0.05)
        check(not candidates_alive(), f"left by a killed program: {candidates_alive()}")
        check("killed or crashed" in listed(folder), f"a killed race is listed as {listed(folder)!r}")


if __name__ == "__main__":
    OTHERS.update(candidates_alive())
    {"live": live, "cancel": cancel, "replays": replays, "killed": killed}[sys.argv[1]]()
    print("\n".join(failures) if failures else "all held")
    sys.exit(1 if failures else 0)
