// The token embedding and a masked-LM head's output over the vocabulary, which most models tie to it.
#pragma once

#include "converter/dialects/dialect.h"
#include "converter/dialects/tensor_table.h"

namespace linformer::convert::hugging_face {

// The token embedding; where safetensors kept the other name of the tied pair, that. Throws Error where neither is
// there.
const Tensor& token_embedding(TensorTable& tensors, const Settings& settings, const char* tokens, const char* output);

// Sets the weight of mlm.output, [vocabulary, width]: the tensor `output`, or the embedding `tokens` where it is
// absent. Throws Error where it differs from the embedding and tie_word_embeddings is not false.
void add_vocabulary_output(Conversion& conversion, TensorTable& tensors, const Settings& settings, const char* tokens,
                           const char* output, Size width);

}  // namespace linformer::convert::hugging_face
