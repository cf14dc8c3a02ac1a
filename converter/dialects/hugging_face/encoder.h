// What the encoders of Hugging Face's classes have in common, whatever their attention does.
#pragma once

#include <cstdint>
#include <string>

#include "base/description.h"
#include "converter/dialects/dialect.h"
#include "converter/dialects/hugging_face/names.h"
#include "converter/dialects/tensor_table.h"

namespace linformer::convert::hugging_face {

// Reads what the settings and the shapes say, then parts of the encoder one by one. Whatever it is given must outlive
// it. All throw Error that names the tensor or setting.
class EncoderReader {
 public:
  EncoderReader(Conversion& conversion, TensorTable& tensors, const Settings& settings, const Family& family)
      : conversion_(conversion), tensors_(tensors), settings_(settings), family_(family) {}

  // Fills in vocabulary, width, pad and the first token's row of positions; checks the settings against `tokens`, the
  // token embedding. The positions that a text may have.
  uint32_t read_sizes(const Tensor& tokens);
  // The tables of tokens, positions and token types, and the norm behind their sum.
  void add_embedding(const Tensor& tokens);
  // Where the longest text was found: for the report.
  const std::string& longest_source() const { return longest_source_; }
  // layers[index] without projections, as far as the family goes.
  LayerDescription& add_layer(uint32_t index);
  // What the family adds to the scores of all layers, which are there already. Nothing where it adds nothing.
  void add_position_bias();

  uint32_t layers() const { return layers_; }
  float epsilon() const { return epsilon_; }

 private:
  Size d_model() const { return {conversion_.description.encoder.d_model, "d_model"}; }
  // Of the embedding's tables.
  Size table_width() const { return {table_width_, "embedding width"}; }
  Norm norm(const std::string& role, const std::string& name, Size width);
  // Rows of positions: of their table, or as many as the settings say.
  uint32_t count_positions();
  void add_positions();
  Linear turned(const std::string& role, const std::string& name);
  void add_gated_network(const std::string& prefix, const std::string& role, LayerDescription* layer);
  uint32_t count_layers();
  std::string layer_prefix(uint32_t index) const;

  Conversion& conversion_;
  TensorTable& tensors_;
  const Settings& settings_;
  const Family& family_;
  uint32_t layers_ = 0, heads_ = 0, table_width_ = 0;
  uint32_t groups_ = 0, inner_layers_ = 1;  // of families whose layers share weights
  std::string longest_source_;
  float epsilon_ = 0;
  Activation activation_ = Activation::gelu;
};

}  // namespace linformer::convert::hugging_face
