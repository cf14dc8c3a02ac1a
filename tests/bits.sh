#!/bin/bash
# Runs the same models with two builds and compares the bits of all results. The models are random models, the variants
# of tests/session/variants.h, the goldens, and the sample model on a file of texts. Each runs on every backend and
# instruction set. All but the goldens run in every precision, and all but the sample model on the simulated device too.
#   bash tests/bits.sh OLD NEW [REVIEWS.jsonl]     OLD and NEW: build folders of two source trees, such as build/release
#   BITS_MODELS=40 bash tests/bits.sh ...          number of random models; the default is 400
# Each record of REVIEWS.jsonl has a field "text". The default is apps/sample/reviews.jsonl. With the scalar kernels the
# program reads only the first 100 records, because thousands would take hours. Both build folders must be configured
# with their tests. Both builds run at the same time. If lines differ, they are printed and the exit code is 1.
set -euo pipefail

if [ $# -lt 2 ] || [ $# -gt 3 ]; then
  sed -n '2,9s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
old=$(cd "$1" && pwd) new=$(cd "$2" && pwd)
reviews=$(realpath "${3:-$tree/apps/sample/reviews.jsonl}")
work=$(mktemp -d)

finish() {  # Ends the build that still runs if the other one failed.
  jobs -pr | xargs -r kill 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

build() {  # build BUILD FILE: builds the programs that write() runs, and writes the output to FILE.log
  cmake --build "$1" --parallel "${JOBS:-$(nproc)}" \
    --target bits_cpu bits_device linformer_cli linformer-convert >"$2.log" 2>&1 ||
    { tail -n 20 "$2.log" >&2; echo "bits.sh: $1 could not be built" >&2; exit 2; }
}

# write BUILD FILE: writes all bits of one build to FILE. The build's own converter makes the models, because the file
# formats of the two builds may differ.
write() {
  local build=$1 out=$2 models=$2.models sample=$2.sample.lnfr
  mkdir -p "$models"
  local linformer=$build/apps/cli/linformer convert=$build/apps/convert/linformer-convert
  local golden checkpoint name config dtype isa options threads limit
  for golden in "$tree"/tests/data/golden/*/*/ "$tree"/../shared/golden/*/*/; do
    name=$(basename "$(dirname "$golden")")-$(basename "$golden")
    config=()
    if [ -e "$golden/meta.json" ]; then
      python3 -c 'import json, sys
json.dump(json.load(open(sys.argv[1])).get("config", {}), open(sys.argv[2], "w"))' "$golden/meta.json" "$models/config"
      config=(--config "$models/config")
    fi
    # The converter refuses some goldens, such as those that lack the projections. They are left out.
    for checkpoint in "$golden"checkpoint.pt "$golden"checkpoint.safetensors "$golden"; do
      if ! [ -e "$checkpoint" ]; then continue; fi
      "$convert" "$checkpoint" -o "$models/$name.lnfr" --quiet "${config[@]}" >>"$out.log" 2>&1 || true
      break
    done
  done
  "$build/tests/bits/bits_cpu" "${BITS_MODELS:-400}" "$models"/*.lnfr >"$out"
  "$build/tests/bits/bits_device" "${BITS_MODELS:-400}" "$models"/*.lnfr | sed 's/^/simulated device: /' >>"$out"
  for dtype in f32 bf16 f16 int8; do
    "$convert" "$tree/apps/sample/checkpoint.pt" -o "$sample" --force --quiet --dtype $dtype \
      --tokenizer "$tree/apps/sample" --labels "$tree/apps/sample/labels.txt" >>"$out.log" 2>&1
    for isa in scalar avx2 avx512 neon; do
      limit=()
      if [ $isa = scalar ]; then limit=(--limit 100); fi
      # A batch holds the texts that had been read when it began, so its size varies from run to run. oneDNN and
      # OpenBLAS may choose code by the number of rows (runtime/cpu/README.md), so each of their batches holds one text.
      for options in "--backend native" "--backend onednn --batch 1" "--backend openblas --batch 1"; do
        for threads in 1 2; do
          # shellcheck disable=SC2086
          printf 'texts, %s, %s, %s, %s threads: %s\n' $dtype $isa "${options#* }" $threads "$(
            "$linformer" classify "$sample" -i "$reviews" "${limit[@]}" --json --isa $isa $options \
              --threads $threads 2>&1 | sha256sum | cut -c1-16)" >>"$out"
          if [ $isa = scalar ]; then break; fi
        done
      done
    done
  done
}

build "$old" "$work/old"
build "$new" "$work/new"
write "$old" "$work/old" &
write "$new" "$work/new" &
wait -n
wait -n
echo "$(wc -l <"$work/new") lines of bits, $(find "$work/new.models" -name '*.lnfr' | wc -l) goldens"
if diff "$work/old" "$work/new"; then
  echo "The bits are the same."
else
  exit 1
fi
