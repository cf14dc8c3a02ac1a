// What stands on top of a Linformer of mlpen/Nystromformer.
#pragma once

#include <cstdint>

#include "converter/dialects/dialect.h"
#include "converter/dialects/tensor_table.h"

namespace linformer::convert::nystromformer {

// What an encoder has left behind for its heads.
struct HeadInputs {
  Conversion& conversion;
  TensorTable& tensors;
  const Settings& settings;
  uint32_t embedding_dim;  // channels of the token embedding, which a factorized one has fewer of than d_model
  Activation activation;   // of the layers, and of the masked-LM head
};

// All heads that the tensors show: masked LM, the long-range arena's classifiers, BERT's classifier and question
// answering. Throws Error that names the tensor or setting.
void add_heads(const HeadInputs& inputs);

}  // namespace linformer::convert::nystromformer
