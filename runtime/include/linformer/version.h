// The version of these headers and of the library.
#pragma once

#include <cstdint>

#define LINFORMER_VERSION_MAJOR 0
#define LINFORMER_VERSION_MINOR 1
#define LINFORMER_VERSION_PATCH 0

// Everything is in an inline namespace of the version, linformer::v0_1. So two versions of the library can be linked
// into one process, and a program that was compiled with the headers of another version doesn't link. Programs write
// linformer:: only.
#ifndef LINFORMER_VERSION_NAMESPACE
#define LINFORMER_VERSION_NAMESPACE v0_1
#endif
#define LINFORMER_NAMESPACE linformer::inline LINFORMER_VERSION_NAMESPACE

namespace LINFORMER_NAMESPACE {

struct Version {
  uint32_t major, minor, patch;
  friend bool operator==(const Version&, const Version&) = default;
};
inline constexpr Version header_version = {LINFORMER_VERSION_MAJOR, LINFORMER_VERSION_MINOR, LINFORMER_VERSION_PATCH};
// Returns the version of the library that runs.
Version library_version();

}  // namespace LINFORMER_NAMESPACE
