#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a tarball that runs where none of our libraries is installed: programs, their whole library closure with its own
# loader and C library, prompts, examples, Python helpers. Needs on the host: a kernel and a Python. Prints its path.
#
# The programs are started through the bundle's own loader by small scripts, so neither a library path nor a loader of
# ours ever reaches a candidate or the host's Python: their environment is built from nothing anyway.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
[ -x "$build/bin/regatta" ] || { cmake --preset release >/dev/null; cmake --build --preset release >/dev/null; }
version=$("$build/bin/regatta" --version | awk '{print $NF}')
name=regatta-$version-linux-x86_64
stage=$build/bundle/$name
rm -rf "$stage"
mkdir -p "$stage"/{bin,libexec,lib,share/regatta/python}

programs="regatta regatta-sandbox regatta-lifeline"
for program in $programs; do
  install -s -m 755 "$build/bin/$program" "$stage/libexec/$program"
done
# Linked statically: it runs in a sandbox, where neither our loader nor our libraries are.
install -s -m 755 "$build/bin/regatta-judge" "$stage/bin/regatta-judge"
# Loaded by the host's own Python: needs nothing but a C library that is not older than the one it was built with.
install -s -m 755 "$build/bin/libregatta-zygote.so" "$stage/libexec/libregatta-zygote.so"
loader=$(readelf -l "$build/bin/regatta" | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
cp -L "$loader" "$stage/lib/ld.so"
for program in $programs; do ldd "$build/bin/$program"; done | sed -nE 's/.*=> (\/[^ ]+) .*/\1/p' | sort -u |
  while read -r library; do cp -L "$library" "$stage/lib/"; done
# Looked up by name at run time: DNS.
for library in libnss_dns.so.2 libnss_files.so.2 libresolv.so.2; do
  found=$(ldconfig -p | sed -nE "s/.*$library .*x86-64.* => (.*)/\1/p" | head -n 1)
  [ -n "$found" ] && cp -L "$found" "$stage/lib/"
done
cp -r prompts examples "$stage/share/regatta/"
cp sandbox/python/*.py "$stage/share/regatta/python/"
mkdir "$stage/share/regatta/python/judge"
cp sandbox/python/judge/*.py "$stage/share/regatta/python/judge/"
cp README.md LICENSE "$stage/"

for program in $programs; do
  cat >"$stage/bin/$program" <<'START'
#!/bin/sh
# Starts the program of the same name through the loader and libraries that lie beside it.
here=$(CDPATH= cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd)
REGATTA_BIN_DIR=$here
export REGATTA_BIN_DIR
exec "$here/../lib/ld.so" --library-path "$here/../lib" --argv0 "$0" "$here/../libexec/$(basename -- "$0")" "$@"
START
  chmod 755 "$stage/bin/$program"
done
tar -C "$build/bundle" --owner=0 --group=0 -cf - "$name" | xz -T0 -6 >"$build/$name.tar.xz"
echo "$build/$name.tar.xz"
