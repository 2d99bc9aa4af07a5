#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""KernelAgent's way of racing, reduced to its structure: the named alternative of bench/race_bench.py.

A fresh Python process per worker (spawn), one streamed Responses call per round, a fresh Python process per candidate
in a session of its own whose end is polled every 0.1 s; the first PASS goes into a queue of one; the others get
SIGTERM, five seconds to join, then SIGKILL. Without KernelAgent's LLM libraries, whose import alone costs each worker
one to three CPU seconds: what this program measures is a lower bound of that design.

    process_per_worker.py --workers N --max-iters K PROBLEM.py      (OPENAI_BASE_URL names the server)
"""
import argparse
import json
import multiprocessing
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request


def ask(prompt):
    body = json.dumps({"model": "instant", "stream": True, "input": [{"role": "user", "content": prompt}]}).encode()
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/responses", body,
                                     {"Content-Type": "application/json"})
    text = ""
    with urllib.request.urlopen(request, timeout=120) as stream:
        for line in stream:
            if line.startswith(b"data: "):
                event = json.loads(line[6:])
                if event.get("type") == "response.output_text.delta":
                    text += event["delta"]
    return text


def run(code, folder, cancelled):
    path = os.path.join(folder, "candidate_main.py")
    with open(path, "w", encoding="utf-8") as out:
        out.write(code)
    with open(os.path.join(folder, "stdout.txt"), "wb") as out, open(os.path.join(folder, "stderr.txt"), "wb") as err:
        child = subprocess.Popen([sys.executable, "-u", path], cwd=folder, stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=err, start_new_session=True, env={"PATH": os.environ["PATH"]})
        while True:
            try:
                status = child.wait(timeout=0.1)
                break
            except subprocess.TimeoutExpired:
                if cancelled.is_set():
                    os.killpg(child.pid, signal.SIGTERM)
    with open(os.path.join(folder, "stdout.txt"), encoding="utf-8", errors="replace") as out:
        return status == 0 and re.search(r"\bPASS\b", out.read()) is not None


def work(number, rounds, problem, winner, cancelled):
    for k in range(1, rounds + 1):
        if cancelled.is_set():
            return
        reply = ask(f"ATTEMPT: {k}\nPROBLEM_FILE_CONTENT:\n{problem}")
        code = re.findall(r"^```python\n([\s\S]*?)^```", reply, re.M)[-1]
        with tempfile.TemporaryDirectory() as folder:
            if run(code, folder, cancelled):
                try:
                    winner.put({"worker": number, "round": k}, timeout=0.1)
                except queue.Full:
                    pass
                return


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--workers", type=int, default=4)
    options.add_argument("--max-iters", type=int, default=10)
    options.add_argument("problem")
    chosen = options.parse_args()
    with open(chosen.problem, encoding="utf-8") as source:
        problem = source.read()
    context = multiprocessing.get_context("spawn")
    winner, cancelled = context.Queue(1), context.Event()
    workers = [context.Process(target=work, args=(i, chosen.max_iters, problem, winner, cancelled))
               for i in range(chosen.workers)]
    for worker in workers:
        worker.start()
    won = None
    while won is None and any(worker.is_alive() for worker in workers):
        try:
            won = winner.get(timeout=0.1)
        except queue.Empty:
            pass
    decided = time.monotonic()
    cancelled.set()
    for worker in workers:
        if worker.is_alive():
            worker.terminate()
    for worker in workers:
        worker.join(5.0)
        if worker.is_alive():
            worker.kill()
            worker.join(1.0)
    print(json.dumps({"winner": won, "decided_to_end_s": time.monotonic() - decided}))
    sys.exit(0 if won else 4)


if __name__ == "__main__":
    main()
