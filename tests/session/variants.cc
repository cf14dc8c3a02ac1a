#include "session/variants.h"

#include "base/description.h"

namespace linformer_test {

using namespace linformer;

std::vector<Variant> variants(uint32_t n, uint32_t n_full) {
  std::vector<Variant> result;
  const auto add = [&](const char* name, bool masks, auto change) {
    Variant variant;
    variant.name = name;
    variant.masks = masks;
    RandomModel& shape = variant.shape;
    shape.seed = result.size() + 1;
    shape.n = n;
    shape.k = 19;
    shape.d_model = 30;
    shape.heads = 3;
    shape.ffn = 50;
    shape.vocabulary = 60;
    RandomHead head;
    head.pooling = Pooling::none;
    head.norm = true;
    shape.head_kinds = {head};
    shape.sentence_embedding = true;
    shape.embedding_dense = 9;
    change(shape);
    if (n_full != 0 && shape.kinds == std::vector{ProjectionKind::none}) shape.n = n_full;
    result.push_back(variant);
  };
  using enum ProjectionKind;
  add("full", false, [](RandomModel& s) { s.kinds = {none}; });
  add("full, causal, excluded", true, [](RandomModel& s) {
    s.kinds = {none};
    s.causal = true;
    s.row_mask = RowMask::excluded;
  });
  add("full, window", false, [](RandomModel& s) {
    s.kinds = {none};
    s.layer.attention.window = 20;
  });
  add("full, widths of keys change, position bias", false, [](RandomModel& s) {
    s.kinds = {none};
    s.mixed_kv_heads = s.position_bias = true;
  });
  add("linear by head", true, [](RandomModel& s) {
    s.each_head = true;
    s.k_step = 4;
    s.order = ProjectionOrder::after_linear;
    s.projection_bias = true;
    s.row_mask = RowMask::zeroed;
  });
  add("convolution", true, [](RandomModel& s) {
    s.kinds = {convolution};
    s.projection_bias = true;
    s.kernel = 5;
    s.stride = 3;
    s.row_mask = RowMask::zeroed;
  });
  add("all windows by head", false, [](RandomModel& s) {
    s.kinds = {mean_pool};
    s.each_head = s.mixed_windows = true;
    s.kernel = 6;
    s.stride = 4;
  });
  add("max, one kv head", true, [](RandomModel& s) {
    s.kinds = {max_pool};
    s.one_kv_head = s.value_is_key = s.causal = true;
    s.kernel = 7;
    s.stride = 7;
    s.zero_masked_rows = true;
  });
  add("reversible, full", false, [](RandomModel& s) {
    s.kinds = {linear, none};
    s.residual = ResidualKind::reversible;
    s.pre_norm = true;
  });
  add("cross attention", true, [](RandomModel& s) {
    s.kinds = {none, convolution};
    s.kernel = s.stride = 4;
    s.key_sources = {KeySource::encoder_states, KeySource::encoder_states};
    s.encoder_states_width = 21;
    s.row_mask = RowMask::zeroed;
    s.residual = ResidualKind::none;
  });
  add("widths change", false, [](RandomModel& s) {
    s.between = 44;
    s.attention_between = 18;
    s.second_output = 23;
    s.output_width = 37;
    s.embedding_width = 16;
    s.token_types = 2;
    s.position_kind = PositionKind::sinusoidal_halves;
  });
  add("pre-norm, widths change", false, [](RandomModel& s) {
    s.pre_norm = true;
    s.between = 44;
    s.attention_between = 18;
  });
  add("vectors, causal", true, [](RandomModel& s) {
    s.vector_width = 13;
    s.prefix = true;
    s.causal = s.pre_norm = true;
    s.one_kv_head = true;
  });
  add("scaled by length", false, [](RandomModel& s) {
    s.order = ProjectionOrder::after_linear;
    s.length_scale = LengthScale::inverse_root;
  });
  add("scaled by length by head", false, [](RandomModel& s) {
    s.each_head = true;
    s.order = ProjectionOrder::after_linear;
    s.length_scale = LengthScale::restored_norm;
  });
  add("rotary, window, gated", false, [](RandomModel& s) {
    s.kinds = {none};
    s.layer.attention.rotary_base = 10000;
    s.layer.attention.window = 20;
    s.layer.gated = true;
    s.ffn = 784;  // In bf16 and int8 it has two slices.
  });
  // The models below are valid, but no dialect produces them.
  add("one of everything", true, [](RandomModel& s) {
    s.k = s.d_model = s.heads = s.head_dim = s.ffn = s.layers = s.token_types = s.embedding_dense = 1;
    s.order = ProjectionOrder::after_linear;
    s.row_mask = RowMask::zeroed;
    s.kinds = {convolution};
    s.kernel = s.stride = 1;
  });
  add("keys of all heads, values by head", true, [](RandomModel& s) {
    s.one_side_by_head = s.mixed_orders = true;
    s.unused_projections = 2;
  });
  add("every other layer without norms, feed-forward and gate", false, [](RandomModel& s) {
    s.layers = 3;
    s.layer.gated = s.mixed_gates = s.mixed_ffn = s.mixed_norms = true;
    s.masked_lm_dense = false;
  });
  add("groups, rms norms, norms of queries and keys", true, [](RandomModel& s) {
    s.kinds = {none, linear};
    s.order = ProjectionOrder::after_linear;
    s.heads = 4;
    s.kv_heads = 2;
    s.head_dim = 12;
    s.norm_kind = NormKind::rms;
    s.norm_bias = false;
    s.head_norms = HeadNorms::each;
    s.outer_norm = true;
    s.layer.attention.rotary_base = 10000;
  });
  add("window beside compressed keys", true, [](RandomModel& s) {
    s.order = ProjectionOrder::after_linear;
    s.projection_bias = true;
    s.k = 21;
    s.exact_tokens = {3, 7, 7, 12};  // No text contains token 3.
    s.heads = 4;
    s.kv_heads = 2;
    s.head_dim = 12;
    s.head_norms = HeadNorms::all;
    s.layer.attention.rotary_base = 10000;
    s.layer.attention.window = 20;
    s.row_mask = RowMask::zeroed;
  });
  add("window beside the compressed keys of a span, position bias", true, [](RandomModel& s) {
    s.order = ProjectionOrder::after_linear;
    s.k = 37;
    s.span = 190;  // Not a multiple of 36.
    s.exact_tokens = {5};
    s.heads = 3;
    s.head_dim = 16;
    s.shared_key_value = true;
    s.position_bias = true;
    s.layer.attention.window = 15;  // Compressed rows take part from 17 rows on.
  });
  return result;
}

std::vector<Variant> sampled_variants(size_t first, uint32_t n, uint32_t n_full) {
  std::vector<Variant> all = variants(n, n_full);
#if defined(__SANITIZE_ADDRESS__)
  std::vector<Variant> some;
  for (size_t i = first % 3; i < all.size(); i += 3) some.push_back(std::move(all[i]));
  return some;
#else
  static_cast<void>(first);
  return all;
#endif
}

}  // namespace linformer_test
