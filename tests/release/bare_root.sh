#!/bin/bash
# Installs a release in a bare Debian 12, runs the three ways of the README there, removes it and looks for files that
# were left: first with the Debian package, then with the archive and install.sh. It is started by hand, as root.
#   bash tests/release/bare_root.sh FOLDER MODEL SYSTEM
# FOLDER is the output of apps/release/release.sh, and MODEL a folder with all-MiniLM-L6-v2, which the README downloads.
# SYSTEM is a folder for the Debian system; it must not exist. MIRROR is the address of Debian's packages. The third way
# needs PyTorch, so Debian's python3-torch and the Python package tokenizers are installed.
set -euo pipefail
if [ $# -ne 3 ] || [ -e "$3" ]; then
  sed -n '2,8s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
release=$(realpath "$1") model=$(realpath "$2") system=$(realpath -m "$3")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

debootstrap --variant=minbase bookworm "$system" ${MIRROR:+"$MIRROR"} >/dev/null
# The system uses the package sources and certificates of this machine.
rm -rf "$system/etc/apt"
cp -r /etc/apt "$system/etc/apt"
for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/ssl/certs /usr/local/share/ca-certificates; do
  if [ -e "$file" ]; then
    mkdir -p "$system$(dirname "$file")"
    cp -rL "$file" "$system$(dirname "$file")/"
  fi
done
mount --bind /proc "$system/proc"
mount --bind /dev "$system/dev"
trap 'umount "$system/proc" "$system/dev"' EXIT

mkdir "$system/w"
git clone --quiet . "$system/w/clone"
cp -r "$release" "$system/w/release"
cp -r "$model" "$system/w/clone/all-MiniLM-L6-v2"
python3 tests/release/readme_commands.py README.md >"$system/w/ways.sh"
python3 tests/release/readme_inputs.py "$system/w/clone"

inside() {
  env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=/w/python DEBIAN_FRONTEND=noninteractive chroot "$system" bash -ec "cd /w/clone; $*"
}
files() { (cd "$system" && find . -xdev -regextype posix-extended -not -regex '\./(proc|dev|w|tmp|var)/.*'); }
inside "apt-get -qq update; apt-get -qq -y install curl python3-torch python3-pip >/dev/null 2>&1
  pip install --quiet --target /w/python --root-user-action ignore tokenizers==0.23.3"

try() {  # try NAME INSTALL REMOVE
  echo "== $1"
  files | sort >"$system/w/before"
  inside "$2"
  git -C "$system/w/clone" clean -qfdx -e all-MiniLM-L6-v2 -e '*.csv'
  inside "bash /w/ways.sh"
  inside "$3"
  files | sort >"$system/w/after"
  if ! diff "$system/w/before" "$system/w/after"; then
    echo "These files were left, or are lost." >&2
    exit 1
  fi
  echo "$1: installed, used and removed without a trace."
}
try "Debian package" "apt-get -qq -y install /w/release/debian/linformer_*.deb >/dev/null 2>&1" \
  "apt-get -qq -y purge linformer >/dev/null; apt-get -qq -y autoremove --purge >/dev/null"
try "archive" "sh apps/release/install.sh --from file:///w/release --to /usr/local" \
  "sh apps/release/install.sh --uninstall --to /usr/local"
