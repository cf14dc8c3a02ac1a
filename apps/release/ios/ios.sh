#!/bin/bash
# Builds the library for iOS and its simulator and packs it as an xcframework. Needs macOS with Xcode and CMake.
#   bash apps/release/ios/ios.sh [FOLDER]
# FOLDER is build/ios by default. The pinned libraries (third_party/README.md) are taken from the folder
# LINFORMER_DEPS_DIR, or downloaded if that is not set.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

if ! command -v xcodebuild >/dev/null; then
  echo "ios.sh: xcodebuild was not found: an xcframework can be built only on macOS with Xcode" >&2
  exit 2
fi
out=${1:-build/ios}
libraries=()
for sdk in iphoneos iphonesimulator; do
  architectures=arm64
  if [ "$sdk" = iphonesimulator ]; then architectures="arm64;x86_64"; fi
  cmake -S . -B "$out/$sdk" -G Xcode -DCMAKE_SYSTEM_NAME=iOS -DCMAKE_OSX_SYSROOT="$sdk" \
    -DCMAKE_OSX_ARCHITECTURES="$architectures" -DCMAKE_OSX_DEPLOYMENT_TARGET=15.0 \
    -DLINFORMER_FETCH_DEPS=ON -DLINFORMER_DEPS_DIR="${LINFORMER_DEPS_DIR-}" \
    -DLINFORMER_BUILD_APPS=OFF -DLINFORMER_BUILD_CONVERTER=OFF -DLINFORMER_BUILD_TESTS=OFF \
    -DLINFORMER_ONEDNN=OFF -DLINFORMER_OPENBLAS=OFF
  cmake --build "$out/$sdk" --config Release --target linformer
  libraries+=(-library "$out/$sdk/runtime/Release-$sdk/liblinformer.a" -headers "$out/headers")
done
mkdir -p "$out/headers"
cp runtime/c_api/linformer*.h "$out/headers/"
printf 'module linformer {\n  header "linformer.h"\n  export *\n}\n' >"$out/headers/module.modulemap"
rm -rf "$out/linformer.xcframework"
xcodebuild -create-xcframework "${libraries[@]}" -output "$out/linformer.xcframework"
