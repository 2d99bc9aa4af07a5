#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One race, three ways, on the same instant replies: wall, CPU, memory, and who is left alive.

    bench/race_bench.py [--workers 1,4,16,64] [--cases a,b,c,d] [--runs 5] [--kernelagent DIR] [--json FILE]

regatta: the one in build/release/bin, or in REGATTA_BIN_DIR. alternative: bench/process_per_worker.py (KernelAgent's way without its
libraries). kernelagent: the original, from a checkout given by --kernelagent (run with the same interpreter, which must
have its dependencies). The ways take turns within each run, so the machine's drift hits all of them; quoted are
medians and the ratio of medians. CPU is that of all reaped descendants; memory the largest sum of Pss seen over the
tree, sampled every 50 ms; survivors are candidate processes alive after the command has returned (they are then
killed by pid).
"""
import argparse
import json
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PYTHON = os.environ.get("REGATTA_PYTHON", sys.executable)
PROGRAMS = os.environ.get("REGATTA_BIN_DIR", os.path.join(ROOT, "build/release/bin"))
PROBLEM = os.path.join(ROOT, "examples", "toy", "moving_average.py")


def commands(way, workers, folder, kernelagent):
    if way == "regatta":
        return [os.path.join(PROGRAMS, "regatta"), "race", PROBLEM, "--workers", str(workers),
                "--provider", "openai", "--model", "instant", "--slots", str(max(workers, 2)), "--python", PYTHON,
                "--device", "cpu", "--accept", "claimed", "--state-dir", folder, "--events", "off", "--quiet"]
    if way == "alternative":
        return [PYTHON, os.path.join(ROOT, "bench/process_per_worker.py"), "--workers", str(workers), PROBLEM]
    return [PYTHON, "-m", "Fuser.cli", "run", "--problem", PROBLEM, "--model", "o4-mini", "--workers", str(workers),
            "--stream", "winner"]


def tree(pid, parents):
    out, todo = [], [pid]
    while todo:
        here = todo.pop()
        out.append(here)
        todo += parents.get(here, [])
    return out


def processes():
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as stat:
                    parents.setdefault(int(stat.read().rsplit(")", 1)[1].split()[1]), []).append(int(entry))
            except OSError:
                pass
    return parents


def pss(pid):
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rollup:
            return next(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0


def is_of(pid, root, seen):
    """Of this very race, and nobody else's on this machine: in the race's cgroup, or seen below its root."""
    try:
        with open(f"/proc/{pid}/cgroup", encoding="utf-8") as groups:
            return int(pid) in seen or f"/regatta-{root}-" in groups.read()
    except OSError:
        return False


def survivors(started, root, seen):
    ticks, found = os.sysconf("SC_CLK_TCK"), []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as cmdline, open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
                if (b"candidate_main.py" in cmdline.read() and int(fields[19]) / ticks >= started and fields[0] != "Z"
                        and is_of(entry, root, seen)):
                    found.append(int(entry))
        except (OSError, IndexError):
            pass
    return found


def measure(way, case, workers, kernelagent, has_sampler=True, answered=16):
    folder = tempfile.mkdtemp(prefix="regatta-bench-")
    server = subprocess.Popen([sys.executable, os.path.join(ROOT, "bench/instant_llm.py"), case, str(answered)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    port = server.stdout.readline().strip()
    # The program looks for its helpers there, too: of several folders only the one in turn.
    environment = dict(os.environ, REGATTA_BIN_DIR=PROGRAMS, OPENAI_BASE_URL=f"http://127.0.0.1:{port}", OPENAI_API_KEY="bench",
                       PYTHONPATH=kernelagent if way == "kernelagent" else "")
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with open("/proc/uptime", encoding="ascii") as uptime:
        boot = float(uptime.read().split()[0])
    child = subprocess.Popen(commands(way, workers, folder, kernelagent), cwd=folder, env=environment,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    peak, seen, stop = [0], set(), threading.Event()

    def sample():
        while not stop.wait(0.05):
            pids = tree(child.pid, processes())
            seen.update(pids)
            peak[0] = max(peak[0], sum(map(pss, pids)))

    # Reading smaps takes the locks that an ending process needs: not beside a measurement of how fast things end.
    sampler = threading.Thread(target=sample if has_sampler else lambda: None)
    sampler.start()
    output = child.communicate()[0]
    wall = time.monotonic() - begun
    stop.set()
    sampler.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    left = survivors(boot, child.pid, seen)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    server.stdin.close()
    server.wait()
    result = {"wall_s": wall, "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
              "peak_mib": peak[0] / 1024, "survivors": len(left), "exit": child.returncode}
    summary = next((os.path.join(at, "summary.json") for at, _, files in os.walk(folder) if "summary.json" in files), None)
    if way == "regatta" and summary:
        with open(summary, encoding="utf-8") as text:
            found = json.load(text)
        result.update(cancel_ms=found.get("cancel_ms"), quiet_ms=found.get("quiet_ms"))
    if child.returncode != 0:
        print(f"  {way} exited {child.returncode}: {output[-300:]!r}", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    return result


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--workers", default="1,4,16,64")
    options.add_argument("--cases", default="a,b,d")
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--kernelagent")
    options.add_argument("--json")
    chosen = options.parse_args()
    ways = ["regatta", "alternative"] + (["kernelagent"] if chosen.kernelagent else [])
    rows = []
    print("| case | workers | way | wall s | CPU s | peak MiB | survivors | × wall | × CPU |\n|---|---|---|---|---|---|---|---|---|")
    for case in chosen.cases.split(","):
        for workers in map(int, chosen.workers.split(",")):
            found = {way: [] for way in ways}
            for _ in range(chosen.runs):
                for way in ways:
                    found[way].append(measure(way, case, workers, chosen.kernelagent))
            middle = {way: {key: statistics.median(x[key] for x in runs) for key in ("wall_s", "cpu_s", "peak_mib", "survivors")}
                      for way, runs in found.items()}
            for way in ways:
                m, base = middle[way], middle["regatta"]
                print(f"| {case} | {workers} | {way} | {m['wall_s']:.2f} | {m['cpu_s']:.2f} | {m['peak_mib']:.0f} | "
                      f"{m['survivors']:.0f} | {m['wall_s'] / base['wall_s']:.1f} | {m['cpu_s'] / base['cpu_s']:.1f} |", flush=True)
            rows.append({"case": case, "workers": workers, "runs": found})
    if chosen.json:
        with open(chosen.json, "w", encoding="utf-8") as out:
            json.dump(rows, out, indent=1)


if __name__ == "__main__":
    main()
