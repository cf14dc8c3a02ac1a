#!/bin/bash
# Builds with other compilers and for other machines with warnings as errors, and runs the tests that can run there.
#   bash tests/targets/run.sh                       all targets
#   bash tests/targets/run.sh clang-14 i386 ...     some targets
#   JOBS=4 LINFORMER_TARGETS_COMPILE_ONLY=1 ...     compiles only the library
#   TESTS="kernels session" ...                     runs only these tests; with clang, all tests
#   OLDER=cortex-a57 ...                            emulates only this one of the older processors
#   CONVERTER=build/release/apps/convert/... ...    converts goldens with this machine's program, not with the target's
# Installs missing Debian packages. Prints a table at the end. The exit code is 1 if a target failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
all="clang-14 clang-19 aarch64 armhf i386 wasm32"
jobs=${JOBS:-$(nproc)}
work=build/targets
mkdir -p "$work"
export NODE_PATH=/usr/share/nodejs  # Debian's modules. Another node than Debian's needs this path.

. third_party/install.sh
linformer_ccache

# Compiles utf8proc for another machine, so that no package of a foreign architecture is needed.
utf8proc_archive() {  # TARGET CC AR
  local target=$1 cc=$2 ar=$3 version=2.8.0 source
  source=$work/utf8proc-$version
  if [ ! -f "$source/utf8proc.c" ]; then
    local list=$work/apt
    mkdir -p "$list/lists/partial" "$list/archives/partial"
    # Takes the source from the repository from which this machine gets its packages.
    local from
    from=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' | grep -m 1 ' bookworm$') || return 1
    echo "deb-src $from main" >"$list/sources.list"
    local apt=(apt-get -qq -o "Dir::Etc::SourceList=$PWD/$list/sources.list" -o Dir::Etc::SourceParts=-
      -o "Dir::State::Lists=$PWD/$list/lists" -o "Dir::Cache::Archives=$PWD/$list/archives")
    "${apt[@]}" update && (cd "$work" && "${apt[@]}" source --download-only utf8proc) || return 1
    tar -C "$work" -xf "$work"/utf8proc_*.orig.tar.* || return 1
  fi
  mkdir -p "$work/$target"
  "$cc" -O2 -DUTF8PROC_STATIC -c "$source/utf8proc.c" -o "$work/$target/utf8proc.o" &&
    rm -f "$work/$target/libutf8proc.a" && "$ar" rcs "$work/$target/libutf8proc.a" "$work/$target/utf8proc.o"
}

# The tests that run on emulated machines. The targets of clang run all tests.
read -ra tests <<<"${TESTS:-base base_waits kernels gemm session text format golden_fairseq golden_families}"
# Some tests run again on these emulated processors, which lack bf16, or bf16 and dot products.
declare -A older=([aarch64]="${OLDER:-neoverse-n1 cortex-a57}")
older_tests=
for test in "${tests[@]}"; do
  if [[ $test =~ ^(kernels|gemm|golden_families)$ ]]; then older_tests+=${older_tests:+|}$test; fi
done
if [ -z "$older_tests" ]; then older=(); fi
table=()

# Prints how many assertions the tests in ctest's log checked.
assertions() {  # BUILD_FOLDER
  sed -n 's/^\[doctest\] assertions: *\([0-9]*\) .*/\1/p' "$1/Testing/Temporary/LastTest.log" | awk '{n += $1} END {print n + 0}'
}

# build TARGET CMAKE_ARGUMENTS...: builds the library and the tests, and runs the tests if the target can run them.
build() {
  local target=$1 log=$work/$1.log begin=$SECONDS
  shift
  local made=(linformer "${tests[@]/#/test_}") ran="-" which
  which="^(kernel_symbols|$(IFS='|' && echo "${tests[*]}"))\$"
  case $target in
    wasm32) made=(linformer tiny) ;;
    clang-*) made=(all) which=. ;;
  esac
  if [ -n "${LINFORMER_TARGETS_COMPILE_ONLY-}" ]; then made=(linformer); fi
  if ! { cmake -S . -B "$work/$target" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLINFORMER_DEVELOPER=ON \
      -DLINFORMER_OPENBLAS=OFF -DLINFORMER_TEST_CONVERTER="${CONVERTER:+$(realpath "$CONVERTER")}" "$@" && cmake --build "$work/$target" --target "${made[@]}" --parallel "$jobs"; } >"$log" 2>&1; then
    grep -E "error|warning|Error" "$log" | head -n 20
    table+=("$(printf '%-10s failed to build, see %s' "$target" "$log")")
    failed=1
    return
  fi
  if [ -n "${LINFORMER_TARGETS_COMPILE_ONLY-}" ]; then
    ran="not run"
  elif [ "$target" = wasm32 ]; then
    ran=$(answers "$work/$target/tests/install/tiny.js") || failed=1
  else
    ctest --test-dir "$work/$target" --parallel "$((jobs < 2 ? jobs : 2))" -R "$which" --output-on-failure --no-tests=error >"$work/$target-tests.log" 2>&1 || {
      failed=1
      tail -n 40 "$work/$target-tests.log"
    }
    ran="$(grep "tests passed" "$work/$target-tests.log"), $(assertions "$work/$target") assertions"
    local cpu
    for cpu in ${older[$target]-}; do
      QEMU_CPU=$cpu ctest --test-dir "$work/$target" --parallel "$((jobs < 2 ? jobs : 2))" -R "^($older_tests)\$" --output-on-failure --no-tests=error \
        >"$work/$target-$cpu-tests.log" 2>&1 || {
        failed=1
        tail -n 40 "$work/$target-$cpu-tests.log"
      }
      ran+="; $cpu: $(grep "tests passed" "$work/$target-$cpu-tests.log"), $(assertions "$work/$target") assertions"
    done
  fi
  table+=("$(printf '%-10s %4d s  built without warnings; %s' "$target" $((SECONDS - begin)) "$ran")")
}

# Compares the class logits of the sample model for a few ids on this machine and in node.
answers() {  # PROGRAM FOR NODE
  local host=$work/host ids="100 200 300 400 17 5 9 2"
  { cmake -S . -B "$host" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLINFORMER_ONEDNN=OFF -DLINFORMER_OPENBLAS=OFF &&
    cmake --build "$host" --target tiny linformer-convert --parallel "$jobs" &&
    "$host/apps/convert/linformer-convert" apps/sample/checkpoint.pt -o "$work/sample.lnfr" --force --quiet \
      --tokenizer apps/sample --labels "$(paste -sd, apps/sample/labels.txt)"; } >"$work/host.log" 2>&1 || {
    echo "the host's programs failed to build, see $work/host.log"
    return 1
  }
  local here there
  # Debian's Emscripten mistakes node for a browser if node has fetch().
  # shellcheck disable=SC2086
  here=$("$host/tests/install/tiny" "$work/sample.lnfr" $ids) && there=$(node --no-experimental-fetch "$1" "$work/sample.lnfr" $ids) || return 1
  # The scalar kernels add in another order than the host's kernels, so the last of six digits may differ.
  paste <(echo "$here") <(echo "$there") | awk '{d = $1 - $2; if (d < 0) d = -d; if (d > 2e-6) bad = 1} END {exit bad}' || {
    echo "node answered $there, this machine $here"
    return 1
  }
  echo "node answers as this machine: $(echo "$there" | paste -sd ' ')"
}

cross() {  # TARGET CC AR
  if ! utf8proc_archive "$@"; then
    table+=("$(printf "%-10s failed: apt can't download the source of utf8proc here" "$1")")
    failed=1
    return
  fi
  build "$1" -DCMAKE_TOOLCHAIN_FILE="$PWD/tests/targets/$1.cmake" -DLINFORMER_ONEDNN=OFF -DLINFORMER_BUILD_APPS=OFF \
    -DUTF8PROC_LIBRARY="$PWD/$work/$1/libutf8proc.a" -DUTF8PROC_INCLUDE_DIR="$PWD/$work/utf8proc-2.8.0" \
    -DXXHASH_INCLUDE_DIR="$PWD/$work/include" -DFLATBUFFERS_INCLUDE_DIR="$PWD/$work/include" \
    -DXSIMD_INCLUDE_DIR="$PWD/$work/include"
}

failed=0
linformer_install build test || exit 1
# The targets may use only these headers of /usr/include, because the others belong to this machine.
mkdir -p "$work/include"
for header in flatbuffers xxhash.h xsimd; do ln -sfn "/usr/include/$header" "$work/include/$header"; done
for target in ${*:-$all}; do
  echo "== $target"
  if [[ " $all " != *" $target "* ]]; then
    echo "run.sh: no target $target: give some of $all" >&2
    exit 2
  fi
  linformer_install "${target//-/_}"
  missing=$(linformer_missing "${target//-/_}")
  if [ -n "$missing" ]; then
    table+=("$(printf "%-10s failed: not tested, because these packages can't be installed here: %s" "$target" "$missing")")
    failed=1
    continue
  fi
  case $target in
    clang-*) build "$target" -DCMAKE_C_COMPILER="$target" -DCMAKE_CXX_COMPILER="${target/clang/clang++}" -DLINFORMER_ONEDNN=OFF ;;
    aarch64) cross aarch64 aarch64-linux-gnu-gcc aarch64-linux-gnu-ar ;;
    armhf) cross armhf arm-linux-gnueabihf-gcc arm-linux-gnueabihf-ar ;;
    i386) cross i386 i686-linux-gnu-gcc i686-linux-gnu-ar ;;
    wasm32) cross wasm32 emcc emar ;;
  esac
done
printf '\n'
printf '%s\n' "${table[@]}"
exit "$failed"
