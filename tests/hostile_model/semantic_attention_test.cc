#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/description.h"
#include "hostile_model/attack.h"

namespace linformer_test::semantic_attention_test {

using namespace linformer;

namespace {

Projection pool(uint32_t k, uint32_t kernel, uint32_t stride) {
  Projection projection;
  projection.kind = ProjectionKind::mean_pool;
  projection.order = ProjectionOrder::after_linear;
  projection.k = k;
  projection.kernel = kernel;
  projection.stride = stride;
  return projection;
}

// Adds a projection, and uses it for the keys and values of layer 0.
void use_in_layer_0(ModelDescription& m, const Projection& projection) {
  m.encoder.projections.push_back(projection);
  AttentionDescription& attention = m.encoder.layers[0].attention;
  attention.key_projections = attention.value_projections = {static_cast<uint32_t>(m.encoder.projections.size() - 1)};
}

}  // namespace

TEST_CASE("attention that contradicts its tensors or itself is refused") {
  const auto attention = [](ModelDescription& m) -> AttentionDescription& { return m.encoder.layers[0].attention; };
  const Attack attacks[] = {
      {"no heads", "heads is 0", [&](ModelDescription& m) { attention(m).heads = 0; }},
      {"too many heads", "heads is 1025", [&](ModelDescription& m) { attention(m).heads = 1025; }},
      {"heads don't fit", "query.weight needs shape [24, 16]",
       [&](ModelDescription& m) { attention(m).heads = attention(m).kv_heads = 3; }},
      {"no key heads", "kv_heads is 0, a divisor of the 2 heads",
       [&](ModelDescription& m) { attention(m).kv_heads = 0; }},
      {"uneven groups", "kv_heads is 3, a divisor of the 4 heads",
       [&](ModelDescription& m) { attention(m).heads = 4, attention(m).head_dim = 4, attention(m).kv_heads = 3; }},
      {"more key heads", "kv_heads is 4, a divisor of the 2 heads",
       [&](ModelDescription& m) { attention(m).kv_heads = 4; }},
      {"groups don't fit", "key.weight needs shape [8, 16]",
       [&](ModelDescription& m) { attention(m).heads = 4, attention(m).head_dim = 4, attention(m).kv_heads = 2; }},
      {"one key head", "key.weight needs shape [8, 16]", [&](ModelDescription& m) { attention(m).kv_heads = 1; }},
      {"no head width", "head_dim is 0", [&](ModelDescription& m) { attention(m).head_dim = 0; }},
      {"head width wraps", "head_dim is 2147483648", [&](ModelDescription& m) { attention(m).head_dim = 1u << 31; }},
      {"scale 0", "scale is 0", [&](ModelDescription& m) { attention(m).scale = 0; }},
      {"scale negative", "scale is -1", [&](ModelDescription& m) { attention(m).scale = -1; }},
      {"scale NaN", "scale is", [&](ModelDescription& m) { attention(m).scale = not_a_number; }},
      {"scale infinite", "scale is inf", [&](ModelDescription& m) { attention(m).scale = infinity; }},
      {"no query", "attention.query.weight is missing", [&](ModelDescription& m) { attention(m).query = {}; }},
      {"query in rows", "query.weight needs shape",
       [&](ModelDescription& m) { attention(m).query.weight = m.encoder.embedding.tokens; }},
      {"bias too long", "key.bias needs shape [16]",
       [&](ModelDescription& m) { attention(m).key.bias = m.encoder.layers[0].ffn_in.bias; }},
      {"bias index", "key.bias refers to tensor 1000000",
       [&](ModelDescription& m) { attention(m).key.bias = 1000000; }},
      {"no bias", "", [&](ModelDescription& m) { attention(m).key.bias = absent; }},
      {"value is key, and there", "attention.value has weight",
       [&](ModelDescription& m) { attention(m).value_is_key = true; }},
      {"value is key", "",
       [&](ModelDescription& m) {
         attention(m).value_is_key = true;
         attention(m).value = {};
         attention(m).value_projections.clear();
       }},
      {"value is key with its own E", "differ from key_projections",
       [&](ModelDescription& m) {
         attention(m).value_is_key = true;
         attention(m).value = {};
       }},
      {"no output", "", [&](ModelDescription& m) { attention(m).output = {}; }},
      {"output bias alone", "attention.output has weight -1",
       [&](ModelDescription& m) { attention(m).output.weight = absent; }},
      {"second output alone", "output_second is present without output",
       [&](ModelDescription& m) {
         attention(m).output_second = attention(m).output;
         attention(m).output = {};
       }},
      {"output changes the width", "turns width 16 into 24 without attention_resample",
       [&](ModelDescription& m) { attention(m).output = m.encoder.layers[0].ffn_in; }},
      {"resample's width", "attention_resample.weight needs shape [16, 16]",
       [&](ModelDescription& m) { m.encoder.layers[0].attention_resample = m.encoder.layers[0].ffn_in; }},
      {"no projections", "projections has 0 entries", [](ModelDescription& m) { m.encoder.projections.clear(); }},
      {"no key projection", "key_projections has 0 entries",
       [&](ModelDescription& m) { attention(m).key_projections.clear(); }},
      {"three for two heads", "key_projections has 3 entries",
       [&](ModelDescription& m) {
         attention(m).key_projections = {0, 0, 0};
       }},
      {"one for each head", "",
       [&](ModelDescription& m) {
         attention(m).key_projections = {0, 1};
       }},
      {"projection index", "refers to projection 2",
       [&](ModelDescription& m) { attention(m).value_projections = {2}; }},
      {"projection index -1", "refers to projection 4294967295",
       [&](ModelDescription& m) { attention(m).value_projections = {~0u}; }},
      {"k = 0", "projections[0].k is 0", [](ModelDescription& m) { m.encoder.projections[0].k = 0; }},
      {"k huge", "projections[0].k is 4294967295", [](ModelDescription& m) { m.encoder.projections[0].k = ~0u; }},
      {"k off by one", "needs shape [7, 20]", [](ModelDescription& m) { m.encoder.projections[0].k = 7; }},
      {"projection kind", "projection kind is 5",
       [](ModelDescription& m) { m.encoder.projections[0].kind = ProjectionKind{5}; }},
      {"projection order", "projection order is 2",
       [](ModelDescription& m) { m.encoder.projections[0].order = ProjectionOrder{2}; }},
      {"E missing", "projections[0].weight is missing",
       [](ModelDescription& m) { m.encoder.projections[0].weight = absent; }},
      {"E in bf16", "needs f32 row_major",
       [](ModelDescription& m) {  // the position table has the shape of an E for 16 tokens
         m.encoder.max_tokens = 16;
         m.encoder.projections[0].k = 22;
         m.encoder.projections[0].weight = m.encoder.embedding.positions;
       }},
      {"projection bias too long", "projections[0].bias needs shape [6]",
       [](ModelDescription& m) { m.encoder.projections[0].bias = m.encoder.layers[0].ffn_in.bias; }},
      {"kernel of a linear projection", "which its kind doesn't use",
       [](ModelDescription& m) { m.encoder.projections[0].kernel = 3; }},
      {"length scale", "projection length_scale is 3",
       [](ModelDescription& m) { m.encoder.projections[0].length_scale = LengthScale{3}; }},
      {"length scale of keys made later", "projections[0].length_scale needs a projection of the order after_linear",
       [](ModelDescription& m) { m.encoder.projections[0].length_scale = LengthScale::inverse_root; }},
      {"length scale of a pool", "length_scale belongs to a projection that is not linear",
       [](ModelDescription& m) {
         Projection projection = pool(4, 5, 5);
         projection.length_scale = LengthScale::restored_norm;
         use_in_layer_0(m, projection);
       }},
      {"length scale and a bias", "length_scale belongs to a projection with a bias",
       [](ModelDescription& m) {
         Projection& projection = m.encoder.projections[0];
         projection.order = ProjectionOrder::after_linear;
         projection.length_scale = LengthScale::inverse_root;
         projection.bias = m.encoder.layers[0].ffn_in.bias;
       }},
      {"length scale of masked rows", "row_mask masks rows that a projection's length_scale counts",
       [&](ModelDescription& m) {
         m.encoder.projections[0].order = ProjectionOrder::after_linear;
         m.encoder.projections[1].order = ProjectionOrder::after_linear;
         m.encoder.projections[1].length_scale = LengthScale::restored_norm;
         attention(m).row_mask = RowMask::zeroed;
       }},
      {"length scale in order", "",
       [](ModelDescription& m) {
         m.encoder.projections[0].order = ProjectionOrder::after_linear;
         m.encoder.projections[0].length_scale = LengthScale::restored_norm;
       }},
      {"pool", "", [](ModelDescription& m) { use_in_layer_0(m, pool(4, 5, 5)); }},
      {"pool without stride", "has kernel 5 and stride 0",
       [](ModelDescription& m) { use_in_layer_0(m, pool(4, 5, 0)); }},
      {"pool without kernel", "has kernel 0 and stride 5",
       [](ModelDescription& m) { use_in_layer_0(m, pool(4, 0, 5)); }},
      {"pool wider than the text", "has kernel 21", [](ModelDescription& m) { use_in_layer_0(m, pool(1, 21, 1)); }},
      {"pool to another k", "kernel 5 and stride 5 give 4",
       [](ModelDescription& m) { use_in_layer_0(m, pool(5, 5, 5)); }},
      {"pool with weight", "which its kind doesn't use",
       [](ModelDescription& m) {
         Projection projection = pool(4, 5, 5);
         projection.weight = 3;
         use_in_layer_0(m, projection);
       }},
      {"convolution of a matrix", "needs shape [5, 20, 20]",
       [](ModelDescription& m) {
         Projection projection = pool(4, 5, 5);
         projection.kind = ProjectionKind::convolution;
         projection.weight = m.encoder.projections[0].weight;
         use_in_layer_0(m, projection);
       }},
      {"convolution before", "order is before_linear",
       [](ModelDescription& m) {
         Projection projection = pool(4, 5, 5);
         projection.kind = ProjectionKind::convolution;
         projection.order = ProjectionOrder::before_linear;
         use_in_layer_0(m, projection);
       }},
      {"full attention", "",
       [](ModelDescription& m) {
         Projection projection;
         projection.kind = ProjectionKind::none;
         use_in_layer_0(m, projection);
       }},
      {"full attention with k", "full attention needs 0",
       [](ModelDescription& m) {
         Projection projection;
         projection.kind = ProjectionKind::none;
         projection.k = 4;
         use_in_layer_0(m, projection);
       }},
      {"keys full, values not", "compresses keys to 0 rows and values to 6",
       [&](ModelDescription& m) {
         Projection projection;
         projection.kind = ProjectionKind::none;
         m.encoder.projections.push_back(projection);
         attention(m).key_projections = {2};
       }},
      {"keys in other windows", "has other windows for keys than for values",
       [&](ModelDescription& m) {
         m.encoder.projections.push_back(pool(4, 5, 5));
         m.encoder.projections.push_back(pool(4, 4, 5));
         attention(m).key_projections = {2};
         attention(m).value_projections = {3};
       }},
  };
  run_attacks("attention", attacks);
}

TEST_CASE("positions in attention that can't have them are refused") {
  const auto attention = [](ModelDescription& m) -> AttentionDescription& { return m.encoder.layers[0].attention; };
  const auto after_linear = [](ModelDescription& m) {
    for (Projection& projection : m.encoder.projections) projection.order = ProjectionOrder::after_linear;
  };
  const auto full = [](ModelDescription& m) { use_in_layer_0(m, {.kind = ProjectionKind::none}); };
  const auto from_memory = [&](ModelDescription& m) {
    attention(m).key_source = KeySource::encoder_states;
    m.encoder.encoder_states_width = 16;
  };
  const Attack attacks[] = {
      {"rotary", "",
       [&](ModelDescription& m) {
         after_linear(m);
         attention(m).rotary_base = 10000;
       }},
      {"rotary and full attention", "",
       [&](ModelDescription& m) {
         full(m);
         attention(m).rotary_base = 0.5f;
       }},
      {"rotary NaN", "rotary_base is", [&](ModelDescription& m) { attention(m).rotary_base = not_a_number; }},
      {"rotary infinite", "rotary_base is inf", [&](ModelDescription& m) { attention(m).rotary_base = infinity; }},
      {"rotary negative", "rotary_base is -1", [&](ModelDescription& m) { attention(m).rotary_base = -1; }},
      {"rotary before the linear", "rotary_base rotates keys, but keys are computed from compressed rows",
       [&](ModelDescription& m) { attention(m).rotary_base = 10000; }},
      {"rotary of odd heads", "rotary_base rotates pairs of channels, but head_dim is 1",
       [&](ModelDescription& m) {
         after_linear(m);
         attention(m).heads = attention(m).kv_heads = 16;
         attention(m).head_dim = 1;
         attention(m).rotary_base = 10000;
       }},
      {"rotary of encoder states",
       "rotary_base rotates keys by their positions, but they are not keys of the layer's own rows",
       [&](ModelDescription& m) {
         after_linear(m);
         from_memory(m);
         attention(m).rotary_base = 10000;
       }},
      {"rotary values", "rotary_base rotates keys and not values, but values are the keys",
       [&](ModelDescription& m) {
         after_linear(m);
         attention(m).value_is_key = true;
         attention(m).value = {};
         attention(m).value_projections.clear();
         attention(m).rotary_base = 10000;
       }},
      {"masked rows of values before the linear",
       "row_mask zeroes rows of keys, but keys are computed from compressed rows",
       [&](ModelDescription& m) {
         m.encoder.projections[attention(m).key_projections[0]].order = ProjectionOrder::after_linear;
         attention(m).row_mask = RowMask::zeroed;
       }},
      {"norms of queries and keys", "",
       [&](ModelDescription& m) {
         full(m);
         attention(m).query_norm = attention(m).key_norm = m.encoder.layers[0].attention_norm;
         attention(m).key_norm.bias = absent;
         attention(m).key_norm.kind = NormKind::rms;
       }},
      {"norm of keys, narrow", "attention.key_norm.scale needs shape [16]",
       [&](ModelDescription& m) {
         full(m);
         attention(m).key_norm.scale = m.encoder.layers[0].ffn_in.bias;
       }},
      {"norm of queries, index", "attention.query_norm.scale refers to tensor 1000000",
       [&](ModelDescription& m) { attention(m).query_norm.scale = 1000000; }},
      {"norm of queries, epsilon", "attention.query_norm.epsilon is 0, a positive number is needed",
       [&](ModelDescription& m) {
         attention(m).query_norm = m.encoder.layers[0].attention_norm;
         attention(m).query_norm.epsilon = 0;
       }},
      {"outer norm", "",
       [&](ModelDescription& m) { m.encoder.layers[0].outer_norm = m.encoder.layers[0].attention_norm; }},
      {"outer norm, narrow", "layers[0].outer_norm.scale needs shape [16]",
       [&](ModelDescription& m) {
         m.encoder.layers[0].outer_norm = m.encoder.layers[0].attention_norm;
         m.encoder.layers[0].outer_norm.scale = m.encoder.layers[0].ffn_in.bias;
       }},
      {"outer norm, pre-norm", "outer_norm needs the norm placement post and the standard residual",
       [&](ModelDescription& m) {
         m.encoder.norm_placement = NormPlacement::pre;
         m.encoder.layers[0].outer_norm = m.encoder.layers[0].attention_norm;
       }},
      {"outer norm, nothing added", "outer_norm needs the norm placement post and the standard residual",
       [&](ModelDescription& m) {
         m.encoder.residual = ResidualKind::none;
         m.encoder.layers[0].outer_norm = m.encoder.layers[0].attention_norm;
       }},
      {"outer norm without output", "outer_norm needs an attention with one output projection",
       [&](ModelDescription& m) {
         attention(m).output = {};
         m.encoder.layers[0].outer_norm = m.encoder.layers[0].attention_norm;
       }},
      {"kind of a norm", "norm kind is 2",
       [&](ModelDescription& m) { m.encoder.layers[0].attention_norm.kind = NormKind{2}; }},
      {"norm of keys before the linear", "key_norm acts on keys, but keys are computed from compressed rows",
       [&](ModelDescription& m) { attention(m).key_norm = m.encoder.layers[0].attention_norm; }},
      {"norm of values", "key_norm changes keys and not values, but values are the keys",
       [&](ModelDescription& m) {
         after_linear(m);
         attention(m).value_is_key = true;
         attention(m).value = {};
         attention(m).value_projections.clear();
         attention(m).key_norm = m.encoder.layers[0].attention_norm;
       }},
      {"window", "",
       [&](ModelDescription& m) {
         full(m);
         attention(m).window = ~0u;
       }},
      {"window beside compressed keys", "",
       [&](ModelDescription& m) {
         after_linear(m);
         attention(m).window = 1;
       }},
      {"window beside keys that are compressed first",
       "window is used with compressed keys, which need the order after_linear",
       [&](ModelDescription& m) { attention(m).window = 1; }},
      {"window in a causal layer", "window is used with compressed keys, which a causal layer can't have",
       [&](ModelDescription& m) {
         after_linear(m);
         attention(m).window = 1;
         attention(m).causal = true;
       }},
      {"window beside scaled keys", "window is used with compressed keys, which need the order after_linear",
       [&](ModelDescription& m) {
         after_linear(m);
         for (Projection& projection : m.encoder.projections) projection.length_scale = LengthScale::inverse_root;
         attention(m).window = 1;
       }},
      {"window beside pooled keys",
       "window is used with compressed keys, which need one linear projection for all heads",
       [&](ModelDescription& m) {
         use_in_layer_0(m, pool(4, 5, 5));
         attention(m).window = 1;
       }},
      {"a span beyond the positions", "span is 1000, at most 20 is possible",
       [&](ModelDescription& m) {
         after_linear(m);
         m.encoder.projections[0].span = 1000;
       }},
      {"a span of a convolution", "span is 1, at most 0 is possible",
       [&](ModelDescription& m) {
         use_in_layer_0(m, pool(4, 5, 5));
         m.encoder.projections.back().span = 1;
       }},
      {"exact tokens of a convolution", "exact_tokens belongs to a projection that is not linear",
       [&](ModelDescription& m) {
         use_in_layer_0(m, pool(4, 5, 5));
         m.encoder.projections.back().exact_tokens = {1};
       }},
      {"more exact tokens than rows", "exact_tokens has 7 entries for 6 compressed rows",
       [&](ModelDescription& m) {
         after_linear(m);
         m.encoder.projections[0].exact_tokens = {1, 1, 1, 1, 1, 1, 1};
       }},
      {"an exact token outside the vocabulary", "exact_tokens has 4000000000, the vocabulary has",
       [&](ModelDescription& m) {
         after_linear(m);
         m.encoder.projections[0].exact_tokens = {4000000000u};
       }},
      {"window into encoder states",
       "window depends on distances between rows, but keys are not those of the layer's own rows",
       [&](ModelDescription& m) {
         full(m);
         from_memory(m);
         attention(m).window = 1;
       }},
      {"position bias of another shape", "attention.position_bias needs shape [2, 39]",
       [&](ModelDescription& m) {
         full(m);
         attention(m).position_bias = m.encoder.layers[0].ffn_in.bias;
       }},
      {"position bias of no tensor", "attention.position_bias refers to tensor 1000",
       [&](ModelDescription& m) {
         full(m);
         attention(m).position_bias = 1000;
       }},
      {"position bias below absent", "attention.position_bias refers to tensor -2",
       [&](ModelDescription& m) {
         full(m);
         attention(m).position_bias = -2;
       }},
      {"position bias of compressed keys",
       "position_bias depends on distances between rows, but keys are compressed and the layer has no window",
       [&](ModelDescription& m) { attention(m).position_bias = 0; }},
      {"position bias of another shape beside compressed keys", "attention.position_bias needs shape [2, 39]",
       [&](ModelDescription& m) {
         after_linear(m);
         attention(m).window = 1;
         attention(m).position_bias = m.encoder.layers[0].ffn_in.bias;
       }},
      {"position bias beside pooled keys",
       "window is used with compressed keys, which need one linear projection for all heads",
       [&](ModelDescription& m) {
         use_in_layer_0(m, pool(4, 5, 5));
         attention(m).window = 1;
         attention(m).position_bias = 0;
       }},
  };
  run_attacks("positions in attention", attacks);
}

}  // namespace linformer_test::semantic_attention_test
