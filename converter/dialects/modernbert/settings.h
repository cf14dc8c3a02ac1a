// Reads from a ModernBERT's config.json, as transformers 4 and 5 write it, how its layers attend, how long its texts
// may be, and what its classification head reads.
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
  uint32_t window = 0;  // The rows that a row sees on each side of it; 0 if it sees all rows.
};
// Returns the rules of the layers, and adds them to the report. They come from layer_types and rope_parameters
// (transformers 5) or from global_attn_every_n_layers, global_rope_theta and local_rope_theta (transformers 4), and
// from local_attention (both).
std::vector<LayerRule> layer_attention_rules(const Settings& settings, uint32_t layers, uint32_t head_dim,
                                             Report& report);

// Returns N: max_seq_length of sentence-transformers if it is given, and otherwise max_position_embeddings.
uint32_t longest_text(const Settings& settings, Report& report);

// The pooling of the rows that `classifier` reads, and whether `classifier` is a question-answering head.
struct HeadChoice {
  Pooling pooling = Pooling::first_token;
  std::string pooling_name, source;
  bool answers_questions = false;
};
// Returns the choice that the settings architectures and classifier_pooling give.
HeadChoice head_choice(const Settings& settings);

}  // namespace linformer::convert::modernbert
