// Numbers that nobody outside of this process can know.
#pragma once

#include <cstdint>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Another one at each call, from the system. For hash tables that files fill: whoever makes a file can't choose keys
// that share a slot. Results never depend on it.
uint64_t random_number();

}  // namespace LINFORMER_NAMESPACE
