#!/bin/bash
# What takes longer than CI has time for. By hand, from anywhere:
#   bash tests/long.sh              names the subjects
#   bash tests/long.sh SUBJECT...   runs them one after the other; the exit code is the first one's that fails
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# 5,000 random tokenizer.json files beside Hugging Face's tokenizers; a few minutes.
tokenizers() {
  build release linformer_cli
  python3 tests/tokenizers/compare_test.py build/release/apps/cli/linformer --seed 7 --compositions 5000 --texts 40 \
    --reasons --fetch build/release/tests/tokenizers/packages
}

# 20,000 random SentencePiece models and as many damaged ones beside the library; a few minutes.
sentencepiece() {
  build release test_text_sentencepiece
  LINFORMER_SENTENCEPIECE_MODELS=20000 build/release/tests/text/test_text_sentencepiece \
    --test-case='*SentencePiece models equal the library*'
}

# Every command line on every golden, ../shared's too, and on random and unusual models, with sanitizers; an hour of a
# core. LINFORMER_COMMANDS_MODELS=N: as many random models, 100 otherwise.
commands() {
  build asan-ubsan test_commands
  ASAN_OPTIONS=intercept_tls_get_addr=0 build/asan-ubsan/tests/commands/test_commands --no-skip --test-case='complete*'
}

# An input that is truncated or replaced at every call of every program that writes.
lost_files() {
  build release test_programs_output
  LINFORMER_EXHAUSTIVE=1 build/release/tests/files/test_programs_output --test-case="*truncated*"
}

# Control characters in every option of every command, every string of a model file and every report.
terminal() {
  build release test_terminal
  LINFORMER_EXHAUSTIVE=1 build/release/tests/terminal/test_terminal
}

# build PRESET TARGET...
build() {
  local preset=$1
  shift
  . third_party/install.sh
  linformer_install build test
  linformer_ccache
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset" --parallel "$(nproc)" --target "$@"
}

subjects=(tokenizers sentencepiece commands lost_files terminal)
if [ $# -eq 0 ]; then
  echo "Subjects: ${subjects[*]}"
  exit 0
fi
for subject in "$@"; do
  case " ${subjects[*]} " in
    *" $subject "*) echo "== $subject" && "$subject" ;;
    *) echo "There is no subject '$subject'; there are: ${subjects[*]}" >&2 && exit 2 ;;
  esac
done
