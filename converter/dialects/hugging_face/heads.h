// Reads the heads of a model with a Hugging Face encoder.
#pragma once

#include "converter/dialects/dialect.h"
#include "converter/dialects/hugging_face/names.h"
#include "converter/dialects/tensor_table.h"

namespace linformer::convert::hugging_face {

// The state of a conversion after its encoder has been read.
struct HeadInputs {
  Conversion& conversion;
  TensorTable& tensors;
  const Settings& settings;
  const Family& family;
  float epsilon;
};

// Reads the masked-LM head, if there is one. Throws Error that names the tensor or setting.
void add_masked_lm(const HeadInputs& inputs);
// Reads the classification heads and the sentence embedding. Throws Error that names the tensor or setting.
void add_heads(const HeadInputs& inputs);

}  // namespace linformer::convert::hugging_face
