// Limits of model files, in addition to those in base/description.h. Each limit bounds work or memory that a hostile
// file could ask for, and is far above what known models need.
#pragma once

#include <cstddef>
#include <cstdint>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

inline constexpr uint32_t max_projections = 1u << 16;
inline constexpr uint32_t max_exact_tokens = 8;  // For each projection. An op of a session's program has room for 8.
inline constexpr uint32_t max_classification_heads = 1024;
inline constexpr uint32_t max_added_tokens = 1u << 16;
inline constexpr uint32_t max_template_entries = 64;
inline constexpr uint32_t max_normalizer_steps = 64;
inline constexpr uint32_t max_split_steps = 16;
inline constexpr uint32_t max_prompts = 256;
inline constexpr size_t max_prompt_bytes = 8192;  // Of the text of a prompt.
inline constexpr size_t max_name_bytes = 1024;    // Of names, labels, added tokens, and the strings of tokenizers.

// How deep tables may be nested. Valid files have a depth of 5: Model, Encoder, Layer, Attention, Linear.
inline constexpr uint32_t max_metadata_depth = 8;

// A file may refer to one string or table many times. All that the reader allocates for them stays below the file's
// size plus this number of bytes.
inline constexpr uint64_t description_allowance = uint64_t{1} << 20;

}  // namespace LINFORMER_NAMESPACE
