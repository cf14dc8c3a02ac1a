// The names of tensors and settings in Hugging Face's models, by family.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/description.h"
#include "converter/dialects/layer_parts.h"

namespace linformer::convert::hugging_face {

struct MaskedLmNames {
  const char *dense, *norm, *output;
  const char* biases[2];     // The bias of `output`. A file has it under one name, or under both with equal values.
  const char* settings_act;  // The setting that names the activation. If null, the activation is gelu.
};

struct SettingNames {
  const char *width, *layers, *heads, *ffn, *activation;
};

// The parts of a family that BERT does not have, and other differences from BERT. A null means that the family lacks
// the part.
struct FamilyExtras {
  // The Linear from the width of the embedding's tables and norm to d_model. If the tables are d_model wide, a
  // checkpoint may lack it.
  const char* factor = nullptr;
  // The table, [buckets, heads], of values that are added to the scores of all layers by the distance between two
  // tokens (relative_bias.h).
  const char* relative_bias = nullptr;
  const char* pooler = "pooler.dense";
  // The activation after classifier.dense. If empty, it is the activation of the layers.
  std::optional<Activation> classifier_activation = Activation::tanh;
  // If not null, the layers share weights: `layers` comes before the number of a group of layers, and inner_layers
  // before the number of a layer in its group. A text passes through groups num_hidden_layers times in all.
  const char* inner_layers = nullptr;
  // A table, [N, head_dim], of sines and cosines, whose values follow from the settings. A family that has it adds no
  // positions to the embedding, and rotates neighbouring channels of queries and keys in pairs instead.
  const char* rotary_table = nullptr;
  // The Linear in a layer whose outputs are the two factors of a gated feed-forward network, one after the other. One
  // factor is activated. A family that has this Linear has ALiBi (alibi.h) instead of positions.
  const char* gates = nullptr;
  bool activates_second_half = false;  // If true, the second factor of `gates` is activated instead of the first.
  bool embedding_norm = true;          // If true, the sum of the embedding's tables is normalised.
};

// The parts of a family's encoders, and the names of their tensors and settings.
struct Family {
  const char* name;    // For the report.
  const char* prefix;  // Begins the names of the encoder's tensors in models with a head.
  const char* layers;  // Begins the names of a layer's tensors, before the layer's number.
  std::span<const LayerPart> parts;
  MaskedLmNames masked_lm;
  SettingNames settings;
  bool has_token_types;
  bool positions_after_pad;  // If true, the first token has position pad_token_id + 1, and pads have pad_token_id.
  int64_t usual_pad;         // The pad token if config.json has no pad_token_id.
  FamilyExtras extras = {};
};

const Family& bert();
const Family& roberta();
const Family& distilbert();
const Family& mpnet();
const Family& electra();
const Family& albert();
const Family& roformer();
const Family& jina();
const Family& jina_code();
const Family& linformer();
// Returns all families except jina() and jina_code(), whose tensors have the same prefix as those of bert().
std::span<const Family* const> families();

// Returns the name without the encoder's prefix, and with the names that the parts of LayerNorm have had since 2019.
std::string canonical_name(std::string name);

// Returns patterns for the tensors that the model's answers do not depend on, each with the reason.
std::span<const NamePattern> unused_names();

}  // namespace linformer::convert::hugging_face
