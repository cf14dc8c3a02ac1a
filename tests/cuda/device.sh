#!/bin/bash
# Tests and measures the CUDA executor on a machine whose GPU is available for a few minutes only.
#   bash tests/cuda/device.sh pack               on any machine with a network: gathers in build/device what the build
#                                                needs; with the source tree that is less than 40 MB
#   bash tests/cuda/device.sh run [OPTION]...    on the machine with the GPU: builds, tests and measures, step by step
#   bash tests/cuda/device.sh steps              prints the steps and the seconds that each may take
#   bash tests/cuda/device.sh rehearse ROOT      as root, on any machine: tries `run` in ROOT, a folder with a bare
#                                                Debian 12, without a network, up to the first step that needs a GPU
# The machine with the GPU needs nvcc (CUDA 12 or newer, with cuBLASLt), CMake 3.25, ninja, g++, Python 3, and this
# source tree with build/device. It needs no network.
#
# Options of run:
#   --seconds S     start no step that may end later than S seconds from now; default 520
#   --out FOLDER    write summary.txt and results.tar.gz there after each step; default $OUT, or build/device-results
#   --arch LIST     CMAKE_CUDA_ARCHITECTURES; default: the GPU's architecture, or 90-real if there is no GPU
#   --jobs N        number of jobs of the build; default: one for each processor
#   --patience N    give each step N times its seconds; default 1
#   --steps LIST    run only these steps (comma-separated), even those that already have a result
# The results are kept in build/device-results. `run` skips the steps that passed, failed or were skipped, and repeats
# those that were stopped, and `build` and `device` until they pass; call it again until no step is left. To continue on
# another machine, unpack results.tar.gz in the source tree that is copied there. The exit status is 1 if `build` or
# `device` doesn't pass, or else 3 if some steps are left, 1 if a step failed or was stopped, and otherwise 0.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
pack=$PWD/build/device
results=$PWD/build/device-results
build=$PWD/build/cuda
tests=$build/tests/cuda
linformer=$build/apps/cli/linformer

# Each line has a step and the seconds that it may take, the most valuable step first. All but `build` need a GPU.
steps="
build             300
device            60
test-kernels      150
test-reference    100
test-golden       100
test-golden-all   100
memcheck          180
racecheck         180
synccheck         120
bits              120
products          100
bench-f16-128     120
bench-bf16-128    120
bench-f32-128     120
bench-f16-256     120
bench-bf16-256    120
bench-f32-256     120
torch             400
paper-f16         240
paper-f32         240
"

die() {
  echo "device.sh: $*" >&2
  exit 2
}

say() { printf '%(%H:%M:%S)T  %s\n' -1 "$*"; }

# Sets paths to nvcc and to cuBLASLt, which may be part of the toolkit or of PyTorch's packages.
find_tools() {
  if ! command -v nvcc >/dev/null; then export PATH=$PATH:/usr/local/cuda/bin; fi
  local toolkit folders
  toolkit=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")")")
  # The folder of cuBLASLt's header and that of its library; each is empty if it isn't found.
  mapfile -t folders < <(python3 - "$toolkit" <<'PYTHON'
import glob, os, site, sys
roots = [sys.argv[1]] + [os.path.join(s, "nvidia", "*") for s in site.getsitepackages() + sys.path if s]
for names in (("include/cublasLt.h", "targets/x86_64-linux/include/cublasLt.h"),
              ("lib64/libcublasLt.so.*", "lib/libcublasLt.so.*", "targets/x86_64-linux/lib/libcublasLt.so.*")):
    found = [path for root in roots for name in names for path in glob.glob(os.path.join(root, name))]
    print(os.path.dirname(found[0]) if found else "")
PYTHON
  )
  if [ -n "${folders[0]-}" ] && ! [ -e "$toolkit/include/cublasLt.h" ]; then
    export CPLUS_INCLUDE_PATH=${folders[0]}${CPLUS_INCLUDE_PATH:+:$CPLUS_INCLUDE_PATH}
  fi
  if [ -n "${folders[1]-}" ]; then export LD_LIBRARY_PATH=${folders[1]}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}; fi
}

own_architecture() {
  local capability
  capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -1 | tr -d .)
  if [[ $capability =~ ^[0-9]+$ ]]; then echo "$capability-real"; else echo 90-real; fi
}

step_build() {
  if ! [ -d "$pack/prefix" ]; then
    echo "$pack is not here: run 'device.sh pack' where there is a network, and carry the folder along"
    return 1
  fi
  # Without LINFORMER_DEVELOPER=OFF, warnings of that machine's compiler would be errors.
  local options=(-DLINFORMER_DEVELOPER=OFF -DCMAKE_CUDA_ARCHITECTURES="$architectures" -DLINFORMER_FETCH_DEPS=ON
    -DLINFORMER_FETCH_PROGRAM_DEPS=OFF -DLINFORMER_DEPS_DIR="$pack/archives"
    -DCMAKE_PREFIX_PATH="$pack/prefix" -DLINFORMER_SHARED_DIR="$pack/shared")
  if [ -d "$pack/xsimd" ]; then options+=(-DFETCHCONTENT_SOURCE_DIR_LINFORMER_XSIMD="$pack/xsimd"); fi
  cmake --preset cuda "${options[@]}" &&
    cmake --build --preset cuda --parallel "$jobs" --target linformer_cli linformer-convert device_programs
}

step_device() {
  nvidia-smi
  nvcc --version | tail -2
  "$linformer" --version
  "$linformer" bench --random tiny --n 64 --k 16 --dtype f32 --seconds 0.1 --device cuda || return
  local libraries
  libraries=$(python3 -c 'import torch; print("PyTorch", torch.__version__)' 2>&1 | tail -1)
  echo "$libraries"
}

step_test_kernels() { "$tests/test_cuda"; }
step_test_reference() { "$tests/test_cuda_reference"; }
step_test_golden() {
  "$tests/test_cuda_golden" --test-suite-exclude=shared && "$tests/test_cuda_golden_fairseq" --test-suite-exclude=shared
}
step_test_golden_all() {
  "$tests/test_cuda_golden" --test-suite=shared && "$tests/test_cuda_golden_fairseq" --test-suite=shared
}

# compute-sanitizer makes kernels 10 to 100 times slower, so it runs a test with few calls and checks only the runtime's
# kernels.
sanitized() {
  local sanitizer
  sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
  if [ -z "$sanitizer" ]; then
    echo "skipped: compute-sanitizer is not here"
    return 77
  fi
  "$sanitizer" --error-exitcode 9 --print-limit 20 --kernel-name kns=run_kernel --tool "$@" \
    "$tests/test_cuda_every_kernel"
}
step_memcheck() { sanitized memcheck --padding 64 --report-api-errors no; }
step_racecheck() { sanitized racecheck; }
step_synccheck() { sanitized synccheck; }

step_bits() { "$tests/test_cuda_bits"; }
step_products() { "$tests/cuda_products" --json "$results/products.json"; }

step_bench() {
  "$linformer" bench --random base --device cuda --dtype "$1" --k "$2" --n 512,4096,16384,65536 --batch 1,32 \
    --seconds 0.5 --profile --json >"$results/bench-$1-$2.json" && tail -c 300 "$results/bench-$1-$2.json"
}

step_torch() {
  python3 tests/cuda/device_torch.py --linformer "$build" --json "$results/torch.json"
}

step_paper() {
  "$linformer" bench --paper --device cuda --dtype "$1" --minutes 3.5 --json >"$results/paper-$1.json"
}

run_step() {
  case $1 in
    bench-*)
      IFS=- read -r _ precision k <<<"$1"
      step_bench "$precision" "$k"
      ;;
    paper-*) step_paper "${1#paper-}" ;;
    *) "step_${1//-/_}" ;;
  esac
}

# Runs a step and writes its result as a line to NAME.status: passed, failed, stopped or skipped, then the elapsed
# seconds and the CPU seconds.
do_step() {
  local name=$1 most=$2 log=$results/$1.log begin=$SECONDS status word
  say "$name"
  local TIMEFORMAT="%U %S" cpu
  { time timeout --kill-after=5 "$most" bash tests/cuda/device.sh step "$name" >"$log" 2>&1; } 2>"$results/.times"
  status=$?
  cpu=$(awk 'END { printf "%d", $1 + $2 }' "$results/.times")
  case $status in
    0) word=passed ;;
    77) word=skipped ;;
    124 | 137) word=stopped ;;
    *) word=failed ;;
  esac
  echo "$word $((SECONDS - begin)) $cpu" >"$results/$name.status"
  say "$name: $word after $((SECONDS - begin)) s, $cpu s of CPU time"
  publish
}

publish() {
  python3 tests/cuda/device_summary.py "$results" >"$results/summary.txt" || true
  mkdir -p "$out"
  tar -czf "$out/results.tar.gz.part" --exclude='results.tar.gz*' build/device-results
  mv "$out/results.tar.gz.part" "$out/results.tar.gz"
  if [ "$out" != "$results" ]; then cp "$results/summary.txt" "$out/summary.txt"; fi
}

run() {
  local seconds=520 patience=1 chosen="" name most left=""
  out=${OUT:-$results}
  while [ $# -gt 0 ]; do
    if [ $# -lt 2 ]; then die "$1 needs a value"; fi
    case $1 in
      --seconds) seconds=$2 ;;
      --out) out=$2 ;;
      --arch) architectures=$2 ;;
      --jobs) jobs=$2 ;;
      --patience) patience=$2 ;;
      --steps) chosen=,$2, ;;
      *) die "run has no option $1; see the first lines of this file" ;;
    esac
    shift 2
  done
  mkdir -p "$results"
  export architectures jobs out
  while read -r name most; do
    if [ -z "$name" ]; then continue; fi
    most=$((most * patience))
    if [ -n "$chosen" ]; then
      if ! [[ $chosen == *,$name,* ]]; then continue; fi
    elif [[ $name == build || $name == device ]]; then
      # These steps run again on another machine, and on the same one until they pass.
      if [ -x "$tests/cuda_products" ] && grep -qs '^passed' "$results/$name.status"; then continue; fi
    elif grep -qs -E '^(passed|failed|skipped)' "$results/$name.status"; then
      continue
    fi
    if [ "$most" -gt $((seconds - SECONDS)) ]; then
      left+=" $name"
      continue
    fi
    do_step "$name" "$most"
    if [[ $name == build || $name == device ]] && ! grep -q '^passed' "$results/$name.status"; then
      say "no other step can run without this one; its output ends with:"
      tail -20 "$results/$name.log"
      return 1
    fi
  done <<<"$steps"
  cat "$results/summary.txt"
  if [ -n "$left" ]; then
    echo "Left for another call:$left"
    return 3
  fi
  ! grep -q -E '^(failed|stopped)' "$results"/*.status
}

rehearse() {
  local root=${1-}
  if [ -z "$root" ]; then die "rehearse needs a folder; see the first lines of this file"; fi
  if ! [ -x "$root/usr/bin/cmake" ]; then
    command -v debootstrap >/dev/null || die "rehearse needs debootstrap: apt-get install debootstrap"
    debootstrap --variant=minbase --include=g++,cmake,ninja-build,python3 bookworm "$root" >/dev/null || exit
  fi
  local toolkit tree=$root/linformer
  toolkit=$(readlink -f "$(dirname "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")/..")
  rm -rf "$tree"  # Files of an earlier dry run are not used again.
  mkdir -p "$tree" "$root$toolkit" "$root/usr/local"
  ln -sfn "$toolkit" "$root/usr/local/cuda"
  {
    git ls-files -z --cached --others --exclude-standard
    find build/device -type f -print0
  } | tar --null --ignore-failed-read -cf - -T - | tar -xf - -C "$tree" || exit
  # The commands in ROOT have no network, and can read only the toolkit of this machine.
  unshare --net --mount bash -c '
    mount --make-rprivate / && mount --bind "$2" "$1$2" && mount -t proc proc "$1/proc" && mount --bind /dev "$1/dev" &&
      shift 2 && exec chroot "$0" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        HOME=/root LANG=C.UTF-8 bash -c "time bash /linformer/tests/cuda/device.sh run \"\$@\"" _ "$@"
  ' "$root" "$root" "$toolkit" --seconds 1000000 --patience 30 "${@:2}"
}

architectures=${architectures:-$(own_architecture)}
jobs=${jobs:-$(nproc)}
command=${1-}
shift || true
case $command in
  pack) exec python3 tests/cuda/device_pack.py "$pack" ;;
  run)
    find_tools
    run "$@"
    ;;
  step) # With this command `run` starts each step in its own process.
    run_step "$1"
    ;;
  steps) echo "$steps" | sed '/^$/d' ;;
  rehearse) rehearse "$@" ;;
  *) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0" && exit 2 ;;
esac
