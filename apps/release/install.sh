#!/bin/sh
# Installs linformer and linformer-convert from the archives of a release: finds the one for this machine, compares its
# checksum, and unpacks it below a folder.
#   sh install.sh --from URL [--to FOLDER] [--version VERSION]
# URL is the folder with the archives and SHA256SUMS; the variable LINFORMER_RELEASE may hold it. FOLDER is ~/.local
# unless it is given. The programs need nothing else. To remove them: sh install.sh --uninstall [--to FOLDER]
set -eu

fail() {
  printf 'install.sh: %s\n' "$1" >&2
  exit "${2:-1}"
}

from=${LINFORMER_RELEASE-}
to=${HOME:+$HOME/.local}
version=
uninstall=
while [ $# -gt 0 ]; do
  case $1 in
    --from | --to | --version)
      [ $# -ge 2 ] || fail "$1 needs a value" 2
      case $1 in --from) from=$2 ;; --to) to=$2 ;; *) version=$2 ;; esac
      shift 2
      ;;
    --uninstall) uninstall=yes && shift ;;
    -h | --help) sed -n '2,6s/^# //p' "$0" && exit 0 ;;
    *) fail "the option $1 is unknown: see --help" 2 ;;
  esac
done
[ -n "$to" ] || fail "HOME is not set: say with --to where the programs shall be" 2
list=$to/share/linformer/installed-files

# Removes the installed files. The list of files ends with the folders that the script made, the innermost first. A
# folder that still contains files is kept.
remove_installed() {
  sed '/\/$/d' "$list" | while IFS= read -r file; do
    rm -f "$to/$file"
  done
  folders=$(sed -n 's,/$,,p' "$list")
  rm -f "$list"
  printf '%s\n' "$folders" | while IFS= read -r folder; do
    if [ -n "$folder" ]; then rmdir "$to/$folder" 2>/dev/null || true; fi
  done
}

if [ -n "$uninstall" ]; then
  [ -f "$list" ] || fail "$to has nothing that this script installed"
  remove_installed
  echo "linformer was removed from $to"
  exit 0
fi

[ -n "$from" ] || fail "say with --from where the release is: the address of the folder with SHA256SUMS" 2
case $(uname -s) in
  Linux) system=linux ;;
  Darwin) system=macos ;;
  *) fail "there is no archive for the system $(uname -s): build from source" ;;
esac
case $(uname -m) in
  x86_64 | amd64) machine=x86_64 ;;
  aarch64 | arm64) machine=aarch64 ;;
  *) fail "there is no archive for the processor $(uname -m): build from source" ;;
esac
# The programs for musl are static and run on any Linux. So they are taken if glibc is missing or older than 2.28.
libc=
if [ "$system" = linux ]; then
  libc=-musl
  found=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed -n 's/^glibc 2\.\([0-9]*\).*/\1/p')
  if [ -n "$found" ] && [ "$found" -ge 28 ]; then libc=; fi
fi

if command -v curl >/dev/null; then
  download() { curl -fsSL -o "$2" "$1"; }
elif command -v wget >/dev/null; then
  download() { wget -nv -O "$2" "$1"; }
else
  fail "curl or wget is needed to fetch the archive"
fi
if command -v sha256sum >/dev/null; then
  sum_of() { sha256sum "$1"; }
elif command -v shasum >/dev/null; then
  sum_of() { shasum -a 256 "$1"; }
else
  fail "sha256sum or shasum is needed to check the archive"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
fetch() {
  download "$from/$1" "$work/$1" 2>"$work/why" || fail "$from/$1 could not be fetched: $(tr '\n' ' ' <"$work/why")"
}
fetch SHA256SUMS
host=$system-$machine$libc
archive=$(sed -n "s/^[0-9a-f]\{64\}  \(linformer-${version:-[0-9][0-9.]*}-$host\.tar\.gz\)\$/\1/p" "$work/SHA256SUMS" | head -n 1)
[ -n "$archive" ] || fail "$from has no archive of linformer${version:+ $version} for $host"
fetch "$archive"
expected=$(sed -n "s/^\([0-9a-f]\{64\}\)  $archive\$/\1/p" "$work/SHA256SUMS")
actual=$(sum_of "$work/$archive" | cut -d ' ' -f 1)
[ "$actual" = "$expected" ] || fail "$archive has SHA-256 $actual and not $expected: nothing was installed"

mkdir "$work/new"
tar -xzf "$work/$archive" -C "$work/new"
cd "$work/new"/*/ || fail "$archive is empty"
if [ -f "$list" ]; then remove_installed; fi
mkdir -p "$to"
find . -type f | sed 's,^\./,,' | sort >"$work/files"
{ find . -type d | sed '/^\.$/d; s,^\./,,' && echo share/linformer; } | sort -r | while IFS= read -r folder; do
  if [ ! -d "$to/$folder" ]; then printf '%s/\n' "$folder"; fi
done >"$work/folders"
while IFS= read -r file; do
  mkdir -p "$to/$(dirname "$file")"
  cp -p "$file" "$to/$file.new"
  mv "$to/$file.new" "$to/$file"
done <"$work/files"
mkdir -p "$(dirname "$list")"
cat "$work/files" "$work/folders" >"$list"
echo "${archive%.tar.gz} is in $to/bin"
case :$PATH: in
  *:"$to/bin":*) ;;
  *) echo "That folder is not on the PATH: export PATH=\"$to/bin:\$PATH\"" ;;
esac
