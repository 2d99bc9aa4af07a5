#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every fuzz target for a while: scripts/fuzz.sh [SECONDS each, default FUZZ_SECONDS or 60 [TARGET…]]. Needs clang. Findings
# stay in build/fuzz/findings and end the script with an error.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-${FUZZ_SECONDS:-60}}
shift $(($# > 0))
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target regatta_fuzz_targets
mkdir -p build/fuzz/findings
names=${*:-$(ls tests/fuzz/corpus)}
for name in $names; do
  target=build/fuzz/bin/fuzz_$name
  mkdir -p "build/fuzz/corpus/$name"
  echo "fuzz: $name for $seconds s"
  "$target" -max_total_time="$seconds" -max_len=65536 -timeout=10 -rss_limit_mb=2048 -print_final_stats=0 \
    -artifact_prefix=build/fuzz/findings/ "build/fuzz/corpus/$name" "tests/fuzz/corpus/$name" \
    2>"build/fuzz/$name.log" || { tail -n 40 "build/fuzz/$name.log"; exit 1; }
  tail -n 1 "build/fuzz/$name.log"
done
