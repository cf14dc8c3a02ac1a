#include <algorithm>
#include <cinttypes>
#include <cmath>

#include "base/checked.h"
#include "base/description.h"
#include "model/limits.h"
#include "model/validate.h"

namespace LINFORMER_NAMESPACE {
namespace {

bool is_windowed(const Projection& p) {
  return p.kind == ProjectionKind::convolution || p.kind == ProjectionKind::mean_pool ||
         p.kind == ProjectionKind::max_pool;
}

// Checks a convolution or pooling: exactly k windows must fit into N, and the projection must act on the keys and
// values of heads.
Status check_window(const FieldName& field, const Projection& projection, uint32_t max_tokens) {
  if (projection.kernel == 0 || projection.kernel > max_tokens || projection.stride == 0) {
    return bad_field(field, "has kernel %" PRIu32 " and stride %" PRIu32 " for %" PRIu32 " tokens", projection.kernel,
                     projection.stride, max_tokens);
  }
  if (projection.order != ProjectionOrder::after_linear) {
    return bad_field(field / "order", "is before_linear, but convolution and pooling act on keys and values");
  }
  const uint32_t windows = (max_tokens - projection.kernel) / projection.stride + 1;
  if (projection.k != windows) {
    return bad_field(field / "k", "is %" PRIu32 ", kernel %" PRIu32 " and stride %" PRIu32 " give %" PRIu32,
                     projection.k, projection.kernel, projection.stride, windows);
  }
  return {};
}

Status check_no_window(const FieldName& field, const Projection& projection) {
  if (projection.kernel == 0 && projection.stride == 0) return {};
  return bad_field(field, "has kernel %" PRIu32 " and stride %" PRIu32 ", which its kind doesn't use",
                   projection.kernel, projection.stride);
}

// Checks length_scale, which multiplies compressed rows. A projection that has it can't have a bias, because the factor
// would multiply the bias too.
Status check_length_scale(const FieldName& field, const Projection& projection) {
  if (projection.length_scale == LengthScale::none) return {};
  const FieldName scale = field / "length_scale";
  if (projection.kind != ProjectionKind::linear) return bad_field(scale, "belongs to a projection that is not linear");
  if (projection.order != ProjectionOrder::after_linear) {
    return bad_field(scale, "needs a projection of the order after_linear");
  }
  if (projection.bias != absent) return bad_field(scale, "belongs to a projection with a bias");
  return {};
}

// Checks that the span is at most N, and 0 if the projection isn't linear. A product of k and the length of a text
// can't overflow 64 bits, because both are at most max_dimension.
Status check_span(const FieldName& field, const Projection& projection, uint32_t max_tokens) {
  const uint32_t most = projection.kind == ProjectionKind::linear ? max_tokens : 0;
  if (projection.span <= most) return {};
  return bad_field(field / "span", "is %" PRIu32 ", at most %" PRIu32 " is possible", projection.span, most);
}

Status check_exact_tokens(const FieldName& field, const EncoderDescription& encoder, const Projection& projection) {
  if (projection.exact_tokens.empty()) return {};
  const FieldName tokens = field / "exact_tokens";
  if (projection.kind != ProjectionKind::linear) {
    return bad_field(tokens, "belongs to a projection that is not linear");
  }
  if (projection.exact_tokens.size() > projection.k) {
    return bad_field(tokens, "has %zu entries for %" PRIu32 " compressed rows", projection.exact_tokens.size(),
                     projection.k);
  }
  if (encoder.embedding.tokens == absent) return bad_field(tokens, "names tokens, but the model reads vectors");
  for (uint32_t token : projection.exact_tokens) {
    if (token < encoder.vocab_size) continue;
    return bad_field(tokens, "has %" PRIu32 ", the vocabulary has %" PRIu32 " tokens", token, encoder.vocab_size);
  }
  return {};
}

Status check_linear_projection(const FieldName& field, const Projection& projection, uint32_t max_tokens,
                               const TensorFields& tensors) {
  LINFORMER_TRY(check_no_window(field, projection));
  LINFORMER_TRY(tensors.check_projection_matrix(field / "weight", projection.weight, {projection.k, max_tokens}));
  if (projection.bias == absent) return {};
  return tensors.check_f32_tensor(field / "bias", projection.bias, {projection.k});
}

Status check_convolution(const FieldName& field, const Projection& projection, uint32_t max_tokens,
                         const TensorFields& tensors) {
  LINFORMER_TRY(check_window(field, projection, max_tokens));
  LINFORMER_TRY(tensors.check_reference(field / "weight", projection.weight));
  const TensorDescription& weight = tensors[projection.weight];
  const uint64_t channels = weight.shape.back();
  LINFORMER_TRY(tensors.check_f32_tensor(field / "weight", projection.weight, {projection.kernel, channels, channels}));
  if (projection.bias == absent) return {};
  return tensors.check_f32_tensor(field / "bias", projection.bias, {channels});
}

Status check_weightless(const FieldName& field, const Projection& projection) {
  if (projection.weight == absent && projection.bias == absent) return {};
  return bad_field(field, "has weight %" PRId32 " and bias %" PRId32 ", which its kind doesn't use", projection.weight,
                   projection.bias);
}

Status check_projection_list(const FieldName& field, const Array<uint32_t>& list, uint32_t heads, size_t projections) {
  if (list.size() != 1 && list.size() != heads) {
    return bad_field(field, "has %zu entries, 1 or %" PRIu32 " are needed", list.size(), heads);
  }
  for (uint32_t index : list) {
    if (index >= projections) {
      return bad_field(field, "refers to projection %" PRIu32 ", but there are %zu projections", index, projections);
    }
  }
  return {};
}

// Checks that keys and values of a head have equally many rows at every length of a sequence, and that the channels of
// a convolution are those of a head.
Status check_key_value_pair(const FieldName& field, const Projection& key, const Projection& value, uint32_t head_dim,
                            const TensorFields& tensors) {
  const bool full = key.kind == ProjectionKind::none;
  if (full != (value.kind == ProjectionKind::none) || key.k != value.k) {
    return bad_field(field, "compresses keys to %" PRIu32 " rows and values to %" PRIu32, key.k, value.k);
  }
  if ((is_windowed(key) || is_windowed(value)) && (key.kernel != value.kernel || key.stride != value.stride)) {
    return bad_field(field, "has other windows for keys than for values (kernel %" PRIu32 " and %" PRIu32 ")",
                     key.kernel, value.kernel);
  }
  for (const Projection* projection : {&key, &value}) {
    if (projection->kind != ProjectionKind::convolution) continue;
    const uint64_t channels = tensors[projection->weight].shape[1];
    if (channels != head_dim) {
      return bad_field(field, "has a convolution of %" PRIu64 " channels for heads of %" PRIu32, channels, head_dim);
    }
  }
  return {};
}

// A mask can exclude rows from the softmax only in full attention, and can set rows of K and V to zero only if K and V
// have a row for each position before they are compressed.
Status check_row_mask(const FieldName& field, const AttentionDescription& attention, const Projection& projection) {
  if (attention.row_mask == RowMask::excluded && projection.kind != ProjectionKind::none) {
    return bad_field(field / "row_mask", "is excluded, which only full attention supports");
  }
  if (attention.row_mask == RowMask::zeroed && projection.kind == ProjectionKind::linear &&
      projection.order == ProjectionOrder::before_linear) {
    return bad_field(field / "row_mask",
                     "zeroes rows of keys, but keys are computed from compressed rows (order before_linear)");
  }
  return {};
}

// Refuses a row_mask together with a length_scale, because the scale depends on the number of all rows, including
// masked ones.
Status check_mask_with_length_scale(const FieldName& field, const AttentionDescription& attention,
                                    const Projection& projection) {
  if (attention.row_mask == RowMask::none || projection.length_scale == LengthScale::none) return {};
  return bad_field(field / "row_mask", "masks rows that a projection's length_scale counts");
}

// Checks rotary positions. Queries and keys can be rotated only if both have positions of the layer's own rows, and
// before keys are compressed.
Status check_rotary(const FieldName& field, const EncoderDescription& encoder, const AttentionDescription& attention) {
  const float scale = attention.rotary_scale;
  if (!std::isfinite(scale) || scale <= 0) {
    return bad_field(field / "rotary_scale", "is %g, a positive number is needed", static_cast<double>(scale));
  }
  if (attention.rotary_base == 0) {
    if (scale == 1) return {};
    return bad_field(field / "rotary_scale", "scales positions, but nothing is rotated by them (rotary_base is 0)");
  }
  const FieldName rotary = field / "rotary_base";
  if (!std::isfinite(attention.rotary_base) || attention.rotary_base < 0) {
    return bad_field(rotary, "is %g, 0 or a positive number is needed", static_cast<double>(attention.rotary_base));
  }
  if (attention.head_dim % 2 != 0) {
    return bad_field(rotary, "rotates pairs of channels, but head_dim is %" PRIu32, attention.head_dim);
  }
  if (attention.key_source != KeySource::own) {
    return bad_field(rotary, "rotates keys by their positions, but they are not keys of the layer's own rows");
  }
  if (attention.value_is_key) return bad_field(rotary, "rotates keys and not values, but values are the keys");
  for (uint32_t index : attention.key_projections) {
    const Projection& projection = encoder.projections[index];
    if (projection.kind == ProjectionKind::linear && projection.order == ProjectionOrder::before_linear) {
      return bad_field(rotary, "rotates keys, but keys are computed from compressed rows (order before_linear)");
    }
  }
  return {};
}

// Checks the norms of queries and keys. A norm acts on each head by itself or on all channels at once, and on keys
// before they are compressed.
Status check_norms(const FieldName& field, const EncoderDescription& encoder, const AttentionDescription& attention,
                   const TensorFields& tensors) {
  const auto check = [&](const char* member, const Norm& norm, uint32_t heads) -> Status {
    const FieldName name = field / member;
    if (!norm.present()) return TensorFields::must_be_absent(name, norm, "has no scale");
    const bool by_head = tensors.is_vector_of(norm.scale, attention.head_dim);
    return tensors.check_norm(name, norm, uint64_t{attention.head_dim} * (by_head ? 1 : heads));
  };
  LINFORMER_TRY(check("query_norm", attention.query_norm, attention.heads));
  LINFORMER_TRY(check("key_norm", attention.key_norm, attention.kv_heads));
  if (!attention.key_norm.present()) return {};
  const FieldName key = field / "key_norm";
  if (attention.value_is_key) return bad_field(key, "changes keys and not values, but values are the keys");
  for (uint32_t index : attention.key_projections) {
    const Projection& projection = encoder.projections[index];
    if (projection.kind == ProjectionKind::linear && projection.order == ProjectionOrder::before_linear) {
      return bad_field(key, "acts on keys, but keys are computed from compressed rows (order before_linear)");
    }
  }
  return {};
}

// Checks a layer that has both a window and compressed keys. Its heads must share the matrix E that compresses keys and
// the matrix F that compresses values. Both must be linear, and must be applied to computed keys and values.
Status check_window_with_compressed_keys(const FieldName& field, const EncoderDescription& encoder,
                                         const AttentionDescription& attention) {
  const FieldName window = field / "window";
  if (attention.causal) return bad_field(window, "is used with compressed keys, which a causal layer can't have");
  const Projection* first = nullptr;
  for (const Array<uint32_t>* list : {&attention.key_projections, &attention.value_projections}) {
    if (list->empty()) continue;  // The values are the keys.
    const Projection& projection = encoder.projections[list->front()];
    if (list->size() > 1 || projection.kind != ProjectionKind::linear) {
      return bad_field(window, "is used with compressed keys, which need one linear projection for all heads");
    }
    if (projection.order != ProjectionOrder::after_linear || projection.length_scale != LengthScale::none) {
      return bad_field(window, "is used with compressed keys, which need the order after_linear and no length_scale");
    }
    if (first != nullptr && first->span != projection.span) {
      return bad_field(window, "is used with keys and values that are compressed with different spans");
    }
    if (first != nullptr && first->exact_tokens != projection.exact_tokens) {
      return bad_field(window, "is used with keys and values that are compressed with different exact_tokens");
    }
    first = &projection;
  }
  return {};
}

// Refuses a layer without a window whose projection has a span or exact_tokens, which need a window.
Status check_needs_window(const FieldName& field, const EncoderDescription& encoder,
                          const AttentionDescription& attention) {
  if (attention.window != 0) return {};
  for (const Array<uint32_t>* list : {&attention.key_projections, &attention.value_projections}) {
    for (uint32_t index : *list) {
      const Projection& projection = encoder.projections[index];
      if (projection.span == 0 && projection.exact_tokens.empty()) continue;
      return bad_field(field / "window", "is 0, but a projection has %s",
                       projection.span > 0 ? "a span" : "exact_tokens");
    }
  }
  return {};
}

// Checks a window and a position bias. Both depend on distances between rows, so they need keys of the layer's own
// rows. A position bias is added only to the scores of uncompressed keys, so a layer with compressed keys can have a
// position bias only if it also has a window.
Status check_distances(const FieldName& field, const EncoderDescription& encoder, const AttentionDescription& attention,
                       const TensorFields& tensors) {
  LINFORMER_TRY(check_needs_window(field, encoder, attention));
  const bool biased = attention.position_bias != absent;
  if (attention.window == 0 && !biased) return {};
  const FieldName first = field / (biased ? "position_bias" : "window");
  if (attention.key_source != KeySource::own) {
    return bad_field(first, "depends on distances between rows, but keys are not those of the layer's own rows");
  }
  const bool compressed =
      std::any_of(attention.key_projections.begin(), attention.key_projections.end(),
                  [&](uint32_t index) { return encoder.projections[index].kind != ProjectionKind::none; });
  if (compressed && attention.window == 0) {
    return bad_field(first, "depends on distances between rows, but keys are compressed and the layer has no window");
  }
  if (compressed) LINFORMER_TRY(check_window_with_compressed_keys(field, encoder, attention));
  if (!biased) return {};
  return tensors.check_f32_tensor(first, attention.position_bias,
                                  {attention.heads, 2 * uint64_t{encoder.max_tokens} - 1});
}

Status check_head_counts(const FieldName& field, const AttentionDescription& attention) {
  if (attention.heads == 0 || attention.heads > max_heads) {
    return bad_field(field / "heads", "is %" PRIu32 ", 1 to %" PRIu32 " are possible", attention.heads, max_heads);
  }
  if (attention.kv_heads == 0 || attention.heads % attention.kv_heads != 0) {
    return bad_field(field / "kv_heads", "is %" PRIu32 ", a divisor of the %" PRIu32 " heads is needed",
                     attention.kv_heads, attention.heads);
  }
  if (attention.head_dim == 0 || attention.head_dim > max_dimension / attention.heads) {
    return bad_field(field / "head_dim", "is %" PRIu32 ", 1 to %" PRIu32 " are possible with %" PRIu32 " heads",
                     attention.head_dim, max_dimension / attention.heads, attention.heads);
  }
  if (!std::isfinite(attention.scale) || attention.scale <= 0) {
    return bad_field(field / "scale", "is %g, a positive number is needed", static_cast<double>(attention.scale));
  }
  return {};
}

Status check_projections_of(const FieldName& field, const EncoderDescription& encoder,
                            const AttentionDescription& attention, const TensorFields& tensors) {
  const Array<Projection>& projections = encoder.projections;
  LINFORMER_TRY(
      check_projection_list(field / "key_projections", attention.key_projections, attention.heads, projections.size()));
  // If V = K, the list of the values' projections may be empty, because it would equal that of the keys.
  if (attention.value_is_key && attention.value_projections.empty()) {
    for (uint32_t index : attention.key_projections) {
      LINFORMER_TRY(check_key_value_pair(field, projections[index], projections[index], attention.head_dim, tensors));
      LINFORMER_TRY(check_row_mask(field, attention, projections[index]));
      LINFORMER_TRY(check_mask_with_length_scale(field, attention, projections[index]));
    }
    return {};
  }
  LINFORMER_TRY(check_projection_list(field / "value_projections", attention.value_projections, attention.heads,
                                      projections.size()));
  if (attention.value_is_key && attention.value_projections != attention.key_projections) {
    return bad_field(field / "value_projections", "differ from key_projections although values are keys");
  }
  for (uint32_t head = 0; head < attention.heads; ++head) {
    const auto of = [&](const Array<uint32_t>& list) -> const Projection& {
      return projections[list[list.size() == 1 ? 0 : head]];
    };
    for (const Array<uint32_t>* list : {&attention.key_projections, &attention.value_projections}) {
      LINFORMER_TRY(check_row_mask(field, attention, of(*list)));
      LINFORMER_TRY(check_mask_with_length_scale(field, attention, of(*list)));
    }
    LINFORMER_TRY(check_key_value_pair(field, of(attention.key_projections), of(attention.value_projections),
                                       attention.head_dim, tensors));
  }
  return {};
}

// The layer's input is added again after attention_norm, so there must be a residual, and the width must not change.
Status check_outer_norm(const FieldName& field, const EncoderDescription& encoder, const LayerDescription& layer) {
  if (!layer.outer_norm.present()) return {};
  const AttentionDescription& attention = layer.attention;
  if (encoder.norm_placement != NormPlacement::post || encoder.residual != ResidualKind::standard) {
    return bad_field(field, "needs the norm placement post and the standard residual");
  }
  if (layer.attention_resample.present() || !attention.output.present() || attention.output_second.present()) {
    return bad_field(field, "needs an attention with one output projection that keeps the width");
  }
  return {};
}

}  // namespace

Status validate_projections(const EncoderDescription& encoder, const TensorFields& tensors) {
  const bool needed = !encoder.layers.empty();
  if ((needed && encoder.projections.empty()) || encoder.projections.size() > max_projections) {
    return bad_field(FieldName("projections"), "has %zu entries, 1 to %" PRIu32 " are possible",
                     encoder.projections.size(), max_projections);
  }
  for (size_t i = 0; i < encoder.projections.size(); ++i) {
    const Projection& projection = encoder.projections[i];
    const FieldName field("projections[%zu]", i);
    const bool full = projection.kind == ProjectionKind::none;
    if (full ? projection.k != 0 : projection.k == 0 || projection.k > max_dimension) {
      return bad_field(field / "k", "is %" PRIu32 ", %s", projection.k,
                       full ? "full attention needs 0" : "1 to 16777216 are possible");
    }
    LINFORMER_TRY(check_length_scale(field, projection));
    LINFORMER_TRY(check_span(field, projection, encoder.max_tokens));
    LINFORMER_TRY(check_exact_tokens(field, encoder, projection));
    switch (projection.kind) {
      case ProjectionKind::linear:
        LINFORMER_TRY(check_linear_projection(field, projection, encoder.max_tokens, tensors));
        break;
      case ProjectionKind::convolution:
        LINFORMER_TRY(check_convolution(field, projection, encoder.max_tokens, tensors));
        break;
      case ProjectionKind::mean_pool:
      case ProjectionKind::max_pool:
        LINFORMER_TRY(check_weightless(field, projection));
        LINFORMER_TRY(check_window(field, projection, encoder.max_tokens));
        break;
      case ProjectionKind::none:
        LINFORMER_TRY(check_weightless(field, projection));
        LINFORMER_TRY(check_no_window(field, projection));
        break;
    }
  }
  return {};
}

Status validate_attention(const EncoderDescription& encoder, const TensorFields& tensors, size_t layer,
                          uint64_t* width) {
  const LayerDescription& description = encoder.layers[layer];
  const AttentionDescription& attention = description.attention;
  const FieldName field("layers[%zu].attention", layer);
  LINFORMER_TRY(check_head_counts(field, attention));
  const uint64_t query_width = uint64_t{attention.heads} * attention.head_dim;
  const uint64_t key_width = uint64_t{attention.kv_heads} * attention.head_dim;
  LINFORMER_TRY(tensors.check_linear(field / "query", attention.query, *width, query_width));
  const uint64_t source_width = attention.key_source == KeySource::own ? *width : encoder.encoder_states_width;
  if (attention.key_source == KeySource::encoder_states_or_own && source_width != *width) {
    return bad_field(field / "key_source",
                     "is encoder_states_or_own, but the encoder states have width %" PRIu64 ", not %" PRIu64,
                     source_width, *width);
  }
  LINFORMER_TRY(tensors.check_linear(field / "key", attention.key, source_width, key_width));
  if (attention.value_is_key) {
    LINFORMER_TRY(TensorFields::must_be_absent(field / "value", attention.value, "is the key"));
  } else {
    LINFORMER_TRY(tensors.check_linear(field / "value", attention.value, source_width, key_width));
  }
  LINFORMER_TRY(check_projections_of(field, encoder, attention, tensors));
  LINFORMER_TRY(check_norms(field, encoder, attention, tensors));
  LINFORMER_TRY(check_rotary(field, encoder, attention));
  LINFORMER_TRY(check_distances(field, encoder, attention, tensors));

  uint64_t output_width = query_width;
  for (const auto& [member, linear] :
       {std::pair{"output", &attention.output}, std::pair{"output_second", &attention.output_second}}) {
    if (!linear->present()) {
      LINFORMER_TRY(TensorFields::must_be_absent(field / member, *linear, "has no weight"));
      continue;
    }
    uint64_t out = 0;
    LINFORMER_TRY(tensors.check_linear(field / member, *linear, output_width, &out));
    output_width = out;
  }
  if (attention.output_second.present() && !attention.output.present()) {
    return bad_field(field / "output_second", "is present without output");
  }

  const FieldName resample("layers[%zu].attention_resample", layer);
  if (description.attention_resample.present()) {
    LINFORMER_TRY(tensors.check_linear(resample, description.attention_resample, *width, output_width));
  } else {
    LINFORMER_TRY(TensorFields::must_be_absent(resample, description.attention_resample, "has no weight"));
    if (output_width != *width) {
      return bad_field(field, "turns width %" PRIu64 " into %" PRIu64 " without attention_resample", *width,
                       output_width);
    }
  }
  const uint64_t norm_width = encoder.norm_placement == NormPlacement::pre ? *width : output_width;
  LINFORMER_TRY(
      tensors.check_norm(FieldName("layers[%zu].attention_norm", layer), description.attention_norm, norm_width));
  const FieldName outer_norm("layers[%zu].outer_norm", layer);
  LINFORMER_TRY(check_outer_norm(outer_norm, encoder, description));
  LINFORMER_TRY(tensors.check_norm(outer_norm, description.outer_norm, output_width));
  *width = output_width;
  return {};
}

}  // namespace LINFORMER_NAMESPACE
