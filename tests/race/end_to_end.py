#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole races by the real program: end_to_end.py CASE. Exits 0 if all that is promised held; prints what did not.

    live       one worker per reply on a scripted HTTP server, both wires: a syntax error, a failure, then PASS, sent in
               awkward pieces
    cancel     16 slots; one worker passes while the others' candidates fork, ignore SIGTERM and leave their session, and
               two workers wait for a stream that stalls; a scan of /proc finds nothing afterwards
    replays    the toy recording twenty times with 1 slot and twenty times with 16: one winner
    killed     kill -9 of the program in mid-race: no candidate is left; `list` says running before, killed after, and
               `cancel` knows of no running race
    field      one race with what others' sweeps broke on: a silent failure, a candidate that kills its parent, a pipe held
               open, a reply without code, a shell snippet before the program (docs/field-failures.md: B29, B32, B47, H112,
               H113)
    level      a sandbox weaker than asked for is refused before a model is asked: exit 7
    secrets    while a race runs, no process of this machine has a key among its arguments, and none but the program itself in
               its environment: neither candidates nor what runs them nor a `--command` program (G110)
    leftovers  kill -9 while programs are asked: `gc` removes the folders that they ran in, and none of a live program
    babbler    a program that prints 100 MB for a reply is killed at the cap, asked as often as allowed, and its end is not
               stored
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
    return [REGATTA, "race", TOY, "--python", PYTHON, "--device", "cpu", "--state-dir", folder, "--events", "off",
            "--accept", "claimed", *more]


def race(folder, *more, environment=None):
    done = subprocess.run(command(folder, *more), capture_output=True, text=True, timeout=120, cwd=folder,
                          env=dict(os.environ, **(environment or {})))
    found = [os.path.join(folder, x, "orchestrator/summary.json") for x in os.listdir(folder) if x.startswith("run_")]
    summary = json.load(open(max(found, key=os.path.getmtime), encoding="utf-8")) if found else {}
    return done, summary


def is_candidate(pid):
    """By its command line, or, as a warm one has its parent's, by the cgroup of a run; pid 1 of a run and the syntax
    checker are none."""
    with open(f"/proc/{pid}/cmdline", "rb") as cmdline:
        arguments = cmdline.read()
    with open(f"/proc/{pid}/cgroup", encoding="utf-8") as cgroup, open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as status:
        in_a_run = re.search(r"/regatta-\d+-\d+-\d+/run-\d+", cgroup.read()) is not None
        is_first = re.search(r"^NSpid:.*\t1$", status.read(), re.MULTILINE) is not None
    return b"candidate_main.py" in arguments or (in_a_run and not is_first and b"source_check.py" not in arguments)


def candidates_alive():
    """All of this machine but those that were there before this test (somebody else's races)."""
    alive = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
                if stat.read().rsplit(")", 1)[1].split()[0] != "Z" and is_candidate(pid):
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


def bytes_of(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", "rb") as text:
            return text.read()
    except OSError:
        return b""


def watch_processes(program, key, before):
    """Until `program` ends: who has the key where, and how many candidates and others were looked at."""
    told, looked_at = set(), {"candidates": set(), "others": set(), "own": 0}
    while program.poll() is None:
        for pid in set(filter(str.isdigit, os.listdir("/proc"))) - before:
            arguments, variables = bytes_of(pid, "cmdline"), bytes_of(pid, "environ")
            try:
                # A child between fork and exec is the program still.
                is_own = os.path.samefile(f"/proc/{pid}/exe", REGATTA)
            except OSError:
                continue
            if key in arguments:
                told.add(f"the arguments of {arguments!r}")
            if is_own:
                looked_at["own"] += key in variables
            elif variables:
                # A warm one is a fork of the interpreter that waits for it.
                is_candidate = b"candidate_main.py" in arguments or b"zygote.py" in arguments
                looked_at["candidates" if is_candidate else "others"].add(pid)
                if key in variables:
                    told.add(f"the environment of {arguments!r}")
        time.sleep(0.005)
    return told, looked_at


def secrets():
    key = "sk-canary-" + os.urandom(8).hex()
    talk = "import os, sys, time\nprint(dict(os.environ), sys.argv)\ntime.sleep(1)\n"
    rules = [{"match": f"ATTEMPT: {k}", "steps": [{"chat": {"text": block(f"{talk}{code}")}}]}
             for k, code in ((1, "raise SystemExit('mismatch')\n"), (2, "print('PASS')\n"))]
    with tempfile.TemporaryDirectory() as folder, Imposter(rules) as server:
        agent = os.path.join(folder, "agent.py")
        with open(agent, "w", encoding="utf-8") as out:
            out.write(f"import sys, time\nsys.stdin.read()\ntime.sleep(1)\nprint({block(talk + 'print(chr(80) + chr(65) + 2 * chr(83))')!r})\n")
        for name, more in (("HTTP", ["--provider", "chat", "--model", "m"]), ("command", ["--command", f"{PYTHON} {agent}"])):
            before = set(filter(str.isdigit, os.listdir("/proc")))
            with subprocess.Popen(command(folder, "--workers", "2", "--slots", "2", "--quiet", *more), cwd=folder,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  env=dict(os.environ, OPENAI_BASE_URL=server.url, OPENAI_API_KEY=key)) as program:
                told, looked_at = watch_processes(program, key.encode(), before)
                check(program.returncode == 0, f"{name}: exit {program.returncode}: {program.stderr.read()[-400:]}")
            check(not told, f"{name}: the key is in {sorted(told)}")
            check(looked_at["candidates"] and looked_at["others"] and looked_at["own"], f"{name}: looked at {looked_at}")
            print(name, {what: len(pids) if isinstance(pids, set) else pids for what, pids in looked_at.items()})
        kept = subprocess.run(["grep", "-rl", key, folder], capture_output=True, text=True, check=False).stdout
        check(not kept, f"the key is in {kept}")


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


def recording(folder, replies):
    """`replies`: (worker, round, text, can it win)."""
    path = os.path.join(folder, "recording.jsonl")
    with open(path, "w", encoding="utf-8") as out:
        out.write(json.dumps({"format": "regatta-recording/1", "workers": max(reply[0] for reply in replies)}) + "\n")
        for worker, number, text, is_accepted in replies:
            out.write(json.dumps({"worker": worker, "round": number, "deltas": [text], "finish": "stop",
                                  "accepted": is_accepted}) + "\n")
    return path


def evaluations(folder, worker):
    found = []
    for root, _, files in os.walk(folder):
        if f"/workers/{worker}/" in root + "/" and "evaluation.json" in files:
            with open(os.path.join(root, "evaluation.json"), encoding="utf-8") as record:
                found.append(json.load(record))
    return found


def field():
    killer = "import os, signal\nfor pid in (os.getppid(), 1, -1):\n    try:\n        os.kill(pid, signal.SIGKILL)\n" \
             "    except OSError: pass\nraise SystemExit('still here')\n"
    holder = "import subprocess\nsubprocess.Popen(['/bin/sleep', '600'])\nraise SystemExit('left a child')\n"
    late = block("import time\ntime.sleep(3)\nprint('PASS')\n")
    with tempfile.TemporaryDirectory() as folder:
        replies = [(1, 1, block("import os\nos._exit(3)\n"), False), (2, 1, block(killer), False),
                   (3, 1, block(holder), False), (4, 1, "I cannot help with that.", False),
                   (4, 2, "First run\n```bash\npip install triton\n```\n" + late, True)]
        done, summary = race(folder, "--replay", recording(folder, replies), "--workers", "4", "--slots", "4")
        records = {worker: evaluations(folder, f"worker_0{worker}") for worker in (1, 2, 3, 4)}
    check(done.returncode == 0, f"exit {done.returncode}: {done.stderr[-400:]}")
    check((summary.get("winner_worker_id"), summary.get("winner_round")) == ("worker_04", 2), f"winner: {summary}")
    check([x["exit_code"] for x in records[1]] == [3], f"the silent failure is recorded as {records[1]}")
    for worker, word in ((2, "still here"), (3, "left a child")):
        check([x["exit_code"] for x in records[worker]] == [1] and word in done.stdout, f"worker {worker}: {records[worker]}")
    check(all(x["elapsed"] < 60_000_000 for x in records[3]), "whoever held the pipe held the run")
    check("no_code" in done.stdout, f"a reply without code has no name: {done.stdout}")


def level():
    weaker = ["unshare", "-m", "sh", "-c", "mount -t tmpfs none /sys/fs/cgroup && exec \"$@\"", "sh"]
    can_weaken = subprocess.run([*weaker, "true"], capture_output=True, check=False).returncode == 0
    with tempfile.TemporaryDirectory() as folder:
        asked = os.path.join(folder, "asked")
        state = os.path.join(folder, "state")
        line = command(state, "--command", f"touch {asked}", "--require-level", "L4")
        done = subprocess.run([*weaker, *line] if can_weaken else line, capture_output=True, text=True, timeout=60, check=False)
        check(done.returncode == 7, f"exit {done.returncode}: {done.stderr[-400:]}")
        check("found, L4 required" in done.stderr, done.stderr)
        check(not os.path.exists(asked), "a model was asked")
        check(not os.path.exists(state), "a state folder was made")


def babbler():
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "babbler.sh")
        with open(program, "w", encoding="utf-8") as out:
            out.write(f"#!/bin/sh\necho x >> {folder}/asked\nyes | head -c 100000000\necho whole >> {folder}/whole\n")
        os.chmod(program, 0o700)
        begin = time.monotonic()
        done, summary = race(folder, "--workers", "1", "--rounds", "1", "--command", program)
        wall = time.monotonic() - begin
        asked = len(open(os.path.join(folder, "asked"), encoding="utf-8").readlines())
        # What was streamed was streamed, up to the cap; the transcripts of it are no place to save.
        size = sum(os.path.getsize(os.path.join(root, name)) for root, _, files in os.walk(folder) for name in files
                   if "stream" not in name)
        was_heard_out = os.path.exists(os.path.join(folder, "whole"))
    check(done.returncode == 3, f"exit {done.returncode}: {done.stderr[-400:]}")
    check("malformed: the program printed more than 4194304 bytes" in summary.get("reason", ""), summary.get("reason"))
    # messages/limits.hpp, attempts_per_round: what a failed reply of any kind gets.
    check(asked == 3, f"asked {asked} times")
    check(not was_heard_out, "the program ran on after the cap")
    # Three replies of at most 64 KiB, in the store's file, in its journal and in a file, beside the prompts.
    check(size < 4_000_000, f"{size} bytes of it were kept")
    print(f"{wall:.1f} s in all, {summary['elapsed_ms'] / 1000:.1f} s of them the race")


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
            # Before anybody has waited for it: the kernel may still be taking it down.
            told = subprocess.run([REGATTA, "cancel", "latest", "--state-dir", folder], capture_output=True, text=True, check=False)
            check(told.returncode == 1 and "running: none" in told.stderr, f"cancel of a killed race: {told.stderr!r}")
        until = time.monotonic() + 10
        while candidates_alive() and time.monotonic() < until:
            time.sleep(0.05)
        check(not candidates_alive(), f"left by a killed program: {candidates_alive()}")
        check("killed or crashed" in listed(folder), f"a killed race is listed as {listed(folder)!r}")


def leftovers():
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as scratch:
        environment = dict(os.environ, TMPDIR=scratch)

        def folders():
            return [os.path.join(scratch, x) for x in os.listdir(scratch) if x.startswith("regatta-command-")]

        with subprocess.Popen(command(folder, "--command", "sleep 600", "--workers", "2"), cwd=folder, env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
            until = time.monotonic() + 30
            while len(folders()) < 2 and time.monotonic() < until:
                time.sleep(0.05)
            collect = [REGATTA, "gc", "--state-dir", folder]
            for path in folders():
                os.utime(path, (0, 0))
            told = subprocess.run(collect, capture_output=True, text=True, env=environment, check=False)
            check("removed 0 races and 0 leftovers" in told.stdout and len(folders()) == 2, f"while it runs: {told}")
            program.send_signal(signal.SIGKILL)
        check(len(folders()) == 2, f"left by a killed program: {folders()}")
        told = subprocess.run(collect, capture_output=True, text=True, env=environment, check=False)
        # And the race's control socket.
        check("removed 0 races and 3 leftovers" in told.stdout and not folders(), f"after the kill: {told} {folders()}")


if __name__ == "__main__":
    OTHERS.update(candidates_alive())
    {"live": live, "secrets": secrets, "cancel": cancel, "replays": replays, "killed": killed, "field": field,
     "level": level, "babbler": babbler, "leftovers": leftovers}[sys.argv[1]]()
    print("\n".join(failures) if failures else "all held")
    sys.exit(1 if failures else 0)
