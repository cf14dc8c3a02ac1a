#!/bin/bash
# Checks the Debian packages in FOLDER, which debian.sh made. It runs lintian, and then installs and uses the packages
# in a bare Debian 12, which is a chroot in the folder SYSTEM. It must run as root.
#   bash apps/release/check_debian.sh FOLDER [SYSTEM]
# SYSTEM is created if it does not exist, and used as it is otherwise. Without SYSTEM, a temporary folder is used and
# removed. The variable MIRROR may name a mirror of Debian instead of debootstrap's default.
set -euo pipefail
if [ $# -lt 1 ] || [ $# -gt 2 ] || [[ "$1" == -* ]]; then
  echo "usage: bash apps/release/check_debian.sh FOLDER [SYSTEM]" >&2
  exit 2
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "Run this as root: it makes a Debian system in a folder and changes its root to it." >&2
  exit 1
fi
if ! (cd "$1" 2>/dev/null && sha256sum --quiet --check SHA256SUMS && [ "$(wc -l <SHA256SUMS)" -eq 3 ]); then
  echo "$1 does not hold three packages with their SHA256SUMS, as apps/release/debian.sh leaves them." >&2
  exit 1
fi
folder=$(realpath "$1")
system=
if [ $# -eq 2 ]; then system=$(realpath -m "$2"); fi
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

. apps/common/steps.sh
logs=$(mktemp -d)
log=$logs/log
trap 'rm -rf "$logs"' EXIT
if [ -z "$system" ]; then
  system=$logs/system
fi

step "1. Packages that are missing"
. third_party/install.sh
linformer_install debian_check

step "2. lintian (errors fail, warnings are printed)"
lintian --allow-root --fail-on error "$folder"/*.deb

step "3. A bare Debian 12"
if [ ! -e "$system" ]; then
  logged debootstrap --variant=minbase bookworm "$system" ${MIRROR:+"$MIRROR"}
fi
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive chroot "$system" "$@"; }
files() { (cd "$system" && find . -xdev -path ./proc -prune -o -iname '*linformer*' -print | LC_ALL=C sort); }
if [ -n "$(files)" ]; then
  echo "$system has files of linformer already" >&2
  exit 1
fi

step "4. Install"
mkdir "$system/packages"
cp "$folder"/*.deb "$system/packages"
cp -r apps/sample apps/examples "$system/packages"
apt_get=(apt-get -qq -o Acquire::Retries=3 -o APT::Install-Recommends=false -o APT::Sandbox::User=root -y)
logged inside "${apt_get[@]}" update
logged inside sh -c "${apt_get[*]} install /packages/*.deb"
logged inside dpkg --verify linformer liblinformer-dev
inside ldconfig -p | grep liblinformer

step "5. Use"
show_inside() {  # prints a command, and runs it in the folder with the sample
  printf '$ %s\n' "$*"
  inside sh -ec "cd /packages; $*"
}
show_inside linformer --version
show_inside linformer-convert sample/checkpoint.pt -o sample.lnfr --tokenizer sample --labels sample/labels.txt
text='"A lovely, moving film."'
show_inside linformer classify sample.lnfr "$text"

step "6. Build programs with pkg-config"
logged inside "${apt_get[@]}" install g++ pkg-config
show_inside 'gcc examples/classify.c -o shared $(pkg-config --cflags --libs linformer-shared)'
show_inside 'gcc examples/classify.c -o static $(pkg-config --cflags --libs linformer)'
show_inside 'g++ -std=c++20 examples/classify.cc -o classify $(pkg-config --cflags --libs linformer)'
for program in ./shared ./static ./classify; do
  show_inside "$program" sample.lnfr "$text" | tee "$logs/out"
  if ! grep -q positive "$logs/out"; then
    echo "$program did not classify the text." >&2
    exit 1
  fi
done

step "7. Purge"
rm -r "$system/packages"
logged inside "${apt_get[@]}" purge linformer 'liblinformer*'
left=$(files)
if [ -n "$left" ]; then
  printf 'These files are left:\n%s\n' "$left" >&2
  exit 1
fi
printf '\nEverything passed: the packages were installed, used and removed without a trace.\n'
