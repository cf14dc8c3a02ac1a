// Limits on what a file may say beyond those in base/description.h. Each bounds work or memory that a
// hostile file could otherwise ask for; each is far above any model that exists.
#pragma once

#include <cstddef>
#include <cstdint>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

inline constexpr uint32_t max_projections = 1u << 16;
inline constexpr uint32_t max_exact_tokens = 8;  // of a projection; an op has room for so many
inline constexpr uint32_t max_classification_heads = 1024;
inline constexpr uint32_t max_added_tokens = 1u << 16;
inline constexpr uint32_t max_template_entries = 64;
inline constexpr uint32_t max_normalizer_steps = 64;
inline constexpr uint32_t max_split_steps = 16;
inline constexpr uint32_t max_prompts = 256;
inline constexpr size_t max_prompt_bytes = 8192;  // of one prompt's text
inline constexpr size_t max_name_bytes = 1024;    // names, labels, added tokens

inline constexpr uint32_t max_metadata_depth = 8;  // Model, Encoder, Layer, Attention, Linear: 5

// A file may name one string or table many times; what the reader allocates for all of them stays below the
// file's size plus this.
inline constexpr uint64_t description_allowance = uint64_t{1} << 20;  // bytes

}  // namespace LINFORMER_NAMESPACE
