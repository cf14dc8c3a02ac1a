// Reads the metadata section into a ModelDescription.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/description.h"
#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Verifies the structure of `metadata`, which is aligned to 64 bytes, then copies everything except the tokenizer's
// large arrays, which become views into `metadata`. Checks counts and enumerators; validate() checks the meaning. The
// memory that it allocates stays below `file_bytes` + description_allowance, however often the file refers to the same
// table or string. Errors: corrupt_file, unsupported for enumerators that this version doesn't know, and out_of_memory.
Status read_description(std::span<const std::byte> metadata, uint64_t file_bytes, ModelDescription* description);

}  // namespace LINFORMER_NAMESPACE
