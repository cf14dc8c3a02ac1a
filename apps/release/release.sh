#!/bin/bash
# Builds all files of a release, on a bare Debian 12. The script installs missing packages. It writes the archives of
# all hosts into FOLDER (build/release-files if none is given), the Debian packages into FOLDER/debian, and the Python
# wheels into FOLDER/wheels.
#   bash apps/release/release.sh [FOLDER] [OPTION...]      the options are those of release.py
# The pinned libraries are downloaded, or taken from the folder that --archives names.
set -euo pipefail
folder=build/release-files
if [ $# -gt 0 ] && [[ "$1" != -* ]]; then folder=$1 && shift; fi
folder=$(realpath -m "$folder")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

. apps/common/steps.sh
mkdir -p build
log=$PWD/build/release.log
: >"$log"

step "1. Packages that are missing"
. third_party/install.sh
linformer_install build release
if [ ! -x build/zig/bin/python ]; then logged python3 -m venv build/zig; fi
logged build/zig/bin/pip install --requirement apps/release/requirements.txt

step "2. Archives (about three minutes for each host)"
build/zig/bin/python apps/release/release.py --to "$folder" "$@"

step "3. Debian packages"
bash apps/release/debian.sh "$folder/debian"

step "4. Python wheels"
python3 apps/release/wheels.py "$folder"
