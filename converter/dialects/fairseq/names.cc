#include "converter/dialects/fairseq/names.h"

#include "base/description.h"

namespace linformer::convert::fairseq {

namespace {

void replace(std::string* name, std::string_view old_part, std::string_view new_part) {
  const size_t place = name->find(old_part);
  if (place != name->npos) name->replace(place, old_part.size(), new_part);
}

}  // namespace

std::string canonical_name(std::string name) {
  for (const char* part : {"decoder.sentence_encoder.", "decoder.lm_head.", "decoder.version"}) {
    if (name.starts_with(part)) name.replace(0, 8, "encoder.");  // Files before 2020-05-28 have these names.
  }
  replace(&name, ".emb_layer_norm.", ".layernorm_embedding.");  // Files before 2021-02-16 have these names.
  replace(&name, ".layer_norms.0.", ".self_attn_layer_norm.");
  replace(&name, ".layer_norms.1.", ".final_layer_norm.");
  return name;
}

std::span<const NamePattern> unused_names() {
  static constexpr const char* bias = "fairseq's attention uses the weight of this layer and never its bias";
  static constexpr const char* copy = "every layer is read from its own compress_k and compress_v";
  static constexpr const char* version = "the number of a file layout, not a weight";
  static constexpr NamePattern patterns[] = {
      {"encoder.version", version},
      {"encoder.sentence_encoder.version", version},
      {"encoder.sentence_encoder.layers.*.version", version},
      {"encoder.sentence_encoder.layers.*.self_attn.version", version},
      {"encoder.sentence_encoder.layers.*.self_attn.compress_*.bias", bias},
      {"encoder.sentence_encoder.layers.*.shared_compress_layer.bias", bias},
      {"encoder.sentence_encoder.compress_layer.bias", bias},
      {"encoder.sentence_encoder.layers.*.shared_compress_layer.weight", copy},
      {"encoder.sentence_encoder.compress_layer.weight", copy},
      {"encoder.sentence_encoder.sentence_projection_layer.**", "left over from training, unused at inference"},
      {"encoder.sentence_projection_layer.**", "left over from training, unused at inference"},
      {"encoder.sentence_encoder.segment_embeddings.**", "the model is never given segments"},
      {"encoder.sentence_encoder.*._float_tensor", "a marker of the device, not a weight"},
  };
  return patterns;
}

std::span<const LayerPart> layer_parts() {
  static constexpr LayerPart parts[] = {
      {"self_attn.q_proj", &AttentionDescription::query},
      {"self_attn.k_proj", &AttentionDescription::key},
      {"self_attn.v_proj", &AttentionDescription::value},
      {"self_attn.out_proj", &AttentionDescription::output},
      {"fc1", &LayerDescription::ffn_in},
      {"fc2", &LayerDescription::ffn_out},
      {"self_attn_layer_norm", &LayerDescription::attention_norm},
      {"final_layer_norm", &LayerDescription::ffn_norm},
  };
  return parts;
}

}  // namespace linformer::convert::fairseq
