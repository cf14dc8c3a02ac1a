#include <cinttypes>
#include <cmath>

#include "base/checked.h"
#include "base/description.h"
#include "model/validate.h"

namespace LINFORMER_NAMESPACE {
namespace {

Status check_positions(const EncoderDescription& encoder, const TensorFields& tensors, uint64_t width) {
  const EmbeddingDescription& embedding = encoder.embedding;
  const FieldName field("embedding.positions");
  if (embedding.positions_count_non_pad && encoder.pad_id < 0) {
    return bad_field(FieldName("embedding.positions_count_non_pad"), "is true, but the model has no pad_id");
  }
  if (embedding.position_kind != PositionKind::learned) {
    if (embedding.position_kind == PositionKind::none) {
      if (embedding.positions == absent) return {};
      return bad_field(field, "refers to tensor %" PRId32 ", but there are no positions", embedding.positions);
    }
    if (width % 2 != 0) {
      return bad_field(FieldName("embedding.position_kind"), "is sinusoidal for an odd width of %" PRIu64, width);
    }
    if (embedding.positions != absent) LINFORMER_TRY(tensors.check_f32_tensor(field, embedding.positions, {width / 2}));
    if (!std::isfinite(embedding.position_base) || embedding.position_base <= 0) {
      return bad_field(FieldName("embedding.position_base"), "is %g, a positive number is needed",
                       static_cast<double>(embedding.position_base));
    }
    // With these limits the sum of an offset and a token's index can't overflow.
    if (embedding.position_offset > max_dimension || embedding.pad_position > max_dimension) {
      return bad_field(FieldName("embedding.position_offset"),
                       "is %" PRIu32 " (pad_position %" PRIu32 "), at most %" PRIu32 " is possible",
                       embedding.position_offset, embedding.pad_position, max_dimension);
    }
    return {};
  }
  uint64_t rows = 0, needed = 0;
  LINFORMER_TRY(tensors.check_table(field, embedding.positions, width, &rows));
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

Status check_tokens(const EncoderDescription& encoder, const TensorFields& tensors, uint64_t* width) {
  const EmbeddingDescription& embedding = encoder.embedding;
  uint64_t rows = 0;
  LINFORMER_TRY(tensors.check_table(FieldName("embedding.tokens"), embedding.tokens, 0, &rows));
  *width = tensors[embedding.tokens].shape[1];
  if (rows != encoder.vocab_size) {
    return bad_field(FieldName("embedding.tokens"), "has %" PRIu64 " rows, vocab_size is %" PRIu32, rows,
                     encoder.vocab_size);
  }
  const VectorInput& vectors = embedding.vectors;
  if (vectors.width != 0 || vectors.linear.present() || vectors.norm_in.present() || vectors.norm_out.present() ||
      embedding.prefix != absent) {
    return bad_field(FieldName("embedding.vectors"), "describes vectors, but the model takes tokens");
  }
  if (embedding.prefix_token < -1 || embedding.prefix_token >= static_cast<int64_t>(encoder.vocab_size)) {
    return bad_field(FieldName("embedding.prefix_token"), "is %" PRId32 ", -1 to %" PRIu32 " are possible",
                     embedding.prefix_token, encoder.vocab_size - 1);
  }
  if (embedding.prefix_token >= 0 && encoder.max_tokens < 2) {
    return bad_field(FieldName("embedding.prefix_token"), "leaves no room for a text: max_tokens is 1");
  }
  return {};
}

// Checks a model that reads vectors, and sets *width to the width of the rows that positions are added to.
Status check_vectors(const EncoderDescription& encoder, const TensorFields& tensors, uint64_t* width) {
  const EmbeddingDescription& embedding = encoder.embedding;
  const VectorInput& vectors = embedding.vectors;
  LINFORMER_TRY(check_range("embedding.vectors.width", vectors.width, max_dimension));
  *width = vectors.width;
  LINFORMER_TRY(tensors.check_norm(FieldName("embedding.vectors.norm_in"), vectors.norm_in, vectors.width));
  const FieldName linear("embedding.vectors.linear"), norm_out("embedding.vectors.norm_out");
  if (vectors.linear.present()) {
    *width = 0;
    LINFORMER_TRY(tensors.check_linear(linear, vectors.linear, vectors.width, width));
    LINFORMER_TRY(tensors.check_norm(norm_out, vectors.norm_out, *width));
  } else {
    LINFORMER_TRY(TensorFields::must_be_absent(linear, vectors.linear, "has no weight"));
    LINFORMER_TRY(TensorFields::must_be_absent(norm_out, vectors.norm_out, "belongs to vectors without a linear"));
  }
  if (embedding.prefix_token != -1) {
    return bad_field(FieldName("embedding.prefix_token"), "is %" PRId32 ", but the model takes vectors",
                     embedding.prefix_token);
  }
  if (embedding.prefix == absent) return {};
  if (encoder.max_tokens < 2) {
    return bad_field(FieldName("embedding.prefix"), "leaves no room for a vector: max_tokens is 1");
  }
  return tensors.check_f32_tensor(FieldName("embedding.prefix"), embedding.prefix, {1, *width});
}

}  // namespace

Status validate_embedding(const EncoderDescription& encoder, const TensorFields& tensors) {
  const EmbeddingDescription& embedding = encoder.embedding;
  uint64_t width = 0;
  LINFORMER_TRY(embedding.tokens == absent ? check_vectors(encoder, tensors, &width)
                                           : check_tokens(encoder, tensors, &width));
  LINFORMER_TRY(check_positions(encoder, tensors, width));
  if (embedding.token_types != absent) {
    if (embedding.tokens == absent) {
      return bad_field(FieldName("embedding.token_types"), "belongs to a model without tokens");
    }
    uint64_t types = 0;
    LINFORMER_TRY(tensors.check_table(FieldName("embedding.token_types"), embedding.token_types, width, &types));
  }
  if (!std::isfinite(embedding.scale) || embedding.scale <= 0) {
    return bad_field(FieldName("embedding.scale"), "is %g, a positive number is needed",
                     static_cast<double>(embedding.scale));
  }
  if (embedding.factor.present()) {
    LINFORMER_TRY(tensors.check_linear(FieldName("embedding.factor"), embedding.factor, width, encoder.d_model));
  } else {
    LINFORMER_TRY(TensorFields::must_be_absent(FieldName("embedding.factor"), embedding.factor, "has no weight"));
    if (width != encoder.d_model) {
      return bad_field(FieldName("embedding"), "has rows of %" PRIu64 ", d_model is %" PRIu32 " and there is no factor",
                       width, encoder.d_model);
    }
  }
  if (embedding.norm_before_factor && !embedding.factor.present()) {
    return bad_field(FieldName("embedding.norm_before_factor"), "is true, but there is no factor");
  }
  LINFORMER_TRY(tensors.check_norm(FieldName("embedding.norm"), embedding.norm,
                                   embedding.norm_before_factor ? width : encoder.d_model));
  if (embedding.transform.present()) {
    LINFORMER_TRY(
        tensors.check_linear(FieldName("embedding.transform"), embedding.transform, encoder.d_model, encoder.d_model));
  } else {
    LINFORMER_TRY(TensorFields::must_be_absent(FieldName("embedding.transform"), embedding.transform, "has no weight"));
  }
  if (embedding.zero_pad_rows && encoder.pad_id < 0) {
    return bad_field(FieldName("embedding.zero_pad_rows"), "is true, but the model has no pad_id");
  }
  return {};
}

}  // namespace LINFORMER_NAMESPACE
