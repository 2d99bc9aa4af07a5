#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing and nothing else. Sourced by demo.sh and test.sh; `scripts/setup.sh [build|python|test]…`
# does single steps. Honours: REGATTA_PYTHON, VIRTUAL_ENV, CONDA_PREFIX (an interpreter with torch is used as it is),
# PIP_INDEX_URL and pip's other variables, REGATTA_TORCH_SPEC (default torch==2.13.0), REGATTA_VENV (where a private
# environment goes), REGATTA_OFFLINE=1 (install nothing; say what is missing).
set -euo pipefail

regatta_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$regatta_root/scripts/packages.sh"
private_venv=${REGATTA_VENV:-${XDG_DATA_HOME:-$HOME/.local/share}/regatta/venv}

say() { printf '\033[1m==>\033[0m %s\n' "$*" >&2; }
give_up() { printf 'setup: %s\n' "$*" >&2; exit 1; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else give_up "needs root or sudo for: $*"
  fi
}

missing_packages() {
  local name
  for name in "$@"; do
    dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null | grep -q '^installed$' || echo "$name"
  done
}

# A tool that is already there by another way (cmake or ninja from pip, a compiler in /opt) counts as installed.
without_present_tools() {
  local name
  for name in "$@"; do
    case $name in
      cmake) cmake_is_new_enough cmake && continue ;;
      ninja-build) command -v ninja >/dev/null && continue ;;
      ccache | make | git | gcc | openssl) command -v "$name" >/dev/null && continue ;;
    esac
    echo "$name"
  done
}

install_packages() {
  command -v apt-get >/dev/null || give_up "no apt-get here: install by hand what scripts/packages.sh names"
  distribution_known || give_up "only Debian and Ubuntu are known: install by hand what scripts/packages.sh names"
  local missing
  # shellcheck disable=SC2046
  missing=$(without_present_tools $(missing_packages "$@"))
  [ -n "$missing" ] || return 0
  [ "${REGATTA_OFFLINE:-}" != 1 ] || give_up "missing packages: $(echo $missing)"
  say "installing by apt: $(echo $missing)"
  as_root apt-get update -qq
  # shellcheck disable=SC2086
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

cmake_is_new_enough() {
  local found
  found=$("$1" --version 2>/dev/null | sed -n 's/^cmake version \([0-9.]*\).*/\1/p')
  [ -n "$found" ] && [ "$(printf '3.25\n%s\n' "$found" | sort -V | head -n 1)" = 3.25 ]
}

# Puts a CMake >= 3.25 first on PATH; on older releases it comes from pip into a private environment.
ensure_cmake() {
  cmake_is_new_enough cmake && return 0
  local venv=$regatta_root/build/cmake-venv
  if ! cmake_is_new_enough "$venv/bin/cmake"; then
    say "CMake 3.25 or newer is needed: fetching one by pip (about 30 MB)"
    python3 -m venv "$venv"
    "$venv/bin/pip" install -q 'cmake>=3.25,<5'
  fi
  PATH=$venv/bin:$PATH
}

has_torch() { [ -x "$1" ] && "$1" -c 'import torch, triton' >/dev/null 2>&1; }

# Prints an interpreter that has torch and triton: the user's own if there is one.
find_python() {
  local candidate
  for candidate in "${REGATTA_PYTHON:-}" "${VIRTUAL_ENV:+$VIRTUAL_ENV/bin/python}" \
      "${CONDA_PREFIX:+$CONDA_PREFIX/bin/python}" "$regatta_root/.venv/bin/python" "$private_venv/bin/python" \
      "$(command -v python3 || true)"; do
    if [ -n "$candidate" ] && has_torch "$candidate"; then
      echo "$candidate"
      return 0
    fi
  done
  return 1
}

ensure_python() {
  local python
  if python=$(find_python); then
    export REGATTA_PYTHON=$python
    return 0
  fi
  [ -z "${REGATTA_PYTHON:-}" ] || give_up "REGATTA_PYTHON=$REGATTA_PYTHON cannot import torch and triton"
  [ "${REGATTA_OFFLINE:-}" != 1 ] || give_up "no Python with torch and triton found"
  local spec=${REGATTA_TORCH_SPEC:-torch==2.13.0}
  say "no Python with torch and triton found: making one in $private_venv"
  say "pip will fetch $spec, triton and numpy: about 0.5 GB with a CPU build of torch, 3 GB with a CUDA build" \
      "(2 to 8 GB on disk). To use your own instead, stop here and set REGATTA_PYTHON."
  python3 -m venv "$private_venv"
  # shellcheck disable=SC2086
  "$private_venv/bin/pip" install -q --disable-pip-version-check $spec numpy
  has_torch "$private_venv/bin/python" || "$private_venv/bin/pip" install -q --disable-pip-version-check triton
  has_torch "$private_venv/bin/python" || give_up "torch and triton were installed but cannot be imported"
  export REGATTA_PYTHON=$private_venv/bin/python
}

# Modules that only tests use, into the private environment if that is the one in use, else beside it.
ensure_test_modules() {
  local modules="pyzmq msgpack"
  "$REGATTA_PYTHON" -c 'import zmq, msgpack' 2>/dev/null && return 0
  if [ "$REGATTA_PYTHON" = "$private_venv/bin/python" ]; then
    # shellcheck disable=SC2086
    "$private_venv/bin/pip" install -q --disable-pip-version-check $modules
    return 0
  fi
  local folder=$regatta_root/build/test-modules
  # shellcheck disable=SC2086
  [ -d "$folder/zmq" ] || python3 -m pip install -q --disable-pip-version-check --target "$folder" $modules
  export REGATTA_TEST_MODULES=$folder
}

# The official clients of two wires, which a test points at our imposter; pinned, in an environment of their own.
ensure_official_clients() {
  local venv=$regatta_root/build/official-clients packages="openai==3.57.0 anthropic==2.14.0"
  export REGATTA_OFFICIAL_CLIENTS=${REGATTA_OFFICIAL_CLIENTS:-$venv/bin/python}
  "$REGATTA_OFFICIAL_CLIENTS" -c 'import openai, anthropic' 2>/dev/null && return 0
  [ "${REGATTA_OFFLINE:-}" != 1 ] || give_up "missing Python packages: $packages"
  say "installing by pip: $packages"
  python3 -m venv "$venv"
  # shellcheck disable=SC2086
  "$venv/bin/pip" install -q --disable-pip-version-check $packages
  REGATTA_OFFICIAL_CLIENTS=$venv/bin/python
}

setup_build() { install_packages $packages_build $packages_python; ensure_cmake; }
setup_python() { install_packages $packages_python; ensure_python; }
setup_test() { install_packages $packages_test; ensure_test_modules; ensure_official_clients; }

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  for step in "${@:-build}"; do
    case $step in
      build) setup_build ;;
      python) setup_python ;;
      test) setup_python; setup_test ;;
      *) give_up "unknown step '$step'; allowed: build python test" ;;
    esac
  done
fi
