#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/description.h"
#include "hostile_model/attack.h"

namespace linformer_test::semantic_encoder_test {

using namespace linformer;

TEST_CASE("an encoder that contradicts its tensors or itself is refused") {
  const Attack attacks[] = {
      {"no producer", "producer is not", [](ModelDescription& m) { m.producer.clear(); }},
      {"no dialect", "dialect is not", [](ModelDescription& m) { m.dialect.clear(); }},
      {"no width", "d_model is 0", [](ModelDescription& m) { m.encoder.d_model = 0; }},
      {"no tokens", "max_tokens is 0", [](ModelDescription& m) { m.encoder.max_tokens = 0; }},
      {"more tokens than positions", "embedding.positions has 22 rows",
       [](ModelDescription& m) { m.encoder.max_tokens = 21; }},
      {"no room behind the prefix token", "prefix_token leaves no room for a text",
       [](ModelDescription& m) {
         m.encoder.embedding.prefix_token = 2;
         m.encoder.max_tokens = 1;
       }},
      {"2^32 - 1 tokens", "max_tokens is 4294967295", [](ModelDescription& m) { m.encoder.max_tokens = ~0u; }},
      {"no vocabulary", "vocab_size is 0", [](ModelDescription& m) { m.encoder.vocab_size = 0; }},
      {"vocabulary beyond the table", "has 64 rows, vocab_size is 65",
       [](ModelDescription& m) { m.encoder.vocab_size = 65; }},
      {"pad beyond the vocabulary", "pad_id is 64", [](ModelDescription& m) { m.encoder.pad_id = 64; }},
      {"pad -2", "pad_id is -2", [](ModelDescription& m) { m.encoder.pad_id = -2; }},
      {"pad rows without pad", "has no pad_id", [](ModelDescription& m) { m.encoder.pad_id = -1; }},
      {"zeroed pads without pad", "zero_pad_rows is true",
       [](ModelDescription& m) {
         m.encoder.pad_id = -1;
         m.encoder.embedding.positions_count_non_pad = false;
       }},
      {"other width", "rows of 16, d_model is 17", [](ModelDescription& m) { m.encoder.d_model = 17; }},
      {"no embedding", "without a token embedding", [](ModelDescription& m) { m.encoder.embedding.tokens = absent; }},
      {"embedding index", "refers to tensor 999", [](ModelDescription& m) { m.encoder.embedding.tokens = 999; }},
      {"embedding index -2", "refers to tensor -2", [](ModelDescription& m) { m.encoder.embedding.tokens = -2; }},
      {"embedding in panels", "needs row_major",
       [](ModelDescription& m) {
         tensor(m, m.encoder.embedding.tokens).layout = TensorLayout::panel16;
         tensor(m, m.encoder.embedding.tokens).type = ElementType::f16;  // with as many bytes
         m.mlm = {};
       }},
      {"vector as embedding", "needs shape [any, any]",
       [](ModelDescription& m) { m.encoder.embedding.tokens = m.encoder.embedding.norm.scale; }},
      {"positions missing", "embedding.positions is missing",
       [](ModelDescription& m) { m.encoder.embedding.positions = absent; }},
      {"positions of no use", "needs shape [8]",
       [](ModelDescription& m) { m.encoder.embedding.position_kind = PositionKind::sinusoidal_halves; }},
      {"sinusoidal", "",
       [](ModelDescription& m) {
         m.encoder.embedding.position_kind = PositionKind::sinusoidal_interleaved;
         m.encoder.embedding.positions = absent;
       }},
      {"position base", "position_base is",
       [](ModelDescription& m) {
         m.encoder.embedding.position_kind = PositionKind::sinusoidal_halves;
         m.encoder.embedding.positions = absent;
         m.encoder.embedding.position_base = not_a_number;
       }},
      {"position offset", "need 23", [](ModelDescription& m) { m.encoder.embedding.position_offset = 3; }},
      {"position offset wraps", "need 4294967315",
       [](ModelDescription& m) { m.encoder.embedding.position_offset = ~0u; }},
      {"pad position", "pad_position is 22", [](ModelDescription& m) { m.encoder.embedding.pad_position = 22; }},
      {"unknown positions", "position_kind is 4",
       [](ModelDescription& m) { m.encoder.embedding.position_kind = PositionKind{4}; }},
      {"token types' width", "embedding.token_types needs shape",
       [](ModelDescription& m) { m.encoder.embedding.token_types = m.encoder.layers[0].ffn_in.bias; }},
      {"embedding scale 0", "embedding.scale is 0", [](ModelDescription& m) { m.encoder.embedding.scale = 0; }},
      {"factor's width", "embedding.factor.weight needs shape [16, 16]",
       [](ModelDescription& m) { m.encoder.embedding.factor = m.encoder.layers[0].ffn_in; }},
      {"bias without factor", "embedding.factor has weight -1 and bias 3",
       [](ModelDescription& m) { m.encoder.embedding.factor.bias = 3; }},
      {"transform's width", "embedding.transform.weight needs shape [16, 16]",
       [](ModelDescription& m) { m.encoder.embedding.transform = m.encoder.layers[0].ffn_out; }},
      {"epsilon 0", "epsilon is 0", [](ModelDescription& m) { m.encoder.embedding.norm.epsilon = 0; }},
      {"epsilon negative", "epsilon is -1", [](ModelDescription& m) { m.encoder.embedding.norm.epsilon = -1; }},
      {"epsilon NaN", "epsilon is", [](ModelDescription& m) { m.encoder.layers[0].ffn_norm.epsilon = not_a_number; }},
      {"epsilon infinite", "epsilon is inf", [](ModelDescription& m) { m.encoder.final_norm.epsilon = infinity; }},
      {"norm's width", "final_norm.scale needs shape [16]",
       [](ModelDescription& m) { m.encoder.final_norm.scale = m.encoder.layers[0].ffn_in.bias; }},
      {"norm of bf16", "needs f32 row_major",
       [](ModelDescription& m) {
         TensorDescription& t = tensor(m, m.encoder.embedding.norm.scale);
         t.type = ElementType::bf16;
         t.shape = {16};
         t.bytes = 32;
       }},
      {"norm bias without scale", "final_norm has scale -1 and bias 2",
       [](ModelDescription& m) { m.encoder.final_norm.bias = 2; }},
      {"norm before a factor that is absent", "norm_before_factor is true, but there is no factor",
       [](ModelDescription& m) { m.encoder.embedding.norm_before_factor = true; }},
      {"no layers", "layers has 0 entries", [](ModelDescription& m) { m.encoder.layers.clear(); }},
      {"no layers, positions", "layers has 0 entries, which is possible only for a token embedding",
       [](ModelDescription& m) {
         m.encoder.layers.clear();
         m.mlm = {};
         m.heads.clear();
       }},
      {"1,025 layers", "layers has 1025 entries",
       [](ModelDescription& m) { m.encoder.layers = std::vector(1025, m.encoder.layers[1]); }},
      {"1,024 layers", "", [](ModelDescription& m) { m.encoder.layers = std::vector(1024, m.encoder.layers[1]); }},
      {"one-sided FFN", "ffn_out.weight is missing", [](ModelDescription& m) { m.encoder.layers[0].ffn_out = {}; }},
      {"FFN output without input", "belongs to a layer without ffn_in",
       [](ModelDescription& m) { m.encoder.layers[0].ffn_in = {}; }},
      {"no FFN", "",
       [](ModelDescription& m) {
         m.encoder.layers[0].ffn_in = m.encoder.layers[0].ffn_out = {};
         m.encoder.layers[0].ffn_norm = {};
       }},
      {"FFN's inner width", "ffn_out.weight needs shape",
       [](ModelDescription& m) { m.encoder.layers[0].ffn_out = m.encoder.layers[0].attention.query; }},
      {"FFN changes the width", "turns width 16 into 24 without ffn_resample",
       [](ModelDescription& m) {
         m.encoder.layers[0].ffn_in = m.encoder.layers[0].attention.query;
         m.encoder.layers[0].ffn_out = m.encoder.layers[1].ffn_in;
       }},
      {"gated without FFN", "layers[0].gated belongs to a layer without ffn_in",
       [](ModelDescription& m) {
         LayerDescription& layer = m.encoder.layers[0];
         layer.ffn_in = layer.ffn_out = {};
         layer.ffn_norm = {};
         layer.gated = true;
       }},
      {"gated by what isn't there", "ffn_out.weight needs shape [any, 12]",
       [](ModelDescription& m) { m.encoder.layers[0].gated = true; }},
      {"gated by an odd width", "ffn_in has 23 outputs, a gated layer needs an even number",
       [](ModelDescription& m) {
         LayerDescription& layer = m.encoder.layers[0];
         layer.gated = true;
         tensor(m, layer.ffn_in.weight).shape[0] = 23;  // as many panels as 24
         layer.ffn_in.bias = absent;
       }},
      {"activation", "layer activation is 8",
       [](ModelDescription& m) { m.encoder.layers[0].activation = Activation{8}; }},
      {"norm placement", "norm_placement is 2",
       [](ModelDescription& m) { m.encoder.norm_placement = NormPlacement{2}; }},
      {"residual", "residual is 255", [](ModelDescription& m) { m.encoder.residual = ResidualKind{255}; }},
  };
  run_attacks("encoder", attacks);
}

}  // namespace linformer_test::semantic_encoder_test
