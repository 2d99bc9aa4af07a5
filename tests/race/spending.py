#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Budgets, fallback models and dead servers, by the real program: spending.py CASE. Exits 0 if all held.

    budget     a race whose models never succeed ends with exit 8; what it booked lies between what the server would bill
               and the budget (docs/field-failures.md: G107)
    unpriced   a budget in money without prices is refused before anything is asked: exit 2
    fallback   a model that is gone (404) is asked once and left for the next, in the same round
    dead       forty workers and a server that hangs up: few connections, exit 3, and no round is used up (G104, G106)
    lying      usage above what was allowed stops the provider
"""
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import end_to_end as house
from end_to_end import check

PRICES = {"input": 1, "output": 10}


def configure(folder, url, more="", prices=True):
    table = "[providers.p]\nkind = \"chat\"\nbase_url = \"%s\"\nmodel = \"first\"\nmax_output_tokens = 1000\n%s\n" % (url, more)
    if prices:
        table += "[providers.p.prices.\"*\"]\ninput = %d\noutput = %d\n" % (PRICES["input"], PRICES["output"])
    with open(os.path.join(folder, "regatta.toml"), "w", encoding="utf-8") as out:
        out.write(table)


def told(folder):
    line = [house.REGATTA, "show", "latest", "--json", "--state-dir", folder]
    return json.loads(subprocess.run(line, capture_output=True, text=True, check=True).stdout)


def calls(server):
    with urllib.request.urlopen(server.url.replace("/v1", "/imposter/events"), timeout=10) as events:
        return [x for x in json.load(events) if x["event"] == "call"]


def failing_replies(count, **usage):
    return [{"times": 1, "steps": [{"chat": {"text": house.block(f"raise SystemExit('no {n}')\n"), **usage}}]}
            for n in range(count)]


def budget():
    rules = failing_replies(80, input_tokens=3000, output_tokens=500)
    with tempfile.TemporaryDirectory() as folder, house.Imposter(rules) as server:
        configure(folder, server.url)
        done, summary = house.race(folder, "--workers", "8", "--budget", "0.1")
        race = told(folder)["race"]
        bill = len(calls(server)) * (3000 * PRICES["input"] + 500 * PRICES["output"]) * 1000
    check(done.returncode == 8, f"exit {done.returncode}: {done.stderr[-400:]}")
    check("budget" in summary.get("reason", ""), f"reason: {summary.get('reason')}")
    check(0 < bill <= race["cost_nano"] <= 100_000_000, f"bill {bill}, booked {race['cost_nano']}")
    check(race["budget_nano"] == 100_000_000, f"budget {race['budget_nano']}")
    check(" of 0.10 USD: " in done.stdout, done.stdout[-600:])


def unpriced():
    with tempfile.TemporaryDirectory() as folder, house.Imposter([]) as server:
        configure(folder, server.url, prices=False)
        done, _ = house.race(folder, "--budget", "1")
        asked = calls(server)
    check(done.returncode == 2, f"exit {done.returncode}: {done.stderr[-400:]}")
    check('add [providers.p.prices."first"]' in done.stderr, done.stderr)
    check(not asked, f"asked: {asked}")


def fallback():
    gone = {"match": "\"first\"", "status": 404, "headers": {"content-type": "application/json"},
            "steps": [{"text": json.dumps({"error": {"message": "no such model", "code": "model_not_found"}})}]}
    with tempfile.TemporaryDirectory() as folder, \
            house.Imposter([gone, {"steps": [{"chat": {"text": house.block("print('PASS')\n")}}]}]) as server:
        configure(folder, server.url, "concurrency = 1\n")
        done, summary = house.race(folder, "--workers", "4", "--fallback-model", "p:second")
        refused = [x for x in calls(server) if "\"first\"" in x["body"]]
    check(done.returncode == 0, f"exit {done.returncode}: {done.stderr[-400:]}")
    check(summary.get("winner_round") == 1, f"a round was used up: {summary.get('winner_round')}")
    check(len(refused) == 1, f"the model that is gone was asked {len(refused)} times")


class Hangup:
    """Takes connections and closes them; counts them."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/v1"
        self.connections = 0
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            peer, _ = self.socket.accept()
            self.connections += 1
            peer.close()


def dead():
    server = Hangup()
    with tempfile.TemporaryDirectory() as folder:
        configure(folder, server.url, "backoff_cap_s = 2\n")
        begin = time.monotonic()
        done, summary = house.race(folder, "--workers", "40")
        record = told(folder)
    check(done.returncode == 3, f"exit {done.returncode}: {done.stderr[-400:]}")
    check(all(x["round"] == 1 for x in record["workers"]), "a round was used up")
    # Three waves until it counts as down, five probes, and one for each further attempt.
    check(40 <= server.connections <= 3 * 40 + 20, f"{server.connections} connections")
    print(f"{server.connections} connections in {time.monotonic() - begin:.1f} s; {summary.get('reason')}")


def lying():
    rules = failing_replies(10, input_tokens=3000, output_tokens=50_000)
    with tempfile.TemporaryDirectory() as folder, house.Imposter(rules) as server:
        configure(folder, server.url, "concurrency = 1\n")
        done, summary = house.race(folder, "--workers", "2", "--budget", "5")
        asked = len(calls(server))
        record = told(folder)
    check(done.returncode == 3, f"exit {done.returncode}: {done.stderr[-400:]}")
    check("provider_stopped: p is stopped: it reported 53000 tokens" in summary.get("reason", ""), summary.get("reason"))
    check(asked == 1, f"asked {asked} times")
    check(record["race"]["cost_nano"] == 3_000_000 + 500_000_000, record["race"]["cost_nano"])


if __name__ == "__main__":
    {"budget": budget, "unpriced": unpriced, "fallback": fallback, "dead": dead, "lying": lying}[sys.argv[1]]()
    print("\n".join(house.failures) if house.failures else "all held")
    sys.exit(1 if house.failures else 0)
