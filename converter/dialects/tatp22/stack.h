// One stack of linformer-pytorch's layers, with the embedding before it: a Linformer, a LinformerLM, or the encoder
// or decoder of a LinformerEncDec.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/description.h"
#include "converter/dialects/common.h"
#include "converter/dialects/own_model/own_model.h"
#include "converter/dialects/tatp22/settings.h"

namespace linformer::convert::tatp22 {

inline constexpr const char *token_embedding = "to_token_emb.weight", *own_position_table = "own.positions";

class Stack {
 public:
  // All arguments must outlive the stack. `own` is null, or names the parts of a model that somebody wrote around the
  // encoder; the names in `tensors` are then those of own_model_name_mapping() with the constants above.
  Stack(Conversion& conversion, TensorTable& tensors, const Settings& settings, Part part, EncoderDescription* encoder,
        const OwnModel* own = nullptr);

  void read();
  // Returns the Linear that computes logits over the vocabulary, or nothing if the stack has none. It is called after
  // read().
  std::optional<Linear> logits();
  // Returns patterns for the tensors that the stack has but does not use.
  std::vector<std::string> unused_name_patterns() const;

 private:
  std::string fn_prefix(uint32_t module) const;
  std::string role(size_t layer, const char* name) const;
  std::string fact_name(const char* name) const;
  Size width() const { return {width_, "width of the layer's input"}; }

  void read_modules();
  void check_projections_saved() const;
  void read_sharing();
  void read_sizes();
  void add_embedding();
  void add_attention(uint32_t module);
  void add_heads(uint32_t module, AttentionDescription* attention);
  Linear heads_linear(uint32_t module, const char* name, const AttentionDescription& attention, Size in);
  void add_output(uint32_t module, AttentionDescription* attention, uint32_t* width_out);
  std::string projection_name(uint32_t module, uint32_t head, const char* side) const;
  uint32_t read_projection(const std::string& role, const std::string& name, uint32_t head_dim);
  uint32_t add_projection(const Projection& projection);
  void add_feed_forward(uint32_t module);
  Linear read_resample_linear(uint32_t module, const std::string& role, uint32_t in, uint32_t out);
  void report_projections() const;
  void check_causal() const;
  void check_settings();

  Conversion& conversion_;
  TensorTable& tensors_;
  const Settings& settings_;
  const Part part_;
  EncoderDescription& encoder_;
  const OwnModel* own_;
  const std::string prefix_;
  std::string modules_;               // What the names of the stack's modules begin with.
  bool has_tokens_ = false;           // If false, the stack takes vectors.
  bool projects_ = false;             // If true, Linears change the embedding's width to that of the layers and back.
  bool pre_norm_ = false;             // If true, the layout is pre-norm, as in linformer-pytorch before 2020-09-14.
  std::vector<uint32_t> attentions_;  // The indices of the modules that are attentions.
  // The projections in the file: all, or for shared projections those whose names safetensors keeps.
  enum class Kept : uint8_t { all = 0, first_head, first_key, one } kept_ = Kept::all;
  std::string only_projection_;  // The projection's name, if kept_ is Kept::one.
  Arguments arguments_;
  ProjectionTable projections_;
  // The indices of projections that are not linear, by kind, weight and bias. Equal projections share one entry.
  std::map<std::tuple<ProjectionKind, TensorIndex, TensorIndex>, uint32_t> other_projections_;
  uint32_t width_ = 0;  // The width of the rows after the layers that were read so far.
};

}  // namespace linformer::convert::tatp22
