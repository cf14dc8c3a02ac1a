#!/bin/sh
# Runs apps/release/install.sh on archives that this script makes. It must install, replace and remove them, and refuse
# damaged ones.
#   sh install_script_test.sh INSTALL_SH
set -eu
script=$1
command -v curl >/dev/null || { echo "skipped: curl is not installed" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "failed: $1" >&2
  exit 1
}
# release VERSION: makes archives for each host on which this test may run, and their checksums.
release() {
  rm -rf "$work/release"
  mkdir -p "$work/release"
  for host in linux-x86_64 linux-x86_64-musl linux-aarch64 linux-aarch64-musl; do
    name=linformer-$1-$host
    mkdir -p "$work/tree/$name/bin" "$work/tree/$name/share/doc/linformer/third-party"
    printf '#!/bin/sh\necho linformer %s\n' "$1" >"$work/tree/$name/bin/linformer"
    if [ "$1" = 0.1.0 ]; then echo old >"$work/tree/$name/bin/only-in-the-old"; fi
    echo licence >"$work/tree/$name/share/doc/linformer/LICENSE"
    echo licence >"$work/tree/$name/share/doc/linformer/third-party/library"
    chmod +x "$work/tree/$name/bin/linformer"
    tar -czf "$work/release/$name.tar.gz" -C "$work/tree" "$name"
  done
  (cd "$work/release" && sha256sum ./*.tar.gz | sed 's,\./,,' >SHA256SUMS)
}
install() { sh "$script" --from "file://$work/release" --to "$work/to" "$@"; }
# refuses CODE SENTENCE ARGUMENTS...: checks that the script ends with this code and an error that has the sentence.
refuses() {
  code=0
  expected=$1 sentence=$2
  shift 2
  sh "$script" "$@" >"$work/out" 2>"$work/err" || code=$?
  [ "$code" -eq "$expected" ] || fail "exit code $code and not $expected: $*"
  grep -q "^install.sh: .*$sentence" "$work/err" || fail "$(cat "$work/err") doesn't say: $sentence"
  [ "$(wc -l <"$work/err")" -eq 1 ] || fail "more than one line: $(cat "$work/err")"
}

mkdir -p "$work/to/bin"
echo mine >"$work/to/bin/mine"
release 0.1.0
install >/dev/null
[ "$("$work/to/bin/linformer")" = "linformer 0.1.0" ] || fail "0.1.0 doesn't run"
release 0.2.0
install --version 0.2.0 | grep -q "^linformer-0.2.0-linux-.* is in $work/to/bin$" || fail "0.2.0 was not reported"
[ "$("$work/to/bin/linformer")" = "linformer 0.2.0" ] || fail "0.2.0 doesn't run"
[ ! -e "$work/to/bin/only-in-the-old" ] || fail "a file of the old version is left"

cp -r "$work/release" "$work/whole"
echo more >>"$work/release/linformer-0.2.0-linux-$(uname -m).tar.gz"
echo more >>"$work/release/linformer-0.2.0-linux-$(uname -m)-musl.tar.gz"
refuses 1 "has SHA-256 .* nothing was installed" --from "file://$work/release" --to "$work/other"
[ ! -e "$work/other" ] || fail "a refused archive left something"
refuses 1 "has no archive of linformer 9.9" --from "file://$work/release" --to "$work/other" --version 9.9
refuses 1 "SHA256SUMS could not be fetched" --from "file://$work/nowhere" --to "$work/other"
refuses 1 "nothing that this script installed" --uninstall --to "$work/other"
refuses 2 "the option --form is unknown" --form x
refuses 2 "needs a value" --from
LINFORMER_RELEASE='' refuses 2 "say with --from"

rm -r "$work/release"
mv "$work/whole" "$work/release"
sh "$script" --uninstall --to "$work/to" >/dev/null
left=$(cd "$work/to" && find . | sort | tr '\n' ' ')
[ "$left" = ". ./bin ./bin/mine " ] || fail "after --uninstall is left: $left"
install >/dev/null
echo mine >"$work/to/share/doc/linformer/mine"
sh "$script" --uninstall --to "$work/to" >/dev/null
left=$(cd "$work/to" && find . -type f | sort | tr '\n' ' ')
[ "$left" = "./bin/mine ./share/doc/linformer/mine " ] || fail "after --uninstall beside another's file is left: $left"
echo "install.sh: all as expected"
