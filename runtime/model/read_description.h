// The metadata section into a ModelDescription.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/description.h"
#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Verifies the structure of `metadata` (64-byte aligned), then copies all but the tokenizer's large arrays, which
// become views into it. Counts and enumerations are checked here, meaning by validate(). What it allocates stays
// below `file_bytes` + description_allowance, however often the file names one table or string.
// Errors: corrupt_file; unsupported for enumerators that this version doesn't know.
Status read_description(std::span<const std::byte> metadata, uint64_t file_bytes, ModelDescription* description);

}  // namespace LINFORMER_NAMESPACE
