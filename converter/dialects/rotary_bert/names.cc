#include "converter/dialects/rotary_bert/names.h"

#include <iterator>
#include <string_view>
#include <utility>

namespace linformer::convert::rotary_bert {

namespace {

using Change = std::pair<std::string_view, std::string_view>;

// The prefixes that the encoder's names have in models with a head, in transformers' ports and in the models' own code.
constexpr std::string_view prefixes[] = {"nomic_bert.", "gte.", "new.", "bert."};

// The parts that are replaced at the beginning of a name.
constexpr Change beginnings[] = {{"encoder.layers.", "layers."},
                                 {"encoder.layer.", "layers."},
                                 {"emb_ln.", "embeddings.LayerNorm."},
                                 {"lm_head.norm.", "lm_head.layer_norm."}};

// The parts that are replaced in the names of a layer's tensors.
constexpr Change parts[] = {{".attn.Wqkv.", ".self_attn.qkv_proj."},
                            {".attn.out_proj.", ".self_attn.o_proj."},
                            {".attention.qkv_proj.", ".self_attn.qkv_proj."},
                            {".attention.o_proj.", ".self_attn.o_proj."},
                            {".mlp.fc11.", ".mlp.up_proj."},
                            {".mlp.fc12.", ".mlp.gate_proj."},
                            {".mlp.fc2.", ".mlp.down_proj."},
                            {".norm1.", ".post_attention_layernorm."},
                            {".norm2.", ".post_mlp_layernorm."},
                            {".attn_ln.", ".post_attention_layernorm."},
                            {".mlp_ln.", ".post_mlp_layernorm."}};

}  // namespace

std::string canonical_name(std::string name) {
  for (const std::string_view prefix : prefixes) {
    if (!name.starts_with(prefix)) continue;
    name.erase(0, prefix.size());
    break;
  }
  for (const auto& [from, to] : beginnings) {
    if (name.starts_with(from)) name.replace(0, from.size(), to);
  }
  if (!name.starts_with("layers.")) return name;
  for (const auto& [from, to] : parts) {
    const size_t place = name.find(from);
    if (place != name.npos) name.replace(place, from.size(), to);
  }
  return name;
}

std::span<const NamePattern> unused_names() {
  static constexpr NamePattern patterns[] = {
      {"pooler.dense.*", "none of the model's outputs reads the pooler"},
      {"embeddings.position_ids", "numbers that count up, not weights"},
      {"rotary_emb.**", "frequencies that the settings give, not weights"},
      {"embeddings.rotary_emb.**", "frequencies that the settings give, not weights"},
      {"layers.*.attn.rotary_emb.**", "frequencies that the settings give, not weights"},
      {"layers.*.self_attn.rotary_emb.**", "frequencies that the settings give, not weights"},
  };
  return patterns;
}

}  // namespace linformer::convert::rotary_bert
