# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced: another release of Debian in a folder, by debootstrap. Root. The mirror is the one this machine's own apt uses.

# chroot_make RELEASE FOLDER: made once, then kept.
chroot_make() {
  [ "$(id -u)" = 0 ] || { echo "$0: needs root (debootstrap, chroot)" >&2; exit 1; }
  command -v debootstrap >/dev/null || apt-get install -y -qq debootstrap >/dev/null
  local mirror
  mirror=$(sed -nE 's/^URIs: *([^ ]+).*/\1/p; s/^deb (\[[^]]*\] )?([^ ]+).*/\2/p' \
    $(ls /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || true) | grep -E '/debian/?$' | head -n 1)
  if [ ! -x "$2/usr/bin/apt-get" ]; then
    echo "making a $1 chroot in $2"
    debootstrap --variant=minbase "$1" "$2" "$mirror" >"$2.log" 2>&1 || { tail -n 20 "$2.log"; exit 1; }
  fi
  cp /etc/resolv.conf "$2/etc/" 2>/dev/null || true
  cp -r /etc/apt/apt.conf.d/. "$2/etc/apt/apt.conf.d/"
  if [ -f /etc/pip.conf ]; then cp /etc/pip.conf "$2/etc/"; fi
}

# chroot_mount FOLDER: until this shell ends. /sys and /dev are bound with all that is mounted below, as slaves: the host keeps
# its own. The folder is bound upon itself, for a root that is no mount point cannot be left for a sandbox's.
chroot_mount() {
  chroot_folder=$1
  trap chroot_unmount EXIT
  chroot_unmount
  mount --bind "$1" "$1"
  mount --make-private "$1"
  mount -t proc proc "$1/proc"
  mount --rbind /sys "$1/sys"
  mount --make-rslave "$1/sys"
  mount --rbind /dev "$1/dev"
  mount --make-rslave "$1/dev"
}
chroot_unmount() {
  local each
  for each in dev sys proc .; do umount -R "$chroot_folder/$each" 2>/dev/null || true; done
}
# chroot_run PROGRAM ARGUMENT…: by pivot_root in a mount namespace of its own; who is in a mere chroot may make no user
# namespaces.
chroot_run() {
  mkdir -p "$chroot_folder/.host"
  # shellcheck disable=SC2016
  unshare --mount --propagation private sh -c 'cd "$0" && pivot_root . .host && cd / && umount -l /.host && exec "$@"' \
    "$chroot_folder" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb "$@"
}
