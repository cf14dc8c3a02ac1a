#!/bin/bash
# Installs what is missing, builds the release preset, runs every test and ends with ctest's summary.
#   bash tests/run.sh            release
#   bash tests/run.sh PRESET     another one of CMakePresets.json: debug, asan-ubsan, tsan, minimal, ...
# CTEST_ARGUMENTS adds arguments to ctest, e.g. CTEST_ARGUMENTS="-L threads". The exit code is ctest's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=${1:-release}

. third_party/install.sh
linformer_install build test

# Compiled objects are remembered where ccache is there; nothing depends on it.
if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}; fi

jobs=$(nproc)
echo "== $preset: configure"
cmake --preset "$preset"
echo "== $preset: build with $jobs jobs"
cmake --build --preset "$preset" --parallel "$jobs"
echo "== $preset: test"
read -ra arguments <<<"${CTEST_ARGUMENTS-}"
# Tests measure threads, memory and time limits of their own, so only two run at once.
run_tests() { ctest --preset "$preset" --parallel "$((jobs < 2 ? jobs : 2))" "${arguments[@]}" "$@"; }
status=0
run_tests || status=$?
# The leak checker of GCC 12 now and then crashes itself after a test has passed ("Tracer caught signal 11"). That says
# nothing about the test; where nothing else failed, those tests run once more.
logs=build/${preset/minimal-in-release/release}/Testing/Temporary
crashed() {
  awk '/^[0-9]+\/[0-9]+ Testing: / { name = $3 } /LeakSanitizer has encountered a fatal error/ { print name }' \
    "$logs/LastTest.log" | sort -u
}
if [ $status -ne 0 ] && [ -f "$logs/LastTestsFailed.log" ] && [ -n "$(crashed)" ] &&
  [ "$(cut -d: -f2 "$logs/LastTestsFailed.log" | sort -u)" = "$(crashed)" ]; then
  echo "== $preset: the leak checker crashed; its tests run once more"
  status=0
  run_tests --rerun-failed || status=$?
fi
exit $status
