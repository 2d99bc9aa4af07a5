#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds, and runs a real race on a real PyTorch problem with recorded LLM replies: no key,
# no GPU needed. Further arguments go to `regatta race`.
set -euo pipefail
. "$(dirname "$0")/setup.sh"

cd "$regatta_root"
setup_build
setup_python
say "building (release): about five minutes on two idle cores the first time"
cmake --preset release >build-release.log 2>&1 || { cat build-release.log; exit 1; }
rm -f build-release.log
cmake --build --preset release
say "racing: four workers, recorded replies, candidates run in the sandbox"
problem=examples/softmax_rows.py
code=0
build/release/bin/regatta race "$problem" --replay examples/recordings/softmax_rows.jsonl --workers 4 --max-iters 3 \
  --run-timeout-s 30 --python "$REGATTA_PYTHON" "$@" || code=$?
say "to look closer, from $regatta_root:"
echo "    build/release/bin/regatta show latest --worker 1   # rounds, runs and calls of one worker
    build/release/bin/regatta list                     # every race of this folder
    build/release/bin/regatta race --help              # with a model of your own" >&2
exit "$code"
