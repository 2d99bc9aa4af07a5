#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 at random moments, then `regatta resume`: resume.py CASE. Exits 0 if all that is promised held.

    kills      REGATTA_KILLS (12) kills at moments drawn from REGATTA_SEED (printed), several in each race, until each race
               has come to its end: no evaluation that was told is lost or run again, no reply that was on disk is asked for
               again, nothing is left over, the winner is the one of a race that nobody killed, the books hold
    refusals   of two processes that resume one run one gets it; a run that is raced, that is won, that nobody knows
    stopped    a race that was stopped, and one whose rounds were spent, go on; of two with one race the second hears whose
               it is
    two        two races in one state folder at once
"""
import ctypes
import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.environ["REGATTA_SOURCE_DIR"]
REGATTA = os.path.join(os.environ["REGATTA_BIN_DIR"], "regatta")
PYTHON = "/usr/bin/python3"
TOY = os.path.join(ROOT, "examples/toy/moving_average.py")
NAMES = "\nclass ModelNew: pass\ndef kernel_function(*inputs): pass\n"
PR_SET_CHILD_SUBREAPER = 36
WORKERS, ROUNDS, BUDGET = 4, 5, 2000
INPUT_TOKENS, OUTPUT_TOKENS = 50, 30
# Per million tokens.
INPUT_PRICE, OUTPUT_PRICE = 1000, 2000
PAID = "('replied', 'truncated', 'empty', 'refused')"
failures = []


def check(good, what):
    if not good:
        failures.append(what)
        print("FAILED:", what, flush=True)


def block(code):
    return f"Here it is\n```python\n{code}{NAMES}```\n"


def fail(label, seconds=0.03):
    return block(f"# {label}\nimport time\ntime.sleep({seconds})\nraise SystemExit('mismatch in {label}')\n")


def reply(worker, number, last):
    """Worker 2 wins in the last round; the others send failures, repeat themselves and each other."""
    special = {(2, last): block("import time\ntime.sleep(0.05)\nprint('PASS')\n"), (2, 1): block("print((\n"),
               (1, 2): fail("shared"), (3, 2): fail("shared"), (3, 3): fail("3/1"), (4, 3): fail("1/1"),
               (1, 4): "I would rather not write a program."}
    return special.get((worker, number), fail(f"{worker}/{number}"))


class World:
    """A folder and a server; the server outlives every process that is killed."""

    def __init__(self, last=ROUNDS):
        self.folder = tempfile.TemporaryDirectory()
        self.state = os.path.join(self.folder.name, "state")
        self.scratch = os.path.join(self.folder.name, "tmp")
        os.mkdir(self.scratch)
        rules = [{"match": [f'"model":"w{worker}"', f"ATTEMPT: {number}\\n"],
                  "steps": [{"chat": {"text": reply(worker, number, last), "pieces": 4, "pause_ms": 8,
                                      "input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS}}]}
                 for worker in range(1, WORKERS + 1) for number in range(1, 10)]
        script = os.path.join(self.folder.name, "script.json")
        with open(script, "w", encoding="utf-8") as out:
            json.dump({"rules": rules}, out)
        self.server = subprocess.Popen([PYTHON, os.path.join(ROOT, "tests/support/imposter/imposter.py"), script],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = self.server.stdout.readline().split()[1]
        self.config = os.path.join(self.folder.name, "regatta.toml")
        with open(self.config, "w", encoding="utf-8") as out:
            out.write(f'[providers.imposter]\nkind = "chat"\nbase_url = "http://127.0.0.1:{self.port}/v1"\n'
                      f'max_output_tokens = 1000\n[providers.imposter.prices."*"]\ninput = {INPUT_PRICE}\n'
                      f"output = {OUTPUT_PRICE}\n")
        self.told = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.stdin.close()
        self.server.stdout.close()
        self.server.wait()
        self.folder.cleanup()

    def line(self, command, *more):
        # A file for the account of each process: those of the killed ones are what its user had been told.
        return [REGATTA, command, "--python", PYTHON, "--state-dir", self.state, "--events", "off", "--slots", "3",
                "--config", self.config, *more]

    def race(self, *more):
        return self.line("race", TOY, "--provider", "imposter", "--models", "w1,w2,w3,w4", "--workers", str(WORKERS),
                         "--max-iters", str(ROUNDS), "--device", "cpu", "--accept", "claimed", "--budget", str(BUDGET), *more)

    def start(self, line):
        self.told += 1
        account = open(os.path.join(self.folder.name, f"told_{self.told}"), "w", encoding="utf-8")
        errors = open(os.path.join(self.folder.name, f"errors_{self.told}"), "w", encoding="utf-8")
        environment = dict(os.environ, TMPDIR=self.scratch, XDG_RUNTIME_DIR=self.scratch, HOME=self.folder.name)
        with account, errors:
            return subprocess.Popen(line, stdout=account, stderr=errors, cwd=self.folder.name, env=environment)

    def run(self, line):
        process = self.start(line)
        return process.wait(timeout=60), self.read(f"told_{self.told}"), self.read(f"errors_{self.told}")

    def read(self, name):
        with open(os.path.join(self.folder.name, name), encoding="utf-8") as text:
            return text.read()

    def ask(self, sql, *values):
        path = os.path.join(self.state, "regatta.db")
        if not os.path.exists(path):
            return []
        # Not mode=ro: SQLite refuses it a WAL whose index a killed writer has left half-written.
        store = sqlite3.connect(f"file:{path}?mode=rw", uri=True, timeout=10)
        try:
            store.execute("PRAGMA query_only = ON")
            return store.execute(sql, values).fetchall()
        except sqlite3.OperationalError as error:
            # Killed before there were tables, or before they were of this version.
            if "no such " in str(error):
                return []
            raise
        finally:
            store.close()

    def races(self):
        return [row[0] for row in self.ask("SELECT race_id FROM races ORDER BY started_us")]

    def calls(self):
        """How often the server was asked, by worker and round."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/imposter/events", timeout=10) as answer:
            events = json.load(answer)
        out = {}
        for body in (json.loads(x["body"]) for x in events if x["event"] == "call"):
            text = body["messages"][-1]["content"]
            key = (int(body["model"][1:]), int(text.split("ATTEMPT: ", 1)[1].split("\n", 1)[0]))
            out[key] = out.get(key, 0) + 1
        return out

    def evaluations_told(self):
        """What the user of the last process had seen on its stdout."""
        out = set()
        for line in self.read(f"told_{self.told}").split("\n")[:-1]:
            x = json.loads(line) if line.startswith("{") else {}
            if x.get("kind") == "candidate_evaluated" and x["result"]["outcome"] not in ("sandbox_failed", "cancelled"):
                out.add((x["worker"], x["round"], x["digest"]))
        return out

    def evaluations(self):
        return self.ask("SELECT worker_id, round, digest, count(*), max(seq) FROM evaluations "
                        "WHERE outcome NOT IN ('sandbox_failed', 'cancelled') GROUP BY 1, 2, 3")

    def paid(self):
        rows = self.ask(f"SELECT worker_id, round FROM llm_calls WHERE is_answer AND outcome IN {PAID}")
        return {(int(worker[-2:]), number) for worker, number in rows}


def orphans(world):
    """Whatever a killed process leaves behind comes to us; those that are gone are buried on the way."""
    alive = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
                state, parent = stat.read().rsplit(")", 1)[1].split()[:2]
            if int(parent) != os.getpid() or int(pid) == world.server.pid:
                continue
            if state == "Z":
                os.waitpid(int(pid), os.WNOHANG)
            else:
                with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as line:
                    alive.append(f"{pid}: {line.read()}")
        except (OSError, ValueError):
            pass
    return alive


def nobody_left(world, when):
    until = time.monotonic() + 5
    while (left := orphans(world)) and time.monotonic() < until:
        time.sleep(0.01)
    check(not left, f"left over {when}: {left}")


def dead_groups():
    out = set()
    for root, folders, _ in os.walk("/sys/fs/cgroup"):
        for name in folders:
            parts = name.split("-")
            if parts[0] == "regatta" and len(parts) >= 3 and parts[1].isdigit() and not os.path.exists(f"/proc/{parts[1]}"):
                out.add(os.path.join(root, name))
    return out


class Promises:
    """What the record held after each kill must hold ever after."""

    def __init__(self, world):
        self.world = world
        self.evaluations = {}
        self.asked = {}
        self.last_seq = 0

    def hold(self, when):
        now = {(worker, number, digest): seq for worker, number, digest, _, seq in self.world.evaluations()}
        twice = [row for row in self.world.evaluations() if row[3] != 1]
        check(not twice, f"{when}: evaluated twice: {twice}")
        check(all(now.get(key) == seq for key, seq in self.evaluations.items()), f"{when}: an evaluation is lost")
        rerun = self.world.ask("SELECT json_extract(body, '$.worker'), json_extract(body, '$.round') FROM events "
                               "WHERE kind = 'worker_moved' AND json_extract(body, '$.phase') = 'evaluating' AND seq > ?",
                               self.last_seq)
        done = {key[:2] for key in self.evaluations}
        check(not done & set(rerun), f"{when}: run again: {done & set(rerun)}")
        calls = self.world.calls()
        again = [key for key, count in self.asked.items() if calls.get(key, 0) != count]
        check(not again, f"{when}: asked for again: {again}")

    def note(self, when):
        self.hold(when)
        lost = self.world.evaluations_told() - {row[:3] for row in self.world.evaluations()}
        check(not lost, f"{when}: told and lost: {lost}")
        self.evaluations = {(worker, number, digest): seq for worker, number, digest, _, seq in self.world.evaluations()}
        calls = self.world.calls()
        self.asked = {key: calls.get(key, 0) for key in self.world.paid()}
        self.last_seq = max([row[0] for row in self.world.ask("SELECT max(seq) FROM events") if row[0]], default=0)


def check_books(world, race):
    calls = sum(world.calls().values())
    bill = calls * (INPUT_TOKENS * INPUT_PRICE + OUTPUT_TOKENS * OUTPUT_PRICE) / 1e6
    rows, lost, withdrawn, cost, still_open = world.ask(
        "SELECT count(*), sum(outcome = 'lost_in_flight'), sum(outcome = 'cancelled'), sum(cost), sum(closed_us IS NULL) "
        "FROM llm_calls WHERE race_id = ?", race)[0]
    # What was lost or withdrawn may not have got as far as the server.
    check(rows - lost - withdrawn <= calls <= rows, f"{calls} calls at the server; in the ledger {rows}, {lost} of them "
                                                    f"lost, {withdrawn} withdrawn")
    check(cost / 1e9 >= bill - 1e-6, f"recorded {cost / 1e9}, the server bills {bill}")
    check(cost / 1e9 <= BUDGET, f"recorded {cost / 1e9}, allowed {BUDGET}")
    check(still_open == 0, f"{still_open} calls are still open")
    told = world.ask("SELECT cost, lost_in_flight, resumes FROM races WHERE race_id = ?", race)[0]
    check(told[:2] == (cost, lost), f"the race says {told}, the ledger {(cost, lost)}")
    return lost


def kills():
    seed = int(os.environ.get("REGATTA_SEED", random.SystemRandom().randrange(1_000_000)))
    left = int(os.environ.get("REGATTA_KILLS", "12"))
    print("REGATTA_SEED", seed, flush=True)
    draw = random.Random(seed)
    groups = dead_groups()
    begin, done, races, lost, known_replies = time.monotonic(), 0, 0, 0, 0
    while left > 0:
        races += 1
        with World() as world:
            promises, code, spared = Promises(world), None, draw.randrange(1, 7)
            while code is None:
                known = world.races()
                line = world.line("resume", known[-1], "--json") if known else world.race("--json")
                process = world.start(line)
                moment = draw.uniform(0.02, 1.2) if left > 0 and spared > 0 else 60
                try:
                    code = process.wait(timeout=moment)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                    left, spared, done = left - 1, spared - 1, done + 1
                    when = f"seed {seed}, kill {done} ({'resumed' if known else 'first'} after {moment:.3f} s)"
                    nobody_left(world, when)
                    promises.note(when)
            when = f"seed {seed}, race {races}"
            check(code == 0, f"{when}: exit {code}: {world.read(f'errors_{world.told}')[-600:]}")
            nobody_left(world, when)
            promises.hold(when)
            race = world.races()[-1]
            end = world.ask("SELECT end, winner_worker, winner_round FROM races WHERE race_id = ?", race)
            check(end == [("won", "worker_02", ROUNDS)], f"{when}: ended as {end}")
            lost += check_books(world, race)
            known_replies += world.ask("SELECT count(*) FROM events WHERE kind = 'reply_ended' AND "
                                       "json_extract(body, '$.is_known')")[0][0]
            check(os.path.exists(os.path.join(world.state, race, "result.tar.gz")), f"{when}: no result.tar.gz")
            check_leftovers(world, when)
        if failures:
            break
    until = time.monotonic() + 5
    while dead_groups() - groups and time.monotonic() < until:
        time.sleep(0.1)
    check(not dead_groups() - groups, f"groups are left: {dead_groups() - groups}")
    print(f"{done} kills in {races} races, {time.monotonic() - begin:.1f} s: {lost} calls lost in flight, {known_replies} "
          "replies known")
    check(done < 12 or (lost > 0 and known_replies > 0), "no kill hit a race in its course: this test has seen nothing")


def check_leftovers(world, when):
    left = [os.path.join(root, name) for root, _, files in os.walk(world.scratch) for name in files]
    sockets = [name for name in os.listdir(world.scratch) if name.endswith(".sock")]
    check(not left and not sockets, f"{when}: files are left: {left + sockets}")
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        check(world.folder.name not in mounts.read(), f"{when}: a mount is left")


def killed_race(world, after=0.7):
    process = world.start(world.race())
    until = time.monotonic() + 20
    while not world.evaluations() and time.monotonic() < until:
        time.sleep(0.02)
    process.kill()
    process.wait()
    nobody_left(world, "after the kill")
    return world.races()[-1]


def spoil(world):
    """A rollback journal that the next one who opens the store has to play back: so SQLite leaves it on network folders."""
    code = (f"import os, sqlite3\nc = sqlite3.connect({os.path.join(world.state, 'regatta.db')!r}, isolation_level=None)\n"
            "for x in ('PRAGMA journal_mode = DELETE', 'PRAGMA cache_size = 5', 'BEGIN', 'CREATE TABLE x(y)'):\n    c.execute(x)\n"
            "for _ in range(3000):\n    c.execute('INSERT INTO x VALUES(?)', ('y' * 500,))\nos.kill(os.getpid(), 9)\n")
    subprocess.run([PYTHON, "-c", code], check=False)
    check(os.path.exists(os.path.join(world.state, "regatta.db-journal")), "the writer left no journal")


def refusals():
    with World() as world:
        race = killed_race(world)
        listed = subprocess.run(world.line("list")[:2] + ["--state-dir", world.state], capture_output=True, text=True, check=False)
        check("killed or crashed" in listed.stdout and "regatta resume" in listed.stderr, f"list says {listed}")
        code, _, errors = world.run(world.line("resume", "run_none"))
        check(code == 1 and "run_none" in errors, f"an unknown run: {code} {errors}")
        code, _, errors = world.run(world.line("resume", race, "--max-iters", "1"))
        check(code == 2 and "allowed: 5" in errors, f"fewer rounds: {code} {errors}")
        # Both look before either has it; one of them must lose the race for the owner's row.
        both = [world.start(world.line("resume", race, "--quiet")) for _ in range(2)]
        numbers = [world.told - 1, world.told]
        codes = [process.wait(timeout=60) for process in both]
        errors = [world.read(f"errors_{number}") for number in numbers]
        check(sorted(codes) == [0, 1], f"two at once: {codes} {errors}")
        loser = errors[codes.index(1)] if 1 in codes else ""
        check("is run by pid" in loser or "gone on with it" in loser, f"the loser says {loser}")
        winner = world.read(f"told_{numbers[codes.index(0)]}") if 0 in codes else ""
        check("Resumed: " in winner and "on record" in winner, f"the account says {winner}")
        code, _, errors = world.run(world.line("resume", race))
        check(code == 0 and "won already" in errors and "worker_02" in errors, f"a won race: {code} {errors}")
        spoil(world)
        code, told, errors = world.run([REGATTA, "list", "--state-dir", world.state])
        check(code == 0 and race in told, f"a store whose writer was killed within a transaction: {code} {errors}")
        nobody_left(world, "in the end")


def stopped():
    with World(last=7) as world:
        # Five rounds are spent without a winner; two more bring one.
        code, _, errors = world.run(world.race("--quiet"))
        check(code == 4, f"exit {code}: {errors[-400:]}")
        race = world.races()[-1]
        calls = world.calls()
        code, _, errors = world.run(world.line("resume", race, "--quiet"))
        check(code == 4 and "--max-iters" in errors and world.calls() == calls, f"spent: exit {code}: {errors[-400:]}")
        process = world.start(world.line("resume", race, "--quiet", "--max-iters", "7"))
        while max(number for _, number in world.calls()) < 6:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        check(process.wait(timeout=30) == 5, f"Ctrl-C: {world.read(f'errors_{world.told}')[-400:]}")
        code, told, errors = world.run(world.line("resume", race[:20], "--quiet"))
        check(code == 0 and "worker_02 in round 7" in told, f"exit {code}: {errors[-400:]} {told[-600:]}")
        check(world.calls().get((1, 5)) == 1, "a round that was over was asked for again")
        claims(world)
        nobody_left(world, "in the end")


OWNER = "owner_pid, owner_start_ticks, owner_boot_id, owner_host, owner_heartbeat_us, ended_us, end, reason"


def claims(world):
    """Whoever comes second hears whose the race is, and not which socket is taken; a claim that leads to nothing is undone."""
    line = world.race("--quiet")
    line[line.index("--max-iters") + 1] = "1"
    code, _, errors = world.run(line)
    check(code == 4, f"one round: exit {code}: {errors[-400:]}")
    race = world.races()[-1]
    line = [x for x in world.line("resume", race, "--max-iters", "2") if x not in ("--events", "off")]
    before = world.ask(f"SELECT {OWNER} FROM races WHERE race_id = ?", race)[0]
    # As if another process had claimed it a moment ago: its first event is not there yet, its socket is.
    with open("/proc/self/stat", encoding="ascii") as stat:
        ticks = int(stat.read().rsplit(")", 1)[1].split()[19])
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as boot:
        mine = (os.getpid(), ticks, boot.read().strip(), socket.gethostname(), time.time_ns() // 1000, None, None, None)
    folder = os.path.join(world.scratch, "regatta/events")
    os.makedirs(folder, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as taken:
        taken.bind(os.path.join(folder, race + ".sock"))
        taken.listen()
        own(world, race, mine)
        code, _, errors = world.run(line)
        check(code == 1 and f"is run by pid {os.getpid()} on" in errors, f"the second one: exit {code}: {errors[-400:]}")
        own(world, race, before)
    os.unlink(os.path.join(folder, race + ".sock"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, _, errors = world.run([*line, "--events", f"tcp://127.0.0.1:{taken.getsockname()[1]}"])
        check(code == 2 and "--events" in errors, f"a port that is taken: exit {code}: {errors[-400:]}")
    after = world.ask(f"SELECT {OWNER} FROM races WHERE race_id = ?", race)[0]
    check(after[5:] == before[5:], f"a claim was not undone: {before} {after}")


def own(world, race, values):
    store = sqlite3.connect(os.path.join(world.state, "regatta.db"), timeout=10)
    with store:
        store.execute(f"UPDATE races SET ({OWNER}) = ({', '.join('?' * len(values))}) WHERE race_id = ?", (*values, race))
    store.close()


def two():
    with World() as world:
        both = [world.start(world.race("--quiet")) for _ in range(2)]
        codes = [process.wait(timeout=60) for process in both]
        errors = [world.read(f"errors_{number}")[-300:] for number in (world.told - 1, world.told)]
        check(codes == [0, 0], f"exit {codes}: {errors}")
        ends = world.ask("SELECT end, winner_worker FROM races")
        check(ends == [("won", "worker_02")] * 2, f"ended as {ends}")
        check(len(set(world.races())) == 2, "two races, two ids")
        nobody_left(world, "in the end")


if __name__ == "__main__":
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    {"kills": kills, "refusals": refusals, "stopped": stopped, "two": two}[sys.argv[1]]()
    print("\n".join(failures) if failures else "all held")
    sys.exit(1 if failures else 0)
