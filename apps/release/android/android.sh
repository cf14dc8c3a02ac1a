#!/bin/bash
# Builds the library for Android and packs it as an AAR with prefab modules, which Gradle's externalNativeBuild links.
#   bash apps/release/android/android.sh NDK [FOLDER]
# NDK is the folder of the NDK, r26 or newer. FOLDER is build/android by default. The pinned libraries
# (third_party/README.md) are taken from the folder LINFORMER_DEPS_DIR, or downloaded if that is not set. Shared objects
# are laid out for pages of 16 KB, which devices may have from Android 15 on.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

if [ $# -lt 1 ] || [ $# -gt 2 ] || [ ! -f "$1/build/cmake/android.toolchain.cmake" ]; then
  echo "android.sh: give the folder of the Android NDK, the one that has build/cmake/android.toolchain.cmake" >&2
  exit 2
fi
ndk=$(realpath "$1")
strip=$(echo "$ndk"/toolchains/llvm/prebuilt/*/bin/llvm-strip)
out=${2:-build/android}
version=$(sed -n 's/^project(linformer VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
level=24  # The API level of Android 7.
aar=$out/aar
module=$aar/prefab/modules/linformer
rm -rf "$aar"
mkdir -p "$module/libs" "$module/include"

for abi in arm64-v8a armeabi-v7a x86_64; do
  cmake -S . -B "$out/$abi" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_TOOLCHAIN_FILE="$ndk/build/cmake/android.toolchain.cmake" -DANDROID_ABI="$abi" \
    -DANDROID_PLATFORM="android-$level" -DANDROID_STL=c++_static \
    -DCMAKE_SHARED_LINKER_FLAGS=-Wl,-z,max-page-size=16384 \
    -DLINFORMER_FETCH_DEPS=ON -DLINFORMER_DEPS_DIR="${LINFORMER_DEPS_DIR-}" \
    -DLINFORMER_BUILD_APPS=OFF -DLINFORMER_BUILD_CONVERTER=OFF -DLINFORMER_BUILD_TESTS=OFF \
    -DLINFORMER_ONEDNN=OFF -DLINFORMER_OPENBLAS=OFF
  cmake --build "$out/$abi" --target linformer_shared --parallel "$(nproc)"
  folder=$module/libs/android.$abi
  mkdir -p "$folder"
  # The file has no version in its name, because Android's loader wouldn't find it.
  cp -L "$out/$abi/runtime/liblinformer.so" "$folder/liblinformer.so"
  "$strip" --strip-unneeded "$folder/liblinformer.so"
  printf '{"abi": "%s", "api": %d, "ndk": %d, "stl": "none", "static": false}\n' "$abi" "$level" \
    "$(sed -n 's/^Pkg.Revision = \([0-9]*\).*/\1/p' "$ndk/source.properties")" >"$folder/abi.json"
done

cp runtime/c_api/linformer*.h "$module/include/"
printf '{"export_libraries": [], "library_name": "liblinformer"}\n' >"$module/module.json"
printf '{"schema_version": 2, "name": "linformer", "version": "%s", "dependencies": []}\n' "$version" \
  >"$aar/prefab/prefab.json"
printf '<manifest xmlns:android="http://schemas.android.com/apk/res/android" package="cpp.linformer">\n%s\n</manifest>\n' \
  "  <uses-sdk android:minSdkVersion=\"$level\"/>" >"$aar/AndroidManifest.xml"
mkdir -p "$aar/META-INF"
cp LICENSE "$aar/META-INF/LICENSE"
rm -f "$out/linformer-$version.aar"
(cd "$aar" && cmake -E tar cf "../linformer-$version.aar" --format=zip .)
echo "$out/linformer-$version.aar"
