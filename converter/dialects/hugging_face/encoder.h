// Reads the parts that the encoders of Hugging Face's classes have in common, whatever their attention is.
#pragma once

#include <cstdint>
#include <string>

#include "base/description.h"
#include "converter/dialects/dialect.h"
#include "converter/dialects/hugging_face/names.h"
#include "converter/dialects/tensor_table.h"

namespace linformer::convert::hugging_face {

// Reads an encoder part by part. The caller calls read_sizes() first and the other functions in the order of their
// declaration. The constructor's arguments must outlive the reader. All functions throw Error that names the tensor or
// setting.
class EncoderReader {
 public:
  EncoderReader(Conversion& conversion, TensorTable& tensors, const Settings& settings, const Family& family)
      : conversion_(conversion), tensors_(tensors), settings_(settings), family_(family) {}

  // Sets the vocabulary, the width, the pad token and the row of the position table that the first token gets, and
  // checks the settings against `token_table`, the token embedding. Returns the number of positions that a text may
  // have.
  uint32_t read_sizes(const Tensor& token_table);
  // Adds the tables of tokens, positions and token types, and the norm of their sum.
  void add_embedding(const Tensor& token_table);
  // Returns where the number of positions was found, for the report.
  const std::string& position_count_source() const { return position_count_source_; }
  // Adds layers[index] with all parts that the family has. The caller sets the projections and the mask.
  LayerDescription& add_layer(uint32_t index);
  // Sets the bias that the family adds to the scores of all layers. Does nothing if the family has none.
  void add_position_bias();

  uint32_t layers() const { return layers_; }
  float epsilon() const { return epsilon_; }

 private:
  Size d_model() const { return {conversion_.description.encoder.d_model, "d_model"}; }
  // Returns the width of the embedding's tables.
  Size table_width() const { return {table_width_, "embedding width"}; }
  Norm norm(const std::string& role, const std::string& name, Size width);
  // Returns the number of rows in the table of positions or, if there is no table, the number in the settings.
  uint32_t count_positions();
  void add_positions();
  Linear read_rotary_linear(const std::string& role, const std::string& name);
  void add_gated_network(const std::string& prefix, const std::string& role, LayerDescription* layer);
  uint32_t count_layers();
  std::string layer_prefix(uint32_t index) const;

  Conversion& conversion_;
  TensorTable& tensors_;
  const Settings& settings_;
  const Family& family_;
  uint32_t layers_ = 0, heads_ = 0, table_width_ = 0;
  uint32_t groups_ = 0, inner_layers_ = 1;  // Only for families whose layers share weights.
  std::string position_count_source_;
  float epsilon_ = 0;
  Activation activation_ = Activation::gelu;
};

}  // namespace linformer::convert::hugging_face
