// The layers of lucidrains' `linformer` package, which its language model, its bare encoder and the vision
// transformers built on it have in common.
// Source: compressed-maskformer-reco/masked-linformer (021cd7c), whose layers are these with masks; and
// lucidrains/linformer 0.2.3 (commit 970e1c3f), 0.2.1 (50ca7b6), 0.1.0 (6449082) and 0.0.5 (1b63f2b).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/description.h"
#include "converter/dialects/common.h"

namespace linformer::convert::lucidrains {

enum class Layout : uint8_t {
  layers,      // net.layers.L.0 and .1, since 0.2.0
  reversible,  // net.blocks.L.f.net and .g.net
  fours,       // layers.L.0 to .3: norm, attention, norm, feed-forward network (masked-linformer)
  pairs        // net.J.fn: J even is attention, odd is the feed-forward network (0.1.0 and older)
};

// The layout of the layers whose names begin with `prefix`; nothing when there are none.
std::optional<Layout> layout_of(const TensorTable& tensors, const std::string& prefix);
// The same for a checkpoint that is only looked at: `name` is one of its tensors' names.
bool is_projection(std::string_view name, const std::string& prefix);

// Columns of the projections: the longest text that they are made for.
uint32_t projected_positions(const TensorTable& tensors, const std::string& prefix, Layout layout);

// Attention modules to roles: to_q, to_k, to_v, to_out, proj_k and proj_v below `prefix`.
class AttentionReader {
 public:
  // encoder.d_model and encoder.max_tokens must be set.
  AttentionReader(Conversion& conversion, TensorTable& tensors, const Settings& settings,
                  LengthScale length_scale = LengthScale::none);

  void read(const std::string& prefix, size_t layer, AttentionDescription* attention);
  // After the last layer.
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

// Pre-norm layers into conversion.description.encoder.
void add_layers(Conversion& conversion, TensorTable& tensors, const Settings& settings, const std::string& prefix,
                Layout layout);

}  // namespace linformer::convert::lucidrains
