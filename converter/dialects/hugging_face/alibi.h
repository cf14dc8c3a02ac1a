// ALiBi: a bias on attention scores that falls linearly with the distance between two tokens, by a slope for each head.
// In Jina's encoders it falls in both directions.
// Source: huggingface/text-embeddings-inference, backends/candle/src/alibi.rs. That code reproduces the models' own
// code on the hub, with which this project has not been compared.
#pragma once

#include <cstdint>
#include <span>

namespace linformer::convert::hugging_face {

// Fills `bias`, [heads, 2 N - 1]. Its column j - i + N - 1 is the value that is added to the score of query i and key
// j.
void fill_alibi(uint64_t heads, std::span<float> bias);

}  // namespace linformer::convert::hugging_face
