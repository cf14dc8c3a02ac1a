#!/bin/bash
# Builds for Windows with zig, and runs tests and both programs under wine; their answers must be this machine's.
#   bash tests/windows/run.sh
#   LINFORMER_ZIG=PROGRAM ...        another zig than the one on the PATH
#   LINFORMER_DEPS_DIR=FOLDER ...    has the archives of third_party/README.md; without it they are downloaded
#   LINFORMER_TEST_XSIMD_SOURCE=FOLDER ...    an unpacked xsimd
#   NATIVE=build/release ...         the build whose programs' answers are compared; it must exist
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
zig=${LINFORMER_ZIG-$(command -v zig || true)}
wine=$(command -v wine64 || command -v wine || true)
if [ -z "$zig" ] || [ -z "$wine" ]; then
  echo "skipped: zig or wine is not here"
  exit 0
fi
work=$PWD/build/windows
native=${NATIVE:-build/release}
export WINEPREFIX=${WINEPREFIX:-$work/wine} WINEDEBUG=${WINEDEBUG:--all}

options=(-DLINFORMER_FETCH_DEPS=ON -DLINFORMER_DEPS_DIR="${LINFORMER_DEPS_DIR-}" -DLINFORMER_BUILD_TESTS=ON)
if [ -n "${LINFORMER_TEST_XSIMD_SOURCE-}" ]; then
  options+=(-DFETCHCONTENT_SOURCE_DIR_LINFORMER_XSIMD="$LINFORMER_TEST_XSIMD_SOURCE")
fi
cmake -S . -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLINFORMER_ZIG="$zig" \
  -DLINFORMER_ZIG_TARGET=x86_64-windows-gnu -DCMAKE_TOOLCHAIN_FILE="$PWD/apps/release/toolchains/zig.cmake" \
  "${options[@]}" >"$work.log"
tests=(kernels/test_kernels gemm/test_gemm session/test_session golden/test_golden_fairseq golden/test_golden_families)
cmake --build "$work" --parallel "${JOBS:-$(nproc)}" --target linformer_cli linformer-convert "${tests[@]##*/}"
for test in "${tests[@]}"; do
  echo "== ${test##*/}"
  status=0
  "$wine" "$work/tests/$test.exe" || status=$?
  if [ $status -ne 0 ] && [ $status -ne 77 ]; then exit $status; fi  # 77: a case was skipped, and none failed
done

there=$work/journey
rm -rf "$there"
mkdir -p "$there/Wörter 词"
cp apps/sample/* "$there/Wörter 词/"
cd "$there"
linformer() { "$wine" "$work/apps/cli/linformer.exe" "$@"; }
here=$(cd "$OLDPWD" && realpath "$native")
same() { cmp "$1" "$2" && echo "same: $1"; }
sample="Wörter 词"
texts=("A fine, moving film." "Ein schöner Film 词")
# The program starts the converter beside it.
cp "$work/apps/convert/linformer-convert.exe" "$work/apps/cli/"
linformer convert "$sample/checkpoint.pt" -o "$sample/modell ü.lnfr" --tokenizer "$sample" --labels negative,positive
"$here/apps/convert/linformer-convert" "$sample/checkpoint.pt" -o linux.lnfr --tokenizer "$sample" \
  --labels negative,positive --quiet
same "$sample/modell ü.lnfr" linux.lnfr
answers() {  # NAME PROGRAM...
  local name=$1
  shift
  "$@" inspect "$sample/modell ü.lnfr" >"$name-inspect.txt"
  "$@" classify "$sample/modell ü.lnfr" "${texts[@]}" --json >"$name-texts.jsonl"
  "$@" classify "$sample/modell ü.lnfr" --input "$sample/reviews.jsonl" --json >"$name-reviews.jsonl"
  "$@" classify "$sample/modell ü.lnfr" - <"$sample/reviews.jsonl" --format jsonl >"$name-piped.txt"
  "$@" embed "$sample/modell ü.lnfr" --input "$sample/reviews.jsonl" --pooling mean -o "$name-vectors ü.npy"
}
answers windows linformer
answers linux "$here/apps/cli/linformer"
cat windows-inspect.txt windows-texts.jsonl
head -n 3 windows-reviews.jsonl
for answer in inspect.txt texts.jsonl reviews.jsonl piped.txt "vectors ü.npy"; do
  same "windows-$answer" "linux-$answer"
done
linformer classify "no such file.lnfr" x && exit 1
linformer bench --random tiny --n 64 --k 16 --dtype f32 --seconds 0.1 --threads 2
