// Random numbers that can't be known outside of this process.
#pragma once

#include <cstdint>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Returns another random number at each call: the operating system's or, if it has none, one from an address and the
// time. Hash tables whose keys come from files choose their hash functions with it, so that the maker of a file can't
// choose keys that share a slot. Results never depend on the number.
uint64_t random_number();

}  // namespace LINFORMER_NAMESPACE
