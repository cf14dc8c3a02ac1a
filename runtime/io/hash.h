// XXH3, the checksum of the format: finds accidents, promises nothing against intent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// XXH3-64 with seed 0. O(bytes), no allocation, thread-safe.
uint64_t hash_bytes(std::span<const std::byte> bytes);

}  // namespace LINFORMER_NAMESPACE
