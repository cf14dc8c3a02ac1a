#!/bin/bash
# Usage, as root: bash tests/python/free_threaded.sh FOLDER SYSTEM
# Builds free-threaded CPython 3.13 from source and installs it in FOLDER, because Debian has no package of it. The
# build takes some minutes. The script installs build packages on this machine with apt. SYSTEM is the root folder of a
# Debian 13 (trixie) system, whose apt downloads the source. FOLDER.log has the output of the build.
set -euo pipefail
if [ $# -ne 2 ]; then
  sed -n '2,5s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
folder=$(realpath -m "$1") system=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
apt-get install -y -qq zlib1g-dev libssl-dev libffi-dev libbz2-dev liblzma-dev libsqlite3-dev xz-utils >/dev/null
sed -n 's/^deb /deb-src /p' "$system/etc/apt/sources.list" >"$system/etc/apt/sources.list.d/sources.list"
rm -rf "$system/source"
mkdir -m 777 "$system/source"
chroot "$system" sh -c 'apt-get -qq update && cd source && apt-get -qq source --download-only python3.13' >/dev/null
tar -xJf "$system"/source/python3.13_*.orig.tar.xz -C "$work" --strip-components=1
cd "$work"
{
  ./configure --disable-gil --prefix="$folder" --with-ensurepip=install
  make -j"$(nproc)"
  make install
} >"$folder.log" 2>&1
