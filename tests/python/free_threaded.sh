#!/bin/bash
# Builds CPython 3.13 without the global interpreter lock into FOLDER, which takes some minutes. Run it as root: it
# installs build packages on this machine with apt. Debian packages no such Python, but has its source. SYSTEM is the
# root folder of a Debian 13 (trixie) system, whose apt downloads the source. FOLDER.log has the output of the build.
#   bash tests/python/free_threaded.sh FOLDER SYSTEM
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
