#!/bin/bash
# From a PyTorch checkpoint to answers, on a bare Debian 12: installs what is missing, builds library and programs,
# converts the sample model, looks at it and classifies a few film reviews.
#   bash apps/quickstart.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=build/quickstart
begin=$SECONDS

. apps/common/steps.sh
log=$build.log

step "1. Packages that are missing"
. third_party/install.sh
linformer_install build

step "2. Build (a few minutes; log in $log)"
mkdir -p build
linformer_ccache
: >"$log"
logged cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLINFORMER_BUILD_TESTS=OFF
# Everything that `cmake --install` installs: the programs write their man pages and completions.
logged cmake --build "$build" --target linformer linformer_shared linformer_manual --parallel "$(nproc)"

step "3. Convert the checkpoint that PyTorch saved to one model file"
show "$build/apps/convert/linformer-convert" apps/sample/checkpoint.pt -o "$build/sample.lnfr" \
  --tokenizer apps/sample --labels apps/sample/labels.txt

step "4. What is in it"
show "$build/apps/cli/linformer" inspect "$build/sample.lnfr"

step "5. Classify reviews (the last one has more than 800 words)"
show "$build/apps/cli/linformer" classify "$build/sample.lnfr" --input apps/sample/reviews.jsonl --id id --table

printf '\nDone in %d s. Your own texts:\n$ %s classify %s "A lovely, moving film." "What a waste of two hours!"\n' \
  "$((SECONDS - begin))" "$build/apps/cli/linformer" "$build/sample.lnfr"
sudo="sudo "
if [ "$(id -u)" -eq 0 ]; then sudo=; fi
printf '\nTo have linformer and linformer-convert on the PATH (below /usr/local):\n$ %scmake --install %s\n' \
  "$sudo" "$build"
