#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy over our sources, or over those that changed since REV: scripts/tidy.sh [REV]. Needs a debug build's
# compile commands.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset debug >/dev/null
# Generated and built first: tidy reads the same headers.
files=$(git ls-files 'actors/**.cpp' 'actors/*.cpp' 'cli/*.cpp' 'coordinator/*.cpp' 'messages/*.cpp' 'node/*.cpp' 'sandbox/*.cpp')
if [ $# -gt 0 ]; then
  files=$(git diff --name-only --diff-filter=d "$1" -- $files)
fi
[ -n "$files" ] || { echo "tidy: nothing changed"; exit 0; }
# Our compile commands are gcc's; clang does not know all of its warning flags.
echo "$files" | xargs -P "$(nproc)" -n 1 clang-tidy -p build/debug --quiet --warnings-as-errors='*' \
  --extra-arg=-Wno-unknown-warning-option
echo "tidy: clean"
