// MPNet's bias by relative position, which T5 introduced: one learned value for each head and each of 32 buckets of
// distances, a bucket for each small distance and logarithmic ones up to 128.
// Source: huggingface/transformers, MPNetEncoder.relative_position_bucket.
#pragma once

#include <cstdint>
#include <span>

namespace linformer::convert::hugging_face {

// `buckets` is [rows, heads]; of its rows the first 32 are read. `bias` is [heads, 2 N - 1]: its column j - i + N - 1
// becomes what is added to the score of row i and row j. Throws Error where there are fewer rows.
void fill_relative_bias(std::span<const float> buckets, uint64_t rows, uint64_t heads, std::span<float> bias);

}  // namespace linformer::convert::hugging_face
