#!/bin/bash
# Runs tests that take too long for CI. They are started by hand, from any folder.
#   bash tests/long.sh              lists the subjects
#   bash tests/long.sh SUBJECT...   runs these subjects. The exit code is that of the first subject that fails, or 77 if
#                                   a subject needs something that is missing
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Compares 5,000 random tokenizer.json files with Hugging Face's tokenizers. Takes a few minutes.
tokenizers() {
  build release linformer_cli
  python3 tests/tokenizers/compare_test.py build/release/apps/cli/linformer --seed 7 --compositions 5000 --texts 40 \
    --reasons --fetch build/release/tests/tokenizers/packages
}

# Compares 20,000 random SentencePiece models, and as many damaged ones, with the library. Takes a few minutes.
sentencepiece() {
  build release test_text_sentencepiece
  LINFORMER_SENTENCEPIECE_MODELS=20000 build/release/tests/text/test_text_sentencepiece \
    --test-case='*SentencePiece models equal the library*'
}

# Runs every command line on every golden, including those of ../shared, and on random and unusual models, with
# sanitizers. Takes an hour on one core. The variable LINFORMER_COMMANDS_MODELS sets the number of random models, by
# default 100.
commands() {
  build asan-ubsan test_commands
  run_test build/asan-ubsan/tests/commands/test_commands --no-skip --test-case='complete*'
}

# Truncates or replaces an input at every call of every program that writes a file.
lost_files() {
  build release test_programs_output
  LINFORMER_EXHAUSTIVE=1 build/release/tests/files/test_programs_output --test-case="*truncated*"
}

# Puts control characters into every option of every command, every string of a model file and every report.
terminal() {
  build release test_terminal
  LINFORMER_EXHAUSTIVE=1 build/release/tests/terminal/test_terminal
}

# Alters every bit and every number of model files and checkpoints, under sanitizers. Without sanitizers CI makes all or
# one in three of these alterations, depending on their kind, and with sanitizers it makes fewer. This subject takes a
# quarter of an hour on one core.
hostile() {
  build asan-ubsan test_hostile_model test_hostile_checkpoint
  local test
  for test in hostile_model hostile_checkpoint; do
    LINFORMER_EXHAUSTIVE=1 run_test "build/asan-ubsan/tests/$test/test_$test"
  done
}

# Runs the tests that start programs under sanitizers, and searches each program for leaks when it ends. CI runs these
# tests without sanitizers; there only the test `commands` searches for leaks.
leaks() {
  build asan-ubsan test_cli test_programs_output test_terminal
  local test
  for test in cli/test_cli files/test_programs_output terminal/test_terminal; do
    run_test "build/asan-ubsan/tests/$test"
  done
}

# Runs the tests of the simulated device under sanitizers. CI runs these tests without sanitizers.
simulated() {
  local names=(kernels bench simulated simulated_reference simulated_bits simulated_every_kernel simulated_golden
    simulated_golden_fairseq)
  build asan-ubsan "${names[@]/#/test_cuda_}"
  local name
  for name in "${names[@]}"; do
    echo "cuda_$name"
    run_test "build/asan-ubsan/tests/cuda/test_cuda_$name"
  done
}

# Compiles the kernels for the GPU architectures that CI leaves out. CI compiles them for the oldest and the newest one.
gpu_kernels() {
  build release linformer_session_simulated
  python3 tests/cuda/kernels.py --source . --work build/release/tests/cuda/nvrtc --arch 75,80,86 \
    --archive build/release/tests/cuda/liblinformer_session_simulated.a
}

# Runs all cases of `session`, `pipeline` and `program`, once with the address sanitizer and once with the thread
# sanitizer. CI runs a part of these cases under sanitizers.
sanitized() {
  local preset test
  for preset in asan-ubsan tsan; do
    build "$preset" test_session test_pipeline test_program
    for test in session pipeline program; do
      # Without setarch the thread sanitizer may not start; .ci/run says why.
      LINFORMER_EXHAUSTIVE=1 run_test setarch "$(uname -m)" -R "build/$preset/tests/$test/test_$test"
    done
  done
}

# Runs the tests that read ../shared under sanitizers. CI runs these tests without sanitizers.
shared() {
  if [ ! -d ../shared ]; then echo "skipped: there is no folder ../shared" && return 77; fi
  build asan-ubsan all
  ctest --preset asan-ubsan -R '_shared$'
}

# Compiles each file by itself, where other builds compile the files of a target together (runtime/unity.cmake).
separate() {
  . third_party/install.sh
  linformer_install build test
  linformer_ccache
  cmake -S . -B build/separate -G Ninja -DCMAKE_BUILD_TYPE=Release -DLINFORMER_DEVELOPER=ON -DLINFORMER_UNITY=OFF \
    -DLINFORMER_BUILD_TESTS=ON >/dev/null
  cmake --build build/separate --parallel "$(nproc)" --target all linformer_shared
}

# Runs all tests that can run on aarch64, and compiles the converter for it too. CI runs fewer tests there, and converts
# the goldens with this machine's converter.
aarch64() {
  bash tests/targets/run.sh aarch64
}

# Builds for Windows with zig, and runs tests and both programs under wine. Takes half an hour on two cores.
windows() {
  build release linformer_cli linformer-convert
  bash tests/hosts/run.sh windows-x86_64
}

# Builds static programs for Linux with zig, and runs the same tests without an emulator.
musl() {
  build release linformer_cli linformer-convert
  bash tests/hosts/run.sh "linux-$(uname -m)-musl"
}

# Tests the Python package with the libraries that it works with, and compares its results with theirs. The first run
# installs these libraries in build/python, which takes some gigabytes.
python_libraries() {
  python_package
  if [ ! -e build/python/ready ]; then
    python3 apps/bench/peers.py setup --environment build/python
    build/python/bin/pip install --quiet --requirement tests/python/requirements.txt
    touch build/python/ready
  fi
  build/python/bin/python tests/python/run.py -rs
  build/python/bin/python tests/python/compare.py
}

# Tests apps/research/linearise and apps/research/study with PyTorch and transformers. Takes some minutes. The first run
# installs both in build/linearise.
linearise() {
  python_package
  if [ ! -e build/linearise/ready ]; then
    python3 -m venv build/linearise
    build/linearise/bin/pip install --quiet pytest --requirement apps/research/linearise/requirements.txt
    touch build/linearise/ready
  fi
  OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false build/linearise/bin/python tests/linearise/run.py -rs
}

# Runs the programs of apps/bulk in Spark and Ray, with a small random model. Spark needs a Java runtime. The first run
# installs Spark and Ray in build/bulk.
bulk() {
  python_package
  if [ ! -e build/bulk/ready ]; then
    python3 -m venv build/bulk
    build/bulk/bin/pip install --quiet numpy --requirement apps/bulk/requirements.txt
    touch build/bulk/ready
  fi
  build/bulk/bin/python tests/python/models.py embedding build/bulk/model.lnfr
  build/bulk/bin/python tests/bulk/annotator_test.py build/bulk/model.lnfr
  build/bulk/bin/python tests/bulk/spark_ray_test.py --model build/bulk/model.lnfr --count 100000
}

# python_package: builds the package's library and programs, and exports the variables that name their folders.
python_package() {
  build release linformer_cli linformer-convert linformer_shared
  export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$PWD/apps/python
  export LINFORMER_CPP_LIBRARY=$PWD/build/release/runtime/liblinformer.so
  export LINFORMER_CPP_PROGRAMS=$PWD/build/release/apps/cli:$PWD/build/release/apps/convert
}

# run_test COMMAND...: runs a test program that was built with a sanitizer; tests/README.md describes ASAN_OPTIONS. The
# status 77 means that the program skipped a case and that no case failed (support/skip.h), so the subject continues.
run_test() {
  local status=0
  ASAN_OPTIONS=intercept_tls_get_addr=0 "$@" || status=$?
  if [ $status -ne 77 ]; then return $status; fi
}

# build PRESET TARGET...: builds the targets of this preset.
build() {
  local preset=$1
  shift
  . third_party/install.sh
  linformer_install build test
  linformer_ccache
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset" --parallel "$(nproc)" --target "$@"
}

subjects=(tokenizers sentencepiece commands lost_files terminal hostile leaks simulated gpu_kernels sanitized shared
  separate aarch64 windows musl python_libraries linearise bulk)
if [ $# -eq 0 ]; then
  echo "Subjects: ${subjects[*]}"
  exit 0
fi
for subject in "$@"; do
  case " ${subjects[*]} " in
    *" $subject "*) echo "== $subject" && "$subject" ;;
    *) echo "There is no subject '$subject'; the subjects are: ${subjects[*]}" >&2 && exit 2 ;;
  esac
done
