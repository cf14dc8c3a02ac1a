#include <cinttypes>
#include <cmath>

#include "base/checked.h"
#include "model/validate.h"

namespace linformer {
namespace {

Status check_range(const char* field, uint32_t value, uint32_t largest) {
  if (value >= 1 && value <= largest) return {};
  return bad_field(FieldName("%s", field), "is %" PRIu32 ", 1 to %" PRIu32 " are possible", value, largest);
}

Status check_positions(const EncoderDescription& encoder, const TensorFields& tensors, uint64_t width) {
  const EmbeddingDescription& embedding = encoder.embedding;
  const FieldName field("embedding.positions");
  if (embedding.positions_count_non_pad && encoder.pad_id < 0) {
    return bad_field(FieldName("embedding.positions_count_non_pad"), "is true, but the model has no pad_id");
  }
  if (embedding.position_kind != PositionKind::learned) {
    if (embedding.positions != absent) {
      return bad_field(field, "refers to tensor %" PRId32 ", but the positions aren't learned", embedding.positions);
    }
    if (embedding.position_kind == PositionKind::none) return {};
    if (width % 2 != 0) {
      return bad_field(FieldName("embedding.position_kind"), "is sinusoidal for an odd width of %" PRIu64, width);
    }
    if (!std::isfinite(embedding.position_base) || embedding.position_base <= 0) {
      return bad_field(FieldName("embedding.position_base"), "is %g, a positive number is needed",
                       static_cast<double>(embedding.position_base));
    }
    // Positions are exact as floats below 2^24.
    if (embedding.position_offset > max_dimension || embedding.pad_position > max_dimension) {
      return bad_field(FieldName("embedding.position_offset"),
                       "is %" PRIu32 " (pad_position %" PRIu32 "), at most %" PRIu32 " is possible",
                       embedding.position_offset, embedding.pad_position, max_dimension);
    }
    return {};
  }
  uint64_t rows = 0, needed = 0;
  LINFORMER_TRY(tensors.table(field, embedding.positions, width, &rows));
  if (!checked_add(embedding.position_offset, encoder.max_tokens, &needed) || needed > rows) {
    return bad_field(field, "has %" PRIu64 " rows, %" PRIu32 " tokens from row %" PRIu32 " need %" PRIu64, rows,
                     encoder.max_tokens, embedding.position_offset, needed);
  }
  if (embedding.pad_position >= rows) {
    return bad_field(FieldName("embedding.pad_position"), "is %" PRIu32 ", the table has %" PRIu64 " rows",
                     embedding.pad_position, rows);
  }
  return {};
}

Status check_embedding(const EncoderDescription& encoder, const TensorFields& tensors) {
  const EmbeddingDescription& embedding = encoder.embedding;
  if (embedding.tokens == absent) {
    return Status::error(Code::unsupported,
                         "embedding.tokens is missing, and this version needs a token embedding: convert a checkpoint "
                         "of a model that reads tokens");
  }
  uint64_t rows = 0;
  LINFORMER_TRY(tensors.table(FieldName("embedding.tokens"), embedding.tokens, 0, &rows));
  const uint64_t width = tensors[embedding.tokens].shape[1];
  if (rows != encoder.vocab_size) {
    return bad_field(FieldName("embedding.tokens"), "has %" PRIu64 " rows, vocab_size is %" PRIu32, rows,
                     encoder.vocab_size);
  }
  LINFORMER_TRY(check_positions(encoder, tensors, width));
  if (embedding.token_types != absent) {
    uint64_t types = 0;
    LINFORMER_TRY(tensors.table(FieldName("embedding.token_types"), embedding.token_types, width, &types));
  }
  if (!std::isfinite(embedding.scale) || embedding.scale <= 0) {
    return bad_field(FieldName("embedding.scale"), "is %g, a positive number is needed",
                     static_cast<double>(embedding.scale));
  }
  if (embedding.factor.present()) {
    LINFORMER_TRY(tensors.linear(FieldName("embedding.factor"), embedding.factor, width, encoder.d_model));
  } else {
    LINFORMER_TRY(TensorFields::nothing(FieldName("embedding.factor"), embedding.factor, "has no weight"));
    if (width != encoder.d_model) {
      return bad_field(FieldName("embedding.tokens"),
                       "has rows of %" PRIu64 ", d_model is %" PRIu32 " and there is no factor", width,
                       encoder.d_model);
    }
  }
  LINFORMER_TRY(tensors.norm(FieldName("embedding.norm"), embedding.norm, encoder.d_model));
  if (embedding.transform.present()) {
    LINFORMER_TRY(
        tensors.linear(FieldName("embedding.transform"), embedding.transform, encoder.d_model, encoder.d_model));
  } else {
    LINFORMER_TRY(TensorFields::nothing(FieldName("embedding.transform"), embedding.transform, "has no weight"));
  }
  if (embedding.zero_pad_rows && encoder.pad_id < 0) {
    return bad_field(FieldName("embedding.zero_pad_rows"), "is true, but the model has no pad_id");
  }
  return {};
}

Status check_feed_forward(const EncoderDescription& encoder, const TensorFields& tensors, size_t index,
                          uint64_t* width) {
  const LayerDescription& layer = encoder.layers[index];
  const FieldName in("layers[%zu].ffn_in", index), out("layers[%zu].ffn_out", index);
  const FieldName norm("layers[%zu].ffn_norm", index), resample("layers[%zu].ffn_resample", index);
  if (!layer.ffn_in.present()) {
    constexpr const char* reason = "belongs to a layer without ffn_in";
    LINFORMER_TRY(TensorFields::nothing(in, layer.ffn_in, "has no weight"));
    LINFORMER_TRY(TensorFields::nothing(out, layer.ffn_out, reason));
    LINFORMER_TRY(TensorFields::nothing(norm, layer.ffn_norm, reason));
    return TensorFields::nothing(resample, layer.ffn_resample, reason);
  }
  uint64_t inner = 0, output_width = 0;
  LINFORMER_TRY(tensors.linear(in, layer.ffn_in, *width, &inner));
  LINFORMER_TRY(tensors.linear(out, layer.ffn_out, inner, &output_width));
  if (layer.ffn_resample.present()) {
    LINFORMER_TRY(tensors.linear(resample, layer.ffn_resample, *width, output_width));
  } else {
    LINFORMER_TRY(TensorFields::nothing(resample, layer.ffn_resample, "has no weight"));
    if (output_width != *width) {
      return bad_field(out, "turns width %" PRIu64 " into %" PRIu64 " without ffn_resample", *width, output_width);
    }
  }
  const uint64_t norm_width = encoder.norm_placement == NormPlacement::pre ? *width : output_width;
  LINFORMER_TRY(tensors.norm(norm, layer.ffn_norm, norm_width));
  *width = output_width;
  return {};
}

}  // namespace

Status validate_encoder(const ModelDescription& model) {
  const EncoderDescription& encoder = model.encoder;
  const TensorFields tensors(model.tensors);
  LINFORMER_TRY(check_range("d_model", encoder.d_model, max_dimension));
  LINFORMER_TRY(check_range("max_tokens", encoder.max_tokens, max_dimension));
  LINFORMER_TRY(check_range("vocab_size", encoder.vocab_size, max_dimension));
  if (encoder.pad_id < -1 || encoder.pad_id >= static_cast<int64_t>(encoder.vocab_size)) {
    return bad_field(FieldName("pad_id"), "is %" PRId32 ", -1 to %" PRIu32 " are possible", encoder.pad_id,
                     encoder.vocab_size - 1);
  }
  LINFORMER_TRY(check_embedding(encoder, tensors));
  LINFORMER_TRY(validate_projections(encoder, tensors));
  if (encoder.layers.empty() || encoder.layers.size() > max_layers) {
    return bad_field(FieldName("layers"), "has %zu entries, 1 to %" PRIu32 " are possible", encoder.layers.size(),
                     max_layers);
  }
  uint64_t width = encoder.d_model;
  for (size_t i = 0; i < encoder.layers.size(); ++i) {
    LINFORMER_TRY(validate_attention(encoder, tensors, i, &width));
    LINFORMER_TRY(check_feed_forward(encoder, tensors, i, &width));
  }
  if (width != encoder.d_model) {
    return bad_field(FieldName("layers"), "end with width %" PRIu64 ", d_model is %" PRIu32, width, encoder.d_model);
  }
  return tensors.norm(FieldName("final_norm"), encoder.final_norm, width);
}

}  // namespace linformer
