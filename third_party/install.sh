# The system packages that the project is built from, listed once. To be sourced:
#   . third_party/install.sh
#   linformer_install build         # library, converter and programs
#   linformer_install build test    # and what the tests need
#   linformer_install build fuzz    # and what the fuzz targets need (tests/fuzz)
#   linformer_install build debian  # and what makes Debian packages (apps/release)
#   linformer_install build release # and what makes the archives of a release (apps/release)
#   linformer_install aarch64       # and what a build for that machine needs (tests/targets)
#   linformer_ccache                # from the source root: what is built afterwards goes through ccache
# Asks apt only for what is missing, without questions. On a system without apt it names the list and goes on:
# CMake says what it can't find.

linformer_packages_build=(
  g++ cmake ninja-build
  flatbuffers-compiler libflatbuffers-dev libxxhash-dev # the model file
  libxsimd-dev                                          # native kernels
  libdnnl-dev libopenblas-openmp-dev                    # optional backends
  libutf8proc-dev                                       # tokenizers
  libcli11-dev nlohmann-json3-dev                       # converter and programs
  zlib1g-dev                                            # gzipped texts
)
linformer_packages_test=(
  doctest-dev pkg-config
  curl                 # what apps/release/install.sh fetches archives with
  libsentencepiece-dev # a second opinion on unigram tokenizers
  valgrind             # counts instructions
  man-db zsh fish      # read the manual pages and completions
  doxygen              # writes the API reference
  python3-numpy        # a second opinion on the encoder
  python3-pytest       # runs the tests of the Python package
  python3-pip          # fetches NVRTC, which compiles the GPU's kernels
)
linformer_packages_fuzz=(
  clang libclang-rt-dev # libFuzzer and the sanitizers
)
linformer_packages_debian=(
  dpkg-dev file # find the libraries that a package depends on
)
linformer_packages_release=(
  git ca-certificates python3-venv                 # the source, and zig in an environment of its own
  g++-aarch64-linux-gnu                            # the static library of that machine
  pkg-config binutils qemu-user wine64 musl-tools  # try the archives
)
linformer_packages_debian_check=(
  lintian debootstrap # check packages, and make the bare system that they are installed in
)

# Compilers of other machines, and what runs their programs (tests/targets).
linformer_packages_aarch64=(g++-aarch64-linux-gnu qemu-user)
linformer_packages_armhf=(g++-arm-linux-gnueabihf qemu-user)
linformer_packages_i386=(g++-i686-linux-gnu qemu-user)
linformer_packages_wasm32=(emscripten node-acorn nodejs)
# Other compilers of this machine.
linformer_packages_clang_14=(clang-14)
linformer_packages_clang_19=(clang-19)

# Prints those of the groups' packages that aren't installed, between spaces.
linformer_missing() {
  local group package missing=()
  for group in "$@"; do
    local -n packages="linformer_packages_$group"
    for package in "${packages[@]}"; do
      if ! [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ]; then
        missing+=("$package")
      fi
    done
  done
  echo "${missing[*]}"
}

# Compiled objects are remembered where ccache is there; nothing depends on it. They serve every clone: only debug
# information names its folder, and may then name another's.
linformer_ccache() {
  if ! command -v ccache >/dev/null; then return 0; fi
  export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
  export CCACHE_BASEDIR=${CCACHE_BASEDIR-$PWD} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR-1}
}

linformer_install() {
  local missing
  read -ra missing <<<"$(linformer_missing "$@")"
  if [ ${#missing[@]} -eq 0 ]; then return 0; fi
  if ! command -v apt-get >/dev/null; then
    echo "This system has no apt-get. Needed, by their Debian names: ${missing[*]}" >&2
    return 0
  fi
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "Missing: ${missing[*]}. Run this as root, or install sudo." >&2
      return 1
    fi
    as_root=(sudo)
  fi
  echo "Installing: ${missing[*]}"
  local quiet=(-qq -o Dpkg::Use-Pty=0 -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300)
  "${as_root[@]}" apt-get "${quiet[@]}" update </dev/null &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "${quiet[@]}" install -y --no-install-recommends \
      "${missing[@]}" </dev/null >/dev/null
}
