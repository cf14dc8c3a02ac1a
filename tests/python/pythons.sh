#!/bin/bash
# Usage, as root: bash tests/python/pythons.sh WHEEL WORK [SUITE...]
# Installs the package's wheel WHEEL in bare systems with different Pythons, and runs the package's tests there. SUITE
# is bullseye, bookworm, trixie, sid (releases of Debian) or free-threaded; without SUITE all five run. debootstrap
# installs each release in the folder WORK, from the mirror that the variable MIRROR names. The suite free-threaded
# needs trixie in WORK.
set -euo pipefail
if [ $# -lt 2 ]; then
  sed -n '2,6s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
wheel=$(realpath "$1")
mkdir -p "$2"
work=$(realpath "$2")
shift 2
if [ $# -eq 0 ]; then set -- bullseye bookworm trixie sid free-threaded; fi
tests=$(realpath "$(dirname "${BASH_SOURCE[0]}")")

# This script runs in each system. It creates a virtual environment, installs the wheel, and runs the tests. It installs
# only packages that need no compiler.
cat >"$work/inside.sh" <<'E'
set -e
cd "$2"
rm -rf environment
"$1" -m venv environment
environment/bin/pip install -q --disable-pip-version-check --only-binary=:all: pytest ./*.whl
environment/bin/python -c 'import sys, linformer_cpp, numpy
free = not getattr(sys, "_is_gil_enabled", lambda: True)()
print("Python", sys.version.split()[0], "without the GIL," if free else "with the GIL,", "NumPy", numpy.__version__)'
environment/bin/linformer version
PATH=$PWD/environment/bin:$PATH PYTHONDONTWRITEBYTECODE=1 environment/bin/python tests/run.py
environment/bin/pip uninstall -q -y linformer-cpp
[ ! -e environment/bin/linformer ]
E

copy_files() {  # copy_files FOLDER: copies the wheel, the tests and the script above
  rm -rf "$1"
  mkdir -p "$1"
  cp "$wheel" "$work/inside.sh" "$1"
  cp -r "$tests" "$1/tests"
}

for suite in "$@"; do
  echo "== $suite"
  if [ "$suite" = free-threaded ]; then
    if [ ! -x "$work/free/bin/python3" ]; then bash "$tests/free_threaded.sh" "$work/free" "$work/trixie"; fi
    copy_files "$work/free-threaded"
    bash "$work/inside.sh" "$work/free/bin/python3" "$work/free-threaded"
    continue
  fi
  root=$work/$suite
  if [ ! -e "$root/usr/bin/python3" ]; then
    debootstrap --variant=minbase --include=python3,python3-venv "$suite" "$root" ${MIRROR:+"$MIRROR"} \
      >"$work/$suite.log"
    for file in /etc/pip.conf /etc/ssl/certs /usr/local/share/ca-certificates; do
      if [ -e "$file" ]; then
        mkdir -p "$root$(dirname "$file")"
        rm -rf "${root:?}$file"
        cp -rL "$file" "$root$(dirname "$file")/"
      fi
    done
  fi
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
  copy_files "$root/w"
  mount --bind /proc "$root/proc"
  mount --bind /dev "$root/dev"
  mount --bind /dev/shm "$root/dev/shm"
  status=0
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 chroot "$root" bash /w/inside.sh python3 /w ||
    status=$?
  umount "$root/dev/shm" "$root/dev" "$root/proc"
  if [ $status -ne 0 ]; then exit $status; fi
done
