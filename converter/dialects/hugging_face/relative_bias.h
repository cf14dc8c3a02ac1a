// MPNet's relative position bias, which T5 introduced. Each head has a learned value for each of 32 buckets of
// distances: small distances have a bucket each, and larger ones, up to 128, have buckets with logarithmic bounds.
// Source: huggingface/transformers, MPNetEncoder.relative_position_bucket.
#pragma once

#include <cstdint>
#include <span>

namespace linformer::convert::hugging_face {

// Fills `bias`, [heads, 2 N - 1], from the first 32 rows of `buckets`, [rows, heads]. Column j - i + N - 1 of `bias` is
// the value that is added to the score of query i and key j. Throws Error if `buckets` has fewer than 32 rows.
void fill_relative_bias(std::span<const float> buckets, uint64_t rows, uint64_t heads, std::span<float> bias);

}  // namespace linformer::convert::hugging_face
