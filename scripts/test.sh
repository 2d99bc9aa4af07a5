#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing and runs every test that needs no GPU, but race_judged_large, which takes minutes (`make test` has
# it): debug build, unit and integration; floors and other laws; ASan+UBSan of sandbox, codecs and pure rules; TSan of
# sandbox. All three builds join sources (cmake/RegattaJoinedSources.cmake); `make nightly` builds them one by one, too.
set -euo pipefail
. "$(dirname "$0")/setup.sh"

cd "$regatta_root"
setup_build
setup_python
setup_test
# What must not be skipped here: a skip of one of these is an error.
export REGATTA_REQUIRE=${REGATTA_REQUIRE-sandbox,python,torch,triton,imposter,official-clients,tmpfs,mount}

say "laws: floors, fences, licences, house rules"
python3 scripts/check_laws.py

say "debug build"
cmake --preset ci >/dev/null
cmake --build --preset ci
python3 scripts/check_floors.py build/ci
ctest --preset ci

# Sanitizers where bytes of outsiders are parsed and rules decide; `make asan` and `make tsan` take more.
sanitized="messages_test sandbox_test judge_test text_test llm_test race_actors_test"
threaded="sandbox_lifetime_test"
one_of() { echo "^($(echo "$*" | tr ' ' '|'))$"; }

if [ "${REGATTA_SANITIZERS:-1}" = 1 ]; then
  say "address and undefined behaviour: $sanitized"
  cmake --preset asan >/dev/null
  # shellcheck disable=SC2086
  cmake --build --preset asan --target $sanitized
  ctest --preset asan -R "$(one_of $sanitized)"
  say "threads: $threaded"
  cmake --preset tsan >/dev/null
  # shellcheck disable=SC2086
  cmake --build --preset tsan --target $threaded regatta-sandbox
  ctest --preset tsan -R "$(one_of $threaded)"
fi
