#include <cinttypes>
#include <cmath>

#include "base/checked.h"
#include "base/description.h"
#include "model/validate.h"

namespace LINFORMER_NAMESPACE {
Status check_range(const char* field, uint32_t value, uint32_t largest) {
  if (value >= 1 && value <= largest) return {};
  return bad_field(FieldName("%s", field), "is %" PRIu32 ", 1 to %" PRIu32 " are possible", value, largest);
}

namespace {

Status check_feed_forward(const EncoderDescription& encoder, const TensorFields& tensors, size_t index,
                          uint64_t* width) {
  const LayerDescription& layer = encoder.layers[index];
  const FieldName in("layers[%zu].ffn_in", index), out("layers[%zu].ffn_out", index);
  const FieldName norm("layers[%zu].ffn_norm", index), resample("layers[%zu].ffn_resample", index);
  if (!layer.ffn_in.present()) {
    constexpr const char* reason = "belongs to a layer without ffn_in";
    LINFORMER_TRY(TensorFields::must_be_absent(in, layer.ffn_in, "has no weight"));
    LINFORMER_TRY(TensorFields::must_be_absent(out, layer.ffn_out, reason));
    LINFORMER_TRY(TensorFields::must_be_absent(norm, layer.ffn_norm, reason));
    if (layer.gated) return bad_field(FieldName("layers[%zu].gated", index), "%s", reason);
    return TensorFields::must_be_absent(resample, layer.ffn_resample, reason);
  }
  uint64_t inner = 0, output_width = 0;
  LINFORMER_TRY(tensors.check_linear(in, layer.ffn_in, *width, &inner));
  if (layer.gated) {
    if (inner % 2 != 0) return bad_field(in, "has %" PRIu64 " outputs, a gated layer needs an even number", inner);
    inner /= 2;
  }
  LINFORMER_TRY(tensors.check_linear(out, layer.ffn_out, inner, &output_width));
  if (layer.ffn_resample.present()) {
    LINFORMER_TRY(tensors.check_linear(resample, layer.ffn_resample, *width, output_width));
  } else {
    LINFORMER_TRY(TensorFields::must_be_absent(resample, layer.ffn_resample, "has no weight"));
    if (output_width != *width) {
      return bad_field(out, "turns width %" PRIu64 " into %" PRIu64 " without ffn_resample", *width, output_width);
    }
  }
  const uint64_t norm_width = encoder.norm_placement == NormPlacement::pre ? *width : output_width;
  LINFORMER_TRY(tensors.check_norm(norm, layer.ffn_norm, norm_width));
  *width = output_width;
  return {};
}

// Checks an encoder without layers. Its rows are read from the token embedding in place, so nothing in the description
// may change them.
Status check_layerless_encoder(const EncoderDescription& encoder) {
  const EmbeddingDescription& embedding = encoder.embedding;
  const bool acts = embedding.position_kind != PositionKind::none || embedding.token_types != absent ||
                    embedding.scale != 1.f || embedding.factor.present() || embedding.norm.present() ||
                    embedding.transform.present() || embedding.zero_pad_rows || embedding.prefix_token >= 0 ||
                    encoder.final_norm.present() || encoder.output.present() || encoder.zero_masked_rows ||
                    encoder.residual == ResidualKind::reversible;
  if (embedding.tokens != absent && !acts) return {};
  return bad_field(FieldName("layers"),
                   "has 0 entries, which is possible only for a token embedding whose rows nothing changes");
}

Status check_encoder_states(const EncoderDescription& encoder) {
  bool reads = false;
  for (const LayerDescription& layer : encoder.layers) reads = reads || layer.attention.key_source != KeySource::own;
  if (reads ? encoder.encoder_states_width == 0 || encoder.encoder_states_width > max_dimension
            : encoder.encoder_states_width != 0) {
    return bad_field(FieldName("encoder_states_width"), "is %" PRIu32 ", %s", encoder.encoder_states_width,
                     reads ? "cross attention needs 1 to 16777216" : "no layer reads encoder states");
  }
  return {};
}

}  // namespace

uint64_t output_width(const EncoderDescription& encoder, const TensorFields& tensors) {
  return encoder.output.present() ? tensors[encoder.output.weight].shape[0] : encoder.d_model;
}

Status validate_encoder(const EncoderDescription& encoder, const TensorFields& tensors) {
  LINFORMER_TRY(check_range("d_model", encoder.d_model, max_dimension));
  LINFORMER_TRY(check_range("max_tokens", encoder.max_tokens, max_dimension));
  if (encoder.embedding.tokens != absent) {
    LINFORMER_TRY(check_range("vocab_size", encoder.vocab_size, max_dimension));
  } else if (encoder.vocab_size != 0) {
    return bad_field(FieldName("vocab_size"), "is %" PRIu32 " without a token embedding", encoder.vocab_size);
  }
  if (encoder.pad_id < -1 || encoder.pad_id >= static_cast<int64_t>(encoder.vocab_size)) {
    return bad_field(FieldName("pad_id"), "is %" PRId32 ", -1 to %" PRId64 " are possible", encoder.pad_id,
                     int64_t{encoder.vocab_size} - 1);
  }
  LINFORMER_TRY(validate_embedding(encoder, tensors));
  LINFORMER_TRY(validate_projections(encoder, tensors));
  if (encoder.layers.size() > max_layers) {
    return bad_field(FieldName("layers"), "has %zu entries, at most %" PRIu32 " are possible", encoder.layers.size(),
                     max_layers);
  }
  if (encoder.layers.empty()) LINFORMER_TRY(check_layerless_encoder(encoder));
  uint64_t width = encoder.d_model;
  for (size_t i = 0; i < encoder.layers.size(); ++i) {
    LINFORMER_TRY(validate_attention(encoder, tensors, i, &width));
    const uint64_t between = width;
    LINFORMER_TRY(check_feed_forward(encoder, tensors, i, &width));
    if (encoder.residual == ResidualKind::reversible &&
        (width != encoder.d_model || between != encoder.d_model || !encoder.layers[i].ffn_in.present() ||
         encoder.norm_placement != NormPlacement::pre)) {
      return bad_field(FieldName("layers[%zu]", i), "can't be reversible: this needs pre-norm, an ffn and one width");
    }
  }
  if (width != encoder.d_model) {
    return bad_field(FieldName("layers"), "end with width %" PRIu64 ", d_model is %" PRIu32, width, encoder.d_model);
  }
  LINFORMER_TRY(check_encoder_states(encoder));
  LINFORMER_TRY(tensors.check_norm(FieldName("final_norm"), encoder.final_norm, width));
  if (!encoder.output.present()) {
    return TensorFields::must_be_absent(FieldName("output"), encoder.output, "has no weight");
  }
  uint64_t out = 0;
  return tensors.check_linear(FieldName("output"), encoder.output, width, &out);
}

}  // namespace LINFORMER_NAMESPACE
