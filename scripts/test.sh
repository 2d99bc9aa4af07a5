#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing and runs every test that needs no GPU: debug build, unit and integration; floors and other
# laws; ASan+UBSan of sandbox, codecs and pure rules; TSan of sandbox and the HTTP transport.
set -euo pipefail
. "$(dirname "$0")/setup.sh"

cd "$regatta_root"
setup_build
setup_python
setup_test
# What must not be skipped here: a skip of one of these is an error.
export REGATTA_REQUIRE=${REGATTA_REQUIRE-sandbox,python,torch,triton,imposter,tmpfs,user}

say "laws: floors, fences, licences, house rules"
python3 scripts/check_laws.py

say "debug build"
cmake --preset debug >/dev/null
cmake --build --preset debug
python3 scripts/check_floors.py build/debug
ctest --preset debug

if [ "${REGATTA_SANITIZERS:-1}" = 1 ]; then
  say "address and undefined behaviour: sandbox, codecs, pure rules"
  cmake --preset asan >/dev/null
  cmake --build --preset asan --target regatta_sanitized_tests regatta-sandbox
  ctest --preset asan --label-regex sanitized
  say "threads: sandbox, HTTP transport"
  cmake --preset tsan >/dev/null
  cmake --build --preset tsan --target regatta_threaded_tests regatta-sandbox
  ctest --preset tsan --label-regex threaded
fi
