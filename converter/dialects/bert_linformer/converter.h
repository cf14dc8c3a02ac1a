// BERT's and RoBERTa's classes whose self-attention alone was replaced by Linformer's: the parts that such models
// share.
#pragma once

#include <functional>
#include <string>

#include "base/description.h"
#include "converter/dialects/common.h"
#include "converter/dialects/hugging_face/encoder.h"

namespace linformer::convert::bert_linformer {

// What differs between them.
struct Form {
  const hugging_face::Family& family;
  RowMask row_mask;
  LengthScale length_scale;
  const char* model;  // for the report
};

class Converter {
 public:
  // What it is given must outlive it.
  Converter(Conversion& conversion, const Settings& settings, const Form& form);

  // `columns`: of layer 0's projections, whose name is `source`.
  void read_sizes(uint32_t columns, const std::string& source);
  // `add_projections` fills a layer's key and value projections.
  void read(const std::function<void(uint32_t index, AttentionDescription* attention)>& add_projections);

  TensorTable& tensors() { return tensors_; }
  const Settings& settings() const { return settings_; }
  // [k, N] or longer; what no text reaches is cut off.
  uint32_t add_projection(const std::string& role, const Tensor& matrix);

 private:
  Conversion& conversion_;
  const Settings& settings_;
  const Form& form_;
  TensorTable tensors_;
  ProjectionTable projections_;
  hugging_face::EncoderReader reader_;
};

}  // namespace linformer::convert::bert_linformer
