// The token embedding, and a masked-LM head's output over the vocabulary. Most models tie the output to the embedding.
#pragma once

#include "converter/dialects/dialect.h"
#include "converter/dialects/tensor_table.h"

namespace linformer::convert::hugging_face {

// Returns the token embedding: the tensor `tokens` or, if that is absent, the tensor `output`, because safetensors
// keeps only one name of two tied tensors. Throws Error if neither is there, or if only `output` is and
// tie_word_embeddings is false.
const Tensor& token_embedding(TensorTable& tensors, const Settings& settings, const char* tokens, const char* output);

// Sets the weight of mlm.output, [vocabulary, width], to the tensor `output` or, if that is absent, to the embedding
// `tokens`. Throws Error if `output` differs from the embedding and the setting tie_word_embeddings is not false, or if
// `output` is absent and the setting is false.
void add_vocabulary_output(Conversion& conversion, TensorTable& tensors, const Settings& settings, const char* tokens,
                           const char* output, Size width);

}  // namespace linformer::convert::hugging_face
