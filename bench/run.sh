#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The figures of docs/benchmarks.md: bench/run.sh [--kernelagent DIR]. Builds the release first.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh
setup_build
setup_python
cmake --preset release >/dev/null
cmake --build --preset release
python3 bench/race_bench.py --cases a,b,d --workers 1,4,16,64 --runs 5 "$@"
python3 bench/cancel_bench.py --races 100
