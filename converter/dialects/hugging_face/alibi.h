// ALiBi: attention looks less at what is farther away, by a slope of each head. Jina's encoders have it on both sides.
// Source: huggingface/text-embeddings-inference, backends/candle/src/alibi.rs (published semantics of the code on the
// hub, beside which this project has not been run).
#pragma once

#include <cstdint>
#include <span>

namespace linformer::convert::hugging_face {

// `bias` is [heads, 2 N - 1]: its column j - i + N - 1 becomes what is added to the score of row i and row j.
void fill_alibi(uint64_t heads, std::span<float> bias);

}  // namespace linformer::convert::hugging_face
