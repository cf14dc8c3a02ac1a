// What config.json of a ModernBERT says of its layers and heads, as transformers 4 and 5 write it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/description.h"
#include "converter/dialects/settings.h"
#include "linformer/convert.h"

namespace linformer::convert::modernbert {

// All functions throw Error that names the setting.

inline constexpr int64_t usual_pad = 50283;

// How a layer attends.
struct LayerRule {
  float rotary_base = 0;
  uint32_t window = 0;  // rows on each side that a row sees; 0: all
};
// One for each of `layers`: from layer_types and rope_parameters (version 5), or from global_attn_every_n_layers,
// global_rope_theta and local_rope_theta (version 4), and local_attention.
std::vector<LayerRule> layer_rules(const Settings& settings, uint32_t layers, uint32_t head_dim, Report& report);

// N: max_position_embeddings, or max_seq_length of sentence-transformers where that is given.
uint32_t longest_text(const Settings& settings, Report& report);

// What `classifier` reads.
struct HeadChoice {
  Pooling pooling = Pooling::first_token;
  std::string pooling_name, source;
  bool answers_questions = false;
};
// By architectures and classifier_pooling.
HeadChoice head_choice(const Settings& settings);

}  // namespace linformer::convert::modernbert
