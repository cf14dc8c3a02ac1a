#!/bin/bash
# What a processor with AMX does with our products, in about 15 minutes of a quiet machine.
#   bash tests/amx.sh [FOLDER] [STEP...]     results go to FOLDER, by default build/amx
# Steps, in this order, by default all; one whose result lies in FOLDER already is passed over:
#   build     the release preset's programs, installing what is missing
#   tests     the kernels' tests, which compare real tiles with emulated ones bit by bit
#   rates     products, their tiles alone, their epilogues alone, the row kernels: one thread
#   profile   the base model's ops in bf16 and int8, n = 512: one thread
#   shares    the base model's share of the processor's limit at n = 8, 64, 512, 4096 in f32, bf16, int8: all threads
#   peers     OpenVINO and linformer in turns, n = 512 and 4096, where apps/bench/peers.py is set up or can be
# Ends with the shares as a table. The exit code is 77 where the processor has no AMX, 1 where a step failed.
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
run_profile() { "$program" bench --random base --n 512 --threads 1 --precision bf16,int8 --profile; }
run_shares() { "$program" bench --random base --n 8,64,512,4096 --threads "$threads" --seconds 5 --json; }
run_peers() {
  python3 apps/bench/peers.py setup >&2 &&
    python3 apps/bench/peers.py encode --linformer build/release --n 512,4096 --k 128 --threads "$threads" --rounds 3 \
      --engines openvino,linformer --precisions f32,bf16,int8
}

failed=()
for step in "${steps[@]}"; do
  if ! declare -F "run_$step" >/dev/null; then
    echo "tests/amx.sh: there is no step $step: build, tests, rates, profile, shares, peers" >&2
    exit 1
  fi
  if [ "$step" != build ] && [ -s "$out/$step" ]; then
    echo "== $step: $out/$step is there already"
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
