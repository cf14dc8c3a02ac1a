# Lists the system packages that the project needs, and installs them. Source this file:
#   . third_party/install.sh
#   linformer_install build         # library, converter and programs
#   linformer_install build test    # the same, and what the tests need
#   linformer_install build fuzz    # the same, and what the fuzz targets need (tests/fuzz)
#   linformer_install build debian  # the same, and what makes Debian packages (apps/release)
#   linformer_install build release # the same, and what makes the archives of a release (apps/release)
#   linformer_install aarch64       # the compiler and the emulator for AArch64 (tests/targets)
#   linformer_ccache                # makes later builds use ccache; call it in the source root
# linformer_install installs only missing packages and asks no questions. On a system without apt it prints the list and
# succeeds; CMake then says what it can't find.

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
  curl                 # fetches archives for apps/release/install.sh
  libsentencepiece-dev # the reference for unigram tokenizers
  valgrind             # counts instructions
  man-db zsh fish      # read the manual pages and completions
  doxygen              # writes the API reference
  python3-numpy        # computes an independent encoder for comparison
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
  git ca-certificates python3-venv                 # fetch the source, and zig into a virtual environment
  g++-aarch64-linux-gnu                            # compiles the static library for AArch64
  pkg-config binutils qemu-user wine64 musl-tools  # test the archives
)
linformer_packages_debian_check=(
  lintian debootstrap # check packages, and make the bare system that they are installed in
)

# Compilers for other architectures, and emulators that run their programs (tests/targets).
linformer_packages_aarch64=(g++-aarch64-linux-gnu qemu-user)
linformer_packages_armhf=(g++-arm-linux-gnueabihf qemu-user)
linformer_packages_i386=(g++-i686-linux-gnu qemu-user)
linformer_packages_wasm32=(emscripten node-acorn nodejs)
# Other compilers for this architecture.
linformer_packages_clang_14=(clang-14)
linformer_packages_clang_19=(clang-19)

# Prints the packages of the groups that aren't installed, separated by spaces.
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

# Makes later builds use ccache if it is installed. Compiled objects are shared between clones of the repository. So the
# debug information of an object may name the folder of another clone.
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
