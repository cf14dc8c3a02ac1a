// Hugging Face's names of tensors and settings, by family.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/description.h"
#include "converter/dialects/layer_parts.h"

namespace linformer::convert::hugging_face {

struct MaskedLmNames {
  const char *dense, *norm, *output;
  const char* biases[2];     // of `output`: files have either, or both with the same values
  const char* settings_act;  // the setting with its activation; null: gelu
};

struct SettingNames {
  const char *width, *layers, *heads, *ffn, *activation;
};

// What a family has beside BERT's parts. A null is an absent part.
struct FamilyExtras {
  // Linear from the width of the embedding's tables and norm to d_model. Where the tables are as wide, it may be
  // absent.
  const char* factor = nullptr;
  // [buckets, heads]: what is added to the scores of all layers, by how far two tokens are apart (relative_bias.h).
  const char* relative_bias = nullptr;
  const char* pooler = "pooler.dense";
  std::optional<Activation> classifier_activation = Activation::tanh;  // behind classifier.dense; none: the layers'
  // The layers of a group are the same weights: `layers` comes before a group's number, and this before the number of
  // a layer inside it. num_hidden_layers says how often groups are run.
  const char* inner_layers = nullptr;
  // [N, head_dim], sines and cosines that the settings give: rows have no positions of their own, and queries and keys
  // are turned in pairs of neighbouring channels.
  const char* rotary_table = nullptr;
  // Below a layer, both halves of a gated network, of which one is activated. Such a family has ALiBi instead of
  // positions (alibi.h).
  const char* gates = nullptr;
  bool activates_second_half = false;  // the second half of `gates`, not the first, is activated
  bool embedding_norm = true;          // behind the sum of the embedding's tables
};

// One way to name and to compose the parts of an encoder.
struct Family {
  const char* name;    // for the report
  const char* prefix;  // of the encoder's tensors in models with a head
  const char* layers;  // before the layer's number
  std::span<const LayerPart> parts;
  MaskedLmNames masked_lm;
  SettingNames settings;
  bool has_token_types;
  bool positions_after_pad;  // rows count from pad_token_id + 1, pads use row pad_token_id
  int64_t usual_pad;         // where config.json leaves pad_token_id out
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
// All of them.
std::span<const Family* const> families();

// Without the encoder's prefix, and with the names of LayerNorm's parts since 2019.
std::string canonical_name(std::string name);

// Tensors that are no part of what is computed, each with the reason.
std::span<const NamePattern> unused_names();

}  // namespace linformer::convert::hugging_face
