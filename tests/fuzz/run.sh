#!/bin/bash
# Builds the fuzz targets and runs them one after another. HOURS is their time in all, and each gets an equal share.
#   bash tests/fuzz/run.sh HOURS [TARGET...]     targets: model, checkpoint, tokenizer, program; default: all
#   FUZZ_SEED=1 bash tests/fuzz/run.sh ...       the same random numbers each time
#   FUZZ_TIMEOUT=600 bash tests/fuzz/run.sh ...  seconds that one input may take, by default 60. A busy machine needs
#                                                more, because libFuzzer measures elapsed time, not processor time
#   FUZZ_AT_ONCE=2 bash tests/fuzz/run.sh ...    runs two targets at the same time
# HOURS may be a fraction: 0.033 gives each of four targets half a minute.
# A target starts with the inputs of fuzz_seeds and of corpus/TARGET. New inputs go to build/fuzz/corpus, which is
# reduced when the target ends. A crash stops its target only, and its input is kept in build/fuzz/crashes.
# A table of the results is printed at the end. The exit code is 1 if a target crashed. JOBS sets the jobs of the build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [ $# -lt 1 ]; then
  sed -n '2,11s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
hours=$1
shift
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then targets=(model checkpoint tokenizer program); fi
seconds=$(awk -v hours="$hours" -v count=${#targets[@]} 'BEGIN { s = int(hours * 3600 / count); print s < 1 ? 1 : s }')

# The length of the longest input of each target, in bytes. It bounds how much one input may cost.
declare -A longest=([model]=65536 [checkpoint]=131072 [tokenizer]=32768 [program]=4096)
for target in "${targets[@]}"; do
  if [ -z "${longest[$target]-}" ]; then
    echo "there is no target $target: give some of ${!longest[*]}" >&2
    exit 2
  fi
done

. third_party/install.sh
linformer_install build fuzz
linformer_ccache
build=build/fuzz
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --parallel "${JOBS:-$(nproc)}" --target fuzz_seeds "${targets[@]/#/fuzz_}"

# The tests of the preset asan-ubsan have the same option. tests/README.md gives the reason.
export ASAN_OPTIONS=intercept_tls_get_addr=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}

# Targets write their inputs as files for every run, so the files lie in memory if possible.
if [ -z "${TMPDIR-}" ] && [ -w /dev/shm ]; then export TMPDIR=/dev/shm; fi
TMPDIR=$(mktemp -d)  # The trap below also removes the files that a crashed target leaves.
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
mkdir -p $build/crashes $build/logs
$build/tests/fuzz/fuzz_seeds $build/seeds

# fuzz TARGET: runs the target and writes its output to $build/logs/TARGET.
fuzz() {
  local target=$1 program=$build/tests/fuzz/fuzz_$1 log=$build/logs/$1 found=$build/corpus/$1
  local inputs=("$found" "$build/seeds/$target")
  if [ -d "tests/fuzz/corpus/$target" ]; then inputs+=("tests/fuzz/corpus/$target"); fi
  mkdir -p "$found"
  "$program" -max_total_time="$seconds" -seed="${FUZZ_SEED:-0}" -max_len="${longest[$target]}" -timeout="${FUZZ_TIMEOUT:-60}" -rss_limit_mb=2560 \
    -artifact_prefix="$build/crashes/$target-" -print_final_stats=1 "${inputs[@]}" >"$log" 2>&1
}

# shrink TARGET: removes the inputs of the corpus without which it covers the same code.
shrink() {
  local target=$1 found=$build/corpus/$1
  if [ "$(ls "$found" | wc -l)" -lt 2 ]; then return; fi
  rm -rf "$found.small"
  mkdir "$found.small"
  if "$build/tests/fuzz/fuzz_$target" -merge=1 -max_len="${longest[$target]}" -rss_limit_mb=2560 "$found.small" "$found" \
    >"$build/logs/$target-merge" 2>&1; then
    rm -rf "$found"
    mv "$found.small" "$found"
  else
    rm -rf "$found.small"
  fi
}

# run TARGET: fuzzes the target, and writes its minutes times ten to $build/logs/TARGET-tenths. If the target crashed,
# the file $build/logs/TARGET-failed is created.
run() {
  local target=$1 begin=$SECONDS
  echo "== $target: $seconds s"
  rm -f "$build/logs/$target-failed"
  if ! fuzz "$target"; then
    touch "$build/logs/$target-failed"
    grep -aE '^(VIOLATED|SUMMARY|==[0-9]+==ERROR)|runtime error' "$build/logs/$target" || tail -5 "$build/logs/$target"
  fi
  echo $(((SECONDS - begin + 5) / 6)) >"$build/logs/$target-tenths"
  # After a short run the corpus isn't reduced, because that would take longer than the run.
  if [ "$seconds" -ge 300 ]; then shrink "$target"; fi
}

running=0
for target in "${targets[@]}"; do
  if [ "$running" -ge "${FUZZ_AT_ONCE:-1}" ]; then
    wait -n
    running=$((running - 1))
  fi
  run "$target" &
  running=$((running + 1))
done
wait
status=0
for target in "${targets[@]}"; do
  if [ -e "$build/logs/$target-failed" ]; then status=1; fi
done

echo
printf '%-11s %12s %8s %8s %8s %8s\n' target executions minutes cov ft crashes
for target in "${targets[@]}"; do
  log=$build/logs/$target
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  covered=$(grep -aoE 'cov: [0-9]+ ft: [0-9]+' "$log" | tail -1)
  tenths=$(<"$build/logs/$target-tenths")
  printf '%-11s %12s %8s %8s %8s %8s\n' "$target" "${runs:-?}" "$((tenths / 10)).$((tenths % 10))" \
    "$(awk '{ print $2 }' <<<"$covered")" "$(awk '{ print $4 }' <<<"$covered")" \
    "$(find $build/crashes -name "$target-*" ! -name '*slow-unit*' | wc -l)"
done
for target in "${targets[@]}"; do
  echo
  echo "$target, worst:"
  grep -a '^cost: ' $build/logs/"$target" | sed 's/^cost: /  /' || echo "  nothing was printed"
done
exit $status
