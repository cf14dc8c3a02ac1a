#!/bin/bash
# Builds the fuzz targets and runs them: HOURS of a core in all, shared evenly, one after the other.
#   bash tests/fuzz/run.sh HOURS [TARGET...]     targets: model, checkpoint, tokenizer, program; default: all
#   FUZZ_SEED=1 bash tests/fuzz/run.sh ...       the same random numbers each time
#   FUZZ_TIMEOUT=600 bash tests/fuzz/run.sh ...  seconds that one input may take, by default 60; more where the machine
#                                                is busy with other work, since libFuzzer measures the time of day
#   FUZZ_AT_ONCE=2 bash tests/fuzz/run.sh ...    two targets run beside each other
# HOURS may be a fraction: 0.033 gives each of four targets half a minute.
# A target begins with what fuzz_seeds makes and with corpus/TARGET; what it finds goes to build/fuzz/corpus and
# is made smaller when it ends. A crash stops that target, and its input is kept in build/fuzz/crashes.
# The exit code is 1 where any target crashed. A table of what was done is printed at the end. JOBS: of the build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [ $# -lt 1 ]; then
  sed -n '2,10s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
hours=$1
shift
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then targets=(model checkpoint tokenizer program); fi
seconds=$(awk -v hours="$hours" -v count=${#targets[@]} 'BEGIN { s = int(hours * 3600 / count); print s < 1 ? 1 : s }')

# The longest input, which is what a byte's cost is multiplied with.
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

# As in CMakePresets.json's asan-ubsan tests (tests/README.md says why).
export ASAN_OPTIONS=intercept_tls_get_addr=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}

# Inputs are written as files again and again: into memory where that is possible.
if [ -z "${TMPDIR-}" ] && [ -w /dev/shm ]; then export TMPDIR=/dev/shm; fi
TMPDIR=$(mktemp -d)  # which a target that crashes leaves as it is
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
mkdir -p $build/crashes $build/logs
$build/tests/fuzz/fuzz_seeds $build/seeds

# fuzz TARGET: fills $build/logs/TARGET. What is not ours to choose stays libFuzzer's default.
fuzz() {
  local target=$1 program=$build/tests/fuzz/fuzz_$1 log=$build/logs/$1 found=$build/corpus/$1
  local inputs=("$found" "$build/seeds/$target")
  if [ -d "tests/fuzz/corpus/$target" ]; then inputs+=("tests/fuzz/corpus/$target"); fi
  mkdir -p "$found"
  "$program" -max_total_time="$seconds" -seed="${FUZZ_SEED:-0}" -max_len="${longest[$target]}" -timeout="${FUZZ_TIMEOUT:-60}" -rss_limit_mb=2560 \
    -artifact_prefix="$build/crashes/$target-" -print_final_stats=1 "${inputs[@]}" >"$log" 2>&1
}

# shrink TARGET: keeps the inputs that the corpus needs for what it covers.
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

# run TARGET: what it says beside the log is $build/logs/TARGET-tenths, and -failed where it found something.
run() {
  local target=$1 begin=$SECONDS
  echo "== $target: $seconds s"
  rm -f "$build/logs/$target-failed"
  if ! fuzz "$target"; then
    touch "$build/logs/$target-failed"
    grep -aE '^(VIOLATED|SUMMARY|==[0-9]+==ERROR)|runtime error' "$build/logs/$target" || tail -5 "$build/logs/$target"
  fi
  echo $(((SECONDS - begin + 5) / 6)) >"$build/logs/$target-tenths"
  # A short run adds little; merging would take longer than it.
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
