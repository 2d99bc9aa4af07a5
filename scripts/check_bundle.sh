#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Whether the tarball works where none of our libraries is and the C library is an older one: scripts/check_bundle.sh
# BUNDLE.tar.xz [RELEASE [FOLDER]], in a chroot of Debian 11 unless told otherwise. Needs root and debootstrap. Tried are: the
# start, doctor, a race with recorded replies, and one with replies from an HTTPS server whose name only DNS knows and
# whose certificate only the host's own file vouches for, where Debian keeps it and where Fedora does.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/scripts/chroot.sh"
bundle=$(readlink -f "$1")
release=${2:-bullseye}
folder=${3:-/var/tmp/regatta-bundle-$release}
chroot_make "$release" "$folder"
chroot_mount "$folder"
chroot_run bash -c 'set -e; command -v python3 >/dev/null || { apt-get update -qq; apt-get install -y -qq --no-install-recommends python3 >/dev/null; }'
size=$(stat -c %s "$bundle")
echo "bundle: $((size / 1024 / 1024)) MiB (at most 60)"
[ "$size" -le $((60 * 1024 * 1024)) ]
rm -rf "$folder/srv/regatta" "$folder/etc/pki"
mkdir -p "$folder/srv/regatta"
tar -C "$folder/srv/regatta" --strip-components=1 -xf "$bundle"
cp -r "$root/examples/toy" "$folder/srv/regatta/toy"
echo "C library: $(chroot_run ldd --version | head -n 1), ours: $("$folder/srv/regatta/lib/ld.so" --version | head -n 1)"
python3 "$root/scripts/check_bundle.py" "$root" "$folder"
echo "check_bundle: works on $release"
