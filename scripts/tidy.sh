#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy over all of our sources, joined (scripts/joined_sources.py says why); or, each alone, over those that
# changed since REV: scripts/tidy.sh [REV]. Builds nothing: configuring makes the headers that are generated.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -gt 0 ]; then
  cmake --preset debug >/dev/null
  folder=build/debug
  files=$(git diff --name-only --diff-filter=d "$1" -- {actors,cli,coordinator,messages,node,sandbox}/'*.cpp')
else
  cmake --preset ci >/dev/null
  folder=build/tidy
  files=$(scripts/joined_sources.py build/ci "$folder")
fi
[ -n "$files" ] || { echo "tidy: nothing changed"; exit 0; }
# Our compile commands are gcc's; clang does not know all of its warning flags.
echo "$files" | xargs -P "$(nproc)" -n 1 clang-tidy -p "$folder" --quiet --warnings-as-errors='*' \
  --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wreserved-identifier
echo "tidy: clean"
