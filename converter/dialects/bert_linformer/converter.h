// Converts models of BERT's and RoBERTa's classes in which only the self-attention was replaced by Linformer's.
#pragma once

#include <functional>
#include <string>

#include "base/description.h"
#include "converter/dialects/common.h"
#include "converter/dialects/hugging_face/encoder.h"

namespace linformer::convert::bert_linformer {

// The properties in which such models differ.
struct Form {
  const hugging_face::Family& family;
  RowMask row_mask;
  LengthScale length_scale;
  const char* model;  // What errors call the model.
};

class Converter {
 public:
  // The arguments must outlive the converter.
  Converter(Conversion& conversion, const Settings& settings, const Form& form);

  // Reads the sizes. `columns` is the number of positions that layer 0's projection takes, and `source` says for the
  // report where that number was found.
  void read_sizes(uint32_t columns, const std::string& source);
  // Reads all parts of the model. `add_projections` is called for each layer and sets its key and value projections.
  void read(const std::function<void(uint32_t index, AttentionDescription* attention)>& add_projections);

  TensorTable& tensors() { return tensors_; }
  const Settings& settings() const { return settings_; }
  // Adds a projection and returns its index. `matrix` is [k, N] or has more columns, which no text reaches and which
  // are cut off.
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
