#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long from the winner's verdict until nothing of the race runs: bench/cancel_bench.py [--races 50] [--workers 16]

One worker passes after a second; the others are in candidates that fork, ignore SIGTERM and call setsid. Quoted are
the race's own times from summary.json (decided → signalled, decided → every tree reaped) as p50, p99 and maximum, and
the number of processes that a scan of /proc finds alive after the command has returned.
"""
import argparse
import os
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import race_bench  # noqa: E402


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--races", type=int, default=50)
    options.add_argument("--workers", type=int, default=16)
    chosen = options.parse_args()
    cancel, quiet, left = [], [], 0
    for _ in range(chosen.races):
        found = race_bench.measure("regatta", "e", chosen.workers, None, has_sampler=False)
        cancel.append(found["cancel_ms"])
        quiet.append(found["quiet_ms"])
        left += found["survivors"]
    for name, values in (("cancel_ms", cancel), ("quiet_ms", quiet)):
        values.sort()
        print(f"{name}: p50 {statistics.median(values):.1f}, p99 {values[min(len(values) - 1, int(len(values) * 0.99))]:.1f}, "
              f"max {values[-1]:.1f} (n = {len(values)}, {chosen.workers} workers)")
    print(f"alive after the command: {left}")


if __name__ == "__main__":
    main()
