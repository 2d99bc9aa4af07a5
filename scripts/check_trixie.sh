#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and tests a fresh copy of the tree in a Debian 13 chroot: scripts/check_trixie.sh [RELEASE [FOLDER]]. Root,
# debootstrap and about 4 GB are needed; the mirror is the one this machine's own apt uses. Without torch (the tests
# that need it skip aloud), unless REGATTA_TRIXIE_TORCH=1.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
release=${1:-trixie}
folder=${2:-/var/tmp/regatta-$release}
[ "$(id -u)" = 0 ] || { echo "check_trixie: needs root (debootstrap, chroot)"; exit 1; }
command -v debootstrap >/dev/null || apt-get install -y -qq debootstrap >/dev/null

mirror=$(sed -nE 's/^URIs: *([^ ]+).*/\1/p; s/^deb (\[[^]]*\] )?([^ ]+).*/\2/p' \
  $(ls /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || true) | grep -E '/debian/?$' | head -n 1)
if [ ! -x "$folder/usr/bin/apt-get" ]; then
  echo "check_trixie: making a $release chroot in $folder"
  debootstrap --variant=minbase "$release" "$folder" "$mirror" >"$folder.log" 2>&1 || { tail -n 20 "$folder.log"; exit 1; }
fi
cp /etc/resolv.conf "$folder/etc/" 2>/dev/null || true
cp -r /etc/apt/apt.conf.d/. "$folder/etc/apt/apt.conf.d/"
[ ! -d /etc/pip.conf ] && [ -f /etc/pip.conf ] && cp /etc/pip.conf "$folder/etc/"

# /sys is bound with all that is mounted below it, as a slave: the host keeps its own.
cleanup() { for each in dev/shm dev sys proc; do umount -R "$folder/$each" 2>/dev/null || true; done; }
trap cleanup EXIT
cleanup
mount -t proc proc "$folder/proc"
mount --rbind /sys "$folder/sys"
mount --make-rslave "$folder/sys"
mount --bind /dev "$folder/dev"
mount -t tmpfs tmpfs "$folder/dev/shm"

rm -rf "$folder/src/regatta"
mkdir -p "$folder/src"
git clone -q "$root" "$folder/src/regatta"
if [ "${REGATTA_TRIXIE_TORCH:-}" = 1 ]; then
  command='scripts/test.sh'
else
  command='. scripts/setup.sh; setup_build; install_packages $packages_test; export REGATTA_REQUIRE=sandbox,user,python REGATTA_PYTHON=/usr/bin/python3;
    cmake --preset ci >/dev/null && cmake --build --preset ci -- -k 0 && ctest --preset ci'
fi
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb \
  chroot "$folder" bash -c "set -e; apt-get update -qq; apt-get install -y -qq ca-certificates git >/dev/null; cd /src/regatta; $command"
echo "check_trixie: $release passes"
