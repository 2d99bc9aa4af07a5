#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long from the winner's verdict until nothing of the race runs:

    bench/cancel_bench.py [--races 100] [--workers 16] [--stalled 4] [--busy]

One of `workers` passes after a second; the others are in candidates that fork, ignore SIGTERM and call setsid, and then
sleep (`--busy`: spin); `stalled` more wait for a stream that stopped after its first event. Quoted are the race's own times from summary.json (decided →
signalled, decided → every tree reaped) as p50, p90, p99 and maximum, and the number of processes that a scan of /proc
finds alive after the command has returned. Several build folders (REGATTA_BIN_DIR=A:B) take turns.
"""
import argparse
import os
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import race_bench  # noqa: E402


def at(values, share):
    return values[min(len(values) - 1, int(len(values) * share))]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--races", type=int, default=100)
    options.add_argument("--workers", type=int, default=16)
    options.add_argument("--stalled", type=int, default=4)
    options.add_argument("--busy", action="store_true")
    chosen = options.parse_args()
    found = {folder: [] for folder in race_bench.PROGRAMS.split(":")}
    for _ in range(chosen.races):
        for folder, races in found.items():
            race_bench.PROGRAMS = folder
            races.append(race_bench.measure("regatta", "g" if chosen.busy else "f", chosen.workers + chosen.stalled, None,
                                            has_sampler=False, answered=chosen.workers))
    for folder, races in found.items():
        print(f"{folder}: n = {len(races)}, {chosen.workers} workers, {chosen.stalled} more with a stalled stream")
        for name in ("cancel_ms", "quiet_ms"):
            values = sorted(race[name] for race in races)
            print(f"  {name}: p50 {statistics.median(values):.1f}, p90 {at(values, 0.9):.1f}, p99 {at(values, 0.99):.1f}, "
                  f"max {values[-1]:.1f}")
        print(f"  alive after the command: {sum(race['survivors'] for race in races)}")


if __name__ == "__main__":
    main()
