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

linformer_ccache

jobs=$(nproc)
echo "== $preset: configure"
cmake --preset "$preset"
echo "== $preset: build with $jobs jobs"
cmake --build --preset "$preset" --parallel "$jobs"
echo "== $preset: test"
read -ra arguments <<<"${CTEST_ARGUMENTS-}"
# Tests measure threads, memory and time limits of their own, so only two run at once.
ctest --preset "$preset" --parallel "$((jobs < 2 ? jobs : 2))" "${arguments[@]}"
