#!/bin/bash
# Makes Debian packages of this source tree. It installs missing packages, builds, and writes three packages with their
# checksums into FOLDER (by default build/debian/packages).
#   bash apps/release/debian.sh [FOLDER]
# LINFORMER_PACKAGE_CONTACT="NAME <ADDRESS>" names the maintainer, who is the publisher of the packages.
# SOURCE_DATE_EPOCH is the date of the packages and of the files in them, in seconds since 1970. If it is not set, they
# have the date of the commit, so that the same commit gives the same bytes.
set -euo pipefail
if [ $# -gt 1 ] || [[ "${1-}" == -* ]]; then
  echo "usage: bash apps/release/debian.sh [FOLDER]" >&2
  exit 2
fi
folder=$(realpath -m "${1-$(dirname "${BASH_SOURCE[0]}")/../../build/debian/packages}")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=build/debian
umask 022

. apps/common/steps.sh
log=$build.log

step "1. Packages that are missing"
. third_party/install.sh
linformer_install build debian
if ! command -v dpkg-shlibdeps >/dev/null; then
  echo "dpkg-shlibdeps was not found: Debian packages can be built only on Debian." >&2
  exit 1
fi

step "2. Build (a few minutes; log in $log)"
mkdir -p build "$folder"
linformer_ccache
: >"$log"
# A source archive has no commit. Then the date is that of CMakeLists.txt.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date -r CMakeLists.txt +%s)}
contact=()
if [ -n "${LINFORMER_PACKAGE_CONTACT-}" ]; then contact=(-DLINFORMER_PACKAGE_CONTACT="$LINFORMER_PACKAGE_CONTACT"); fi
logged cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr \
  -DCMAKE_SHARED_LINKER_FLAGS=-Wl,-z,relro,-z,now \
  -DLINFORMER_BUILD_TESTS=OFF -DLINFORMER_ONEDNN=ON -DLINFORMER_OPENBLAS=ON -ULINFORMER_PACKAGE_CONTACT \
  "${contact[@]}"
logged cmake --build "$build" --target linformer linformer_shared linformer_manual --parallel "$(nproc)"

step "3. Pack"
rm -f "$build"/*.deb
logged cpack --config "$build/CPackConfig.cmake" -B "$PWD/$build"
# Packages of an earlier run are removed, so that FOLDER has one set.
rm -f "$folder"/{linformer,liblinformer*}_*.deb
mv "$build"/*.deb "$folder"
cd "$folder"
sha256sum -- *.deb >SHA256SUMS
wc -c -- *.deb
echo "The packages are in $folder"
