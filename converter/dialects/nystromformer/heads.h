// Reads the heads of a Linformer of mlpen/Nystromformer.
#pragma once

#include <cstdint>

#include "converter/dialects/dialect.h"
#include "converter/dialects/tensor_table.h"

namespace linformer::convert::nystromformer {

// The state of a conversion after its encoder has been read.
struct HeadInputs {
  Conversion& conversion;
  TensorTable& tensors;
  const Settings& settings;
  uint32_t embedding_dim;  // The width of the token embedding: less than d_model if the embedding is factorized.
  Activation activation;   // The activation of the layers and of the masked-LM head.
};

// Reads all heads that the tensors show: masked LM, the long-range arena's classifiers, BERT's classifier and question
// answering. Throws Error that names the tensor or setting.
void add_heads(const HeadInputs& inputs);

}  // namespace linformer::convert::nystromformer
