#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and tests a fresh copy of the tree in a Debian 13 chroot: scripts/check_trixie.sh [RELEASE [FOLDER]]. Needs root,
# debootstrap and about 4 GB. Without torch (the tests that need it skip aloud), unless REGATTA_TRIXIE_TORCH=1.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/scripts/chroot.sh"
release=${1:-trixie}
folder=${2:-/var/tmp/regatta-$release}
chroot_make "$release" "$folder"
chroot_mount "$folder"

rm -rf "$folder/src/regatta"
mkdir -p "$folder/src"
git clone -q "$root" "$folder/src/regatta"
if [ "${REGATTA_TRIXIE_TORCH:-}" = 1 ]; then
  command='scripts/test.sh'
else
  command='. scripts/setup.sh; setup_build; install_packages $packages_test; export REGATTA_REQUIRE=sandbox,user,python REGATTA_PYTHON=/usr/bin/python3;
    cmake --preset ci >/dev/null && cmake --build --preset ci -- -k 0 && ctest --preset ci'
fi
chroot_run bash -c "set -e; apt-get update -qq; apt-get install -y -qq ca-certificates git >/dev/null; cd /src/regatta; $command"
echo "check_trixie: $release passes"
