# SPDX-License-Identifier: Apache-2.0
# Sourced by setup.sh: what has to be installed. Run on Debian 12; Debian 13 and Ubuntu 24.04 go by the same names.

packages_build="g++ make ninja-build cmake pkg-config ccache
  libcaf-dev libzmq3-dev cppzmq-dev libmsgpack-cxx-dev nlohmann-json3-dev libcurl4-openssl-dev libssl-dev
  libboost-test-dev libseccomp-dev libcli11-dev libsqlite3-dev libarchive-dev libtomlplusplus-dev libspdlog-dev
  libcmark-dev"
# A Python to make the private environment with, and a C compiler with headers for Triton's launchers.
packages_python="python3 python3-venv gcc libc6-dev"
# Only the tests: HTTP/2 for the scripted LLM server, ordinary-user runs, ip and openssl for failure tests.
packages_test="python3-h2 openssl iproute2 procps util-linux git"

distribution_known() {
  . /etc/os-release
  case "${ID:-}:${VERSION_ID:-}" in
    debian:12 | debian:13 | ubuntu:24.04 | ubuntu:24.10 | ubuntu:25.*) return 0 ;;
  esac
  case "${ID:-}" in debian | ubuntu) echo "setup: ${PRETTY_NAME:-this release} is not tried; going by Debian's names" >&2 ;; *) return 1 ;; esac
}
