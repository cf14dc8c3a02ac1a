// What stands on top of a Hugging Face encoder.
#pragma once

#include "converter/dialects/dialect.h"
#include "converter/dialects/hugging_face/names.h"
#include "converter/dialects/tensor_table.h"

namespace linformer::convert::hugging_face {

// What an encoder has left behind for its heads.
struct HeadInputs {
  Conversion& conversion;
  TensorTable& tensors;
  const Settings& settings;
  const Family& family;
  float epsilon;
};

// Both throw Error that names the tensor or setting.
void add_masked_lm(const HeadInputs& inputs);
// Classification heads, and what `embed` gives.
void add_heads(const HeadInputs& inputs);

}  // namespace linformer::convert::hugging_face
