#!/bin/bash
# Builds for another system with zig, as releases are built (apps/release), and runs tests and both programs: those of
# Windows under wine, those of AArch64 under qemu. The programs' answers must equal those of the programs of this
# machine.
#   bash tests/hosts/run.sh HOST...  hosts of apps/release/hosts.py: windows-x86_64, linux-x86_64-musl, ...
#   LINFORMER_ZIG=PROGRAM ...        another zig than the one on the PATH
#   LINFORMER_DEPS_DIR=FOLDER ...    has the archives of third_party/README.md; without it they are downloaded
#   LINFORMER_TEST_XSIMD_SOURCE=FOLDER ...    an unpacked xsimd
#   NATIVE=build/release ...         the build whose programs' answers are compared; it must exist
#   TESTS="kernels session" ...      runs only these tests; the default is the list below
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
zig=${LINFORMER_ZIG-$(command -v zig || true)}
if [ -z "$zig" ]; then
  echo "skipped: zig is not here"
  exit 0
fi
native=$(realpath "${NATIVE:-build/release}")
read -ra tests <<<"${TESTS:-kernels gemm session golden_fairseq golden_families}"

options=(-DLINFORMER_FETCH_DEPS=ON -DLINFORMER_DEPS_DIR="${LINFORMER_DEPS_DIR-}" -DLINFORMER_BUILD_TESTS=ON
  -DLINFORMER_ONEDNN=OFF -DLINFORMER_OPENBLAS=OFF
  "-DLINFORMER_TEST_OPTIONS=-O0;-fno-sanitize=undefined")  # zig adds a sanitizer to code that isn't optimised.
if [ -n "${LINFORMER_TEST_XSIMD_SOURCE-}" ]; then
  options+=(-DFETCHCONTENT_SOURCE_DIR_LINFORMER_XSIMD="$LINFORMER_TEST_XSIMD_SOURCE")
fi

same() { cmp "$1" "$2" && echo "same: $1"; }

answers() {  # answers NAME PROGRAM...: writes the program's answers about the sample to files that begin with NAME
  local name=$1
  shift
  "$@" inspect "$sample/modell ü.lnfr" >"$name-inspect.txt"
  "$@" classify "$sample/modell ü.lnfr" "A fine, moving film." "Ein schöner Film 词" --json >"$name-texts.jsonl"
  "$@" classify "$sample/modell ü.lnfr" --input "$sample/reviews.jsonl" --json >"$name-reviews.jsonl"
  "$@" classify "$sample/modell ü.lnfr" - <"$sample/reviews.jsonl" --format jsonl >"$name-piped.txt"
  "$@" embed "$sample/modell ü.lnfr" --input "$sample/reviews.jsonl" --pooling mean -o "$name-vectors ü.npy"
}

journey() {  # journey HOST SUFFIX STARTER...: runs both programs in a folder whose name isn't ASCII
  local host=$1 suffix=$2 there=$work/journey
  shift 2
  rm -rf "$there"
  mkdir -p "$there/Wörter 词"
  cp -r apps/sample/* "$there/Wörter 词/"
  # The program starts the converter that is in the same folder.
  cp "$work/apps/convert/linformer-convert$suffix" "$work/apps/cli/"
  pushd "$there" >/dev/null
  sample="Wörter 词"
  local theirs=("$@" "$work/apps/cli/linformer$suffix") convert=("$@" "$work/apps/cli/linformer-convert$suffix")
  # On Windows `linformer convert` is tested, because Windows starts programs in its own way. Elsewhere the converter is
  # run directly, because a started program wouldn't run in the emulator.
  if [ -n "$suffix" ]; then convert=("${theirs[@]}" convert); fi
  "${convert[@]}" "$sample/checkpoint.pt" -o "$sample/modell ü.lnfr" --tokenizer "$sample" --labels negative,positive
  "$native/apps/convert/linformer-convert" "$sample/checkpoint.pt" -o native.lnfr --tokenizer "$sample" \
    --labels negative,positive --quiet
  same "$sample/modell ü.lnfr" native.lnfr
  answers "$host" "${theirs[@]}"
  answers native "$native/apps/cli/linformer"
  head -n 3 "$host-texts.jsonl" "$host-reviews.jsonl"
  for answer in inspect.txt texts.jsonl reviews.jsonl piped.txt "vectors ü.npy"; do
    # The kernels for AArch64 add in another order, so the last digits of the answers differ.
    if [[ $host == *aarch64* && $answer != inspect.txt ]]; then continue; fi
    same "$host-$answer" "native-$answer"
  done
  if "${theirs[@]}" classify "no such file.lnfr" x; then exit 1; fi
  "${theirs[@]}" bench --random tiny --n 64 --k 16 --dtype f32 --seconds 0.1 --threads 2
  popd >/dev/null
}

try() {  # try HOST
  local host=$1 target suffix="" start=() status
  target=$(PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=apps/release python3 -c \
    'import hosts, sys; print(hosts.HOSTS[sys.argv[1]].target)' "$host")
  case $host in
    windows-*)
      suffix=.exe
      start=("$(command -v wine64 || command -v wine || true)")
      export WINEPREFIX=${WINEPREFIX:-$PWD/build/hosts/wine} WINEDEBUG=${WINEDEBUG:--all}
      ;;
    linux-"$(uname -m)"*) ;;
    linux-*) start=("$(command -v "qemu-${target%%-*}" || true)") ;;
    *) echo "$host can't run here" >&2 && exit 2 ;;
  esac
  if [ ${#start[@]} -gt 0 ] && [ -z "${start[0]}" ]; then
    echo "skipped $host: wine or qemu is not here"
    return 0
  fi
  work=$PWD/build/hosts/$host
  mkdir -p build/hosts
  cmake -S . -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLINFORMER_ZIG="$zig" -DLINFORMER_ZIG_TARGET="$target" \
    -DCMAKE_TOOLCHAIN_FILE="$PWD/apps/release/toolchains/zig.cmake" "${options[@]}" >"$work.log"
  cmake --build "$work" --parallel "${JOBS:-$(nproc)}" --target linformer_cli linformer-convert "${tests[@]/#/test_}"
  local test
  for test in "${tests[@]}"; do
    echo "== $host: $test"
    status=0
    "${start[@]}" "$(find "$work/tests" -name "test_$test$suffix" -type f)" || status=$?
    # The status 77 means that some cases were skipped and none failed.
    if [ $status -ne 0 ] && [ $status -ne 77 ]; then exit $status; fi
  done
  journey "$host" "$suffix" "${start[@]}"
}

for host in "$@"; do try "$host"; done
