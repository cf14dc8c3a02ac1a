// XXH3, the checksum of model files. It detects accidental damage, not deliberate changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Returns XXH3-64 with seed 0. O(bytes), allocates nothing, thread-safe.
uint64_t hash_bytes(std::span<const std::byte> bytes);

}  // namespace LINFORMER_NAMESPACE
