#!/bin/bash
# Measures matrix products and the base model on a processor with AMX, in about 15 minutes on an otherwise idle machine.
#   bash tests/amx.sh [FOLDER] [STEP...]     writes the results to FOLDER; default build/amx
# Without STEP all steps run, in this order. A step other than `build` is skipped if its result is already in FOLDER.
#   build     installs missing packages and builds the programs of the release preset
#   tests     runs the kernels' tests, which compare the processor's tiles with emulated ones bit by bit
#   rates     measures products, their tiles alone, their epilogues alone and the row kernels, on one thread
#   profile   measures the base model's ops in bf16 and int8 at n = 512, on one thread
#   shares    measures which share of the processor's limit the base model reaches at n = 8, 64, 512 and 4096 in f32,
#             bf16 and int8, on all threads
#   peers     measures OpenVINO and linformer in turns at n = 512 and 4096, after `apps/bench/peers.py setup`
# At the end the shares are printed as a table. The exit code is 77 if the processor has no AMX, and 1 if a step failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=${1:-build/amx}
if [ $# -gt 0 ]; then shift; fi
steps=("$@")
if [ ${#steps[@]} -eq 0 ]; then steps=(build tests rates profile shares peers); fi
if ! grep -qw amx_tile /proc/cpuinfo; then
  echo "tests/amx.sh: this processor has no AMX, or its system hides it: nothing was measured" >&2
  exit 77
fi
mkdir -p "$out"
threads=$(nproc)
program=build/release/apps/cli/linformer

run_build() {
  . third_party/install.sh
  linformer_install build test || return 1
  linformer_ccache
  cmake --preset release &&
    cmake --build --preset release --parallel "$threads" --target linformer_cli linformer-convert test_kernels amx_rates
}
run_tests() { build/release/tests/kernels/test_kernels; }
run_rates() { build/release/tests/amx/amx_rates; }
run_profile() { "$program" bench --random base --n 512 --threads 1 --dtype bf16,int8 --profile; }
run_shares() { "$program" bench --random base --n 8,64,512,4096 --threads "$threads" --seconds 5 --json; }
run_peers() {
  python3 apps/bench/peers.py setup >&2 &&
    python3 apps/bench/peers.py encode --linformer build/release --n 512,4096 --k 128 --threads "$threads" --rounds 3 \
      --engines openvino,linformer --precisions f32,bf16,int8
}

failed=()
for step in "${steps[@]}"; do
  if ! declare -F "run_$step" >/dev/null; then
    echo "tests/amx.sh: there is no step $step; the steps are build, tests, rates, profile, shares, peers" >&2
    exit 1
  fi
  if [ "$step" != build ] && [ -s "$out/$step" ]; then
    echo "== $step: skipped, because $out/$step exists"
    continue
  fi
  begin=$SECONDS
  if "run_$step" >"$out/$step.part" 2>"$out/$step.log"; then
    mv "$out/$step.part" "$out/$step"
    echo "== $step: $((SECONDS - begin)) s, $out/$step"
  else
    failed+=("$step")
    echo "== $step failed after $((SECONDS - begin)) s: $out/$step.log ends with"
    tail -n 5 "$out/$step.log" "$out/$step.part"
  fi
done

if [ -s "$out/shares" ]; then
  python3 - "$out/shares" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
print(report["machine"]["processor"], "with", report["threads"], "threads")
print(f"{'type':6}{'n':>6}{'median ms':>11}{'of limit':>10}{'of memory':>11}")
for case in report["results"]:
    print(f"{case['compute']:6}{case['n']:6}{case['median_ms']:11.2f}{case['share_of_limit']:10.1%}"
          f"{case['share_of_memory']:11.1%}")
PYTHON
fi
if [ ${#failed[@]} -gt 0 ]; then
  echo "tests/amx.sh: failed: ${failed[*]}" >&2
  exit 1
fi
