// The layers that the language model and the bare encoder of lucidrains' `linformer` package, and the vision
// transformers built on the package, have in common.
// Source: lucidrains/linformer 0.2.3 (commit 970e1c3f), 0.2.1 (50ca7b6), 0.1.0 (6449082) and 0.0.5 (1b63f2b); and
// compressed-maskformer-reco/masked-linformer (021cd7c), which adds masks to these layers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/description.h"
#include "converter/dialects/common.h"

namespace linformer::convert::lucidrains {

enum class Layout : uint8_t {
  layers,      // net.layers.L.0 and net.layers.L.1 are attention and feed-forward network of layer L, since 0.2.0.
  reversible,  // net.blocks.L.f.net and net.blocks.L.g.net are attention and feed-forward network of layer L.
  fours,       // layers.L.0 to layers.L.3 are norm, attention, norm and feed-forward network (masked-linformer).
  pairs        // net.J.fn is an attention if J is even and a feed-forward network if J is odd (0.1.0 and older).
};

// Returns the layout of the layers whose names begin with `prefix`, or nothing if there are none.
std::optional<Layout> layout_of(const TensorTable& tensors, const std::string& prefix);
// Returns whether `name` is the name of a layer's key projection in any layout. It is for the functions recognise(),
// which have no TensorTable.
bool is_key_projection_name(std::string_view name, const std::string& prefix);

// Returns N, the number of positions that the first layer's projection takes.
uint32_t projection_input_length(const TensorTable& tensors, const std::string& prefix, Layout layout);

// Reads attention modules, which have the parts to_q, to_k, to_v, to_out, proj_k and proj_v.
class AttentionReader {
 public:
  // encoder.d_model and encoder.max_tokens must be set.
  AttentionReader(Conversion& conversion, TensorTable& tensors, const Settings& settings,
                  LengthScale length_scale = LengthScale::none);

  // Reads the module whose names begin with `prefix`.
  void read(const std::string& prefix, size_t layer, AttentionDescription* attention);
  // Adds the facts about all modules to the report. It is called after the last layer has been read.
  void report() const;

 private:
  void read_sizes(const std::string& prefix, AttentionDescription* attention);
  Tensor projection(const std::string& name);

  Conversion& conversion_;
  EncoderDescription& encoder_;
  TensorTable& tensors_;
  const Settings& settings_;
  WeightWriter& weights_;
  Report& report_;
  ProjectionTable projections_;
};

// Adds the layers to conversion.description.encoder. Attention and feed-forward network each begin with a norm.
void add_layers(Conversion& conversion, TensorTable& tensors, const Settings& settings, const std::string& prefix,
                Layout layout);

}  // namespace linformer::convert::lucidrains
