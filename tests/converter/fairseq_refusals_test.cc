// Tests what the fairseq dialect refuses, and that its errors name the setting or the tensor.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "converter/checks.h"
#include "converter/tiny_fairseq.h"

namespace linformer_test::fairseq_refusals_test {
namespace {

const std::string layer0 = tiny_encoder + "layers.0.", layer1 = tiny_encoder + "layers.1.";

}  // namespace

TEST_CASE("missing settings, and tensors and settings that don't fit together, are refused with the reason") {
  struct Case {
    const char* what;
    std::function<void(std::vector<HandTensor>&, HandSettings&)> change;
    std::vector<std::string> parts;  // texts that the error must contain
  };
  const auto tensor = [](auto change) {
    return [change](std::vector<HandTensor>& tensors, HandSettings&) { change(tensors); };
  };
  const auto setting = [](const char* name, Setting value) {
    return [name, value](std::vector<HandTensor>&, HandSettings& settings) { settings[name] = value; };
  };
  using Tensors = std::vector<HandTensor>;
  const Case cases[] = {
      {"no heads",
       [](Tensors&, HandSettings& s) { s.erase("encoder_attention_heads"); },
       {"config '", "{\"encoder_attention_heads\": "}},
      {"heads 0", setting("encoder_attention_heads", int64_t{0}), {"encoder_attention_heads is 0", "1 to 1024"}},
      {"heads 3",
       setting("encoder_attention_heads", int64_t{3}),
       {"does not divide the width 8 of all heads together"}},
      {"heads as text",
       setting("encoder_attention_heads", std::string("2")),
       {"encoder_attention_heads", "whole number"}},
      {"activation", setting("activation_fn", std::string("swish")), {"activation_fn", "swish", "gelu_accurate"}},
      {"shared kv 2", setting("shared_kv_compressed", int64_t{2}), {"shared_kv_compressed is 2"}},
      {"kv said shared", setting("shared_kv_compressed", int64_t{1}), {"compress_v", "differs"}},
      {"layers", setting("encoder_layers", int64_t{5}), {"encoder_layers is 5", "2 layers"}},
      {"width", setting("encoder_embed_dim", int64_t{16}), {"encoder_embed_dim"}},
      {"ffn", setting("encoder_ffn_embed_dim", int64_t{16}), {"encoder_ffn_embed_dim is 16", "12"}},
      {"positions", setting("max_positions", int64_t{512}), {"max_positions is 512", "6 positions"}},
      {"ratio", setting("compressed", int64_t{4}), {"compressed is 4", "6 positions to 2"}},
      {"sinusoidal", setting("encoder_learned_pos", false), {"encoder_learned_pos"}},
      {"no positions", setting("no_token_positional_embeddings", true), {"no_token_positional_embeddings"}},
      {"scaled", setting("no_scale_embedding", false), {"no_scale_embedding"}},
      {"pruned", setting("encoder_layers_to_keep", std::string("0")), {"encoder_layers_to_keep"}},
      {"unknown tensor",
       tensor([](Tensors& t) { t.push_back(random_tensor(layer0 + "adapter.weight", {2}, 1)); }),
       {"layers.0.adapter.weight", "not part of a fairseq Linformer"}},
      {"unknown top",
       tensor([](Tensors& t) { t.push_back(random_tensor("criterion.weight", {2}, 1)); }),
       {"criterion.weight", "not part of"}},
      {"missing weight",
       tensor([](Tensors& t) { remove(t, layer1 + "fc2.weight"); }),
       {"layers.1.fc2.weight", "missing"}},
      {"missing bias",
       tensor([](Tensors& t) { remove(t, layer1 + "self_attn.v_proj.bias"); }),
       {"v_proj.bias", "missing"}},
      {"missing value",
       tensor([](Tensors& t) { remove(t, layer1 + "self_attn.compress_v.weight"); }),
       {"compress_v.weight", "shared_kv_compressed is 0"}},
      {"no positions table",
       tensor([](Tensors& t) { remove(t, tiny_encoder + "embed_positions.weight"); }),
       {"embed_positions.weight", "missing"}},
      {"positions rows",
       tensor([](Tensors& t) {
         HandTensor& table = named(t, tiny_encoder + "embed_positions.weight");
         table = random_tensor(table.name, {6, 8}, 1);
       }),
       {"embed_positions", "[6, 8] f32", "8 (N + 2)"}},
      {"a layer skipped", tensor([](Tensors& t) { t = renamed(t, "layers.1.", "layers.2."); }), {"layer 1 of 3"}},
      {"layer number", tensor([](Tensors& t) { t = renamed(t, "layers.1.", "layers.99999999999."); }), {"99999999999"}},
      {"wrong shape",
       tensor([](Tensors& t) {
         HandTensor& bias = named(t, layer0 + "fc1.bias");
         bias = random_tensor(bias.name, {11}, 1);
       }),
       {"fc1.bias", "[11] f32", "12 (ffn width)"}},
      {"other N",
       tensor([](Tensors& t) {
         HandTensor& projection = named(t, layer1 + "self_attn.compress_v.weight");
         projection = random_tensor(projection.name, {2, 7}, 1);
       }),
       {"compress_v", "[2, 7]", "6 (N)"}},
      {"other k",
       tensor([](Tensors& t) {
         HandTensor& projection = named(t, layer1 + "self_attn.compress_v.weight");
         projection = random_tensor(projection.name, {3, 6}, 1);
       }),
       {"layer 1", "keys to 2", "values to 3"}},
      {"integers",
       tensor([](Tensors& t) { named(t, layer0 + "fc1.bias").type = DataType::i64; }),
       {"fc1.bias", "floating point"}},
      {"NaN",
       tensor([](Tensors& t) { named(t, layer0 + "fc2.weight").values[5] = std::nan(""); }),
       {"fc2.weight", "nan at element 5"}},
      {"infinity",
       tensor([](Tensors& t) { named(t, layer1 + "fc1.bias").values[0] = HUGE_VAL; }),
       {"fc1.bias", "inf at element 0"}},
      {"f64 overflow",
       tensor([](Tensors& t) {
         HandTensor& bias = named(t, layer1 + "fc1.bias");
         bias.type = DataType::f64;
         bias.values[2] = 1e200;
       }),
       {"fc1.bias", "element 2", "too large for f32"}},
      {"both names",
       tensor([](Tensors& t) { t.push_back(random_tensor(tiny_encoder + "emb_layer_norm.weight", {8}, 1)); }),
       {"emb_layer_norm", "layernorm_embedding", "both"}},
      {"half a head",
       tensor([](Tensors& t) {
         add_head(t, "mnli", 8, 8, 2);
         remove(t, "classification_heads.mnli.out_proj.bias");
       }),
       {"classification_heads.mnli.out_proj.bias", "missing"}},
      {"singular spectral norm",
       tensor([](Tensors& t) {
         add_head(t, "mnli", 8, 8, 2);
         named(t, "classification_heads.mnli.out_proj.weight").name += "_orig";
         t.push_back({"classification_heads.mnli.out_proj.weight_u", {2}, {0, 0}, DataType::f32});
         t.push_back({"classification_heads.mnli.out_proj.weight_v", {8}, {1, 1, 1, 1, 1, 1, 1, 1}, DataType::f32});
       }),
       {"weight_orig", "spectral norm of 0"}},
      {"full attention",
       tensor([](Tensors& t) { std::erase_if(t, [](const HandTensor& x) { return contains(x.name, "compress"); }); }),
       {"no supported implementation", "full attention"}},
      {"another model",
       tensor([](Tensors& t) {
         t = {random_tensor("linformer.net.layers.0.0.fn.to_q.weight", {2, 2}, 1)};
       }),
       {"no supported implementation", "linformer.net.layers.0.0.fn.to_q.weight", "supported_dialects"}},
  };
  int refused = 0;
  for (const Case& c : cases) {
    CAPTURE(c.what);
    TinyFairseq tiny;
    std::vector<HandTensor> tensors = tiny.tensors();
    HandSettings settings = tiny.settings();
    c.change(tensors, settings);
    const std::string error = conversion_error(torch_zip(tensors, settings));
    check_sentence(error, c.parts);
    ++refused;
  }
  std::printf("%d refusals\n", refused);
}

}  // namespace linformer_test::fairseq_refusals_test
