// Tests the PyText dialect on small checkpoints: roles, the bias of compress_k, decoders and refusals.
#include <doctest/doctest.h>

#include <functional>

#include "base/description.h"
#include "converter/checks.h"
#include "converter/tiny_fairseq.h"

namespace linformer_test::pytext_test {

using namespace linformer;

namespace {

constexpr const char* settings = R"({"num_attention_heads": 2})";
const std::string transformer = "transformer.";

// Returns the tensors of a model with d 8, a vocabulary of 10, N 6, k 2 and two layers. The layers share compress_k,
// whose bias is zero.
std::vector<HandTensor> tiny_pytext() {
  std::vector<HandTensor> made;
  const auto add = [&](const std::string& name, const std::vector<int64_t>& shape) {
    made.push_back(random_tensor(name, shape, 1));
  };
  const auto add_weight_bias = [&](const std::string& name, const std::vector<int64_t>& shape) {
    add(name + ".weight", shape);
    add(name + ".bias", {shape[0]});
  };
  add(transformer + "token_embedding.weight", {10, 8});
  add(transformer + "positional_embedding.embedding.weight", {8, 8});
  add_weight_bias(transformer + "embedding_layer_norm", {8});
  const HandTensor shared = random_tensor("compress_k", {2, 6}, 1);
  for (int i = 0; i < 2; ++i) {
    const std::string layer = transformer + "layers." + std::to_string(i) + ".";
    for (const char* name : {"qput", "kput", "vput", "output"}) {
      add_weight_bias(layer + "attention." + name + "_projection", {8, 8});
    }
    made.push_back({layer + "attention.compress_k.weight", shared.shape, shared.values, DataType::f32});
    made.push_back({layer + "attention.compress_k.bias", {2}, {0, 0}, DataType::f32});
    add_weight_bias(layer + "attention_layer_norm", {8});
    add_weight_bias(layer + "final_layer_norm", {8});
    add_weight_bias(layer + "residual_mlp.mlp.0", {12, 8});
    add_weight_bias(layer + "residual_mlp.mlp.3", {8, 12});
  }
  return made;
}

void add_weight_bias(std::vector<HandTensor>& tensors, const std::string& name, const std::vector<int64_t>& shape) {
  tensors.push_back(random_tensor(name + ".weight", shape, 1));
  tensors.push_back(random_tensor(name + ".bias", {shape[0]}, 1));
}

// Gives the tensors the names that they have in a model with a decoder.
std::vector<HandTensor> in_model(std::vector<HandTensor> tensors) {
  for (HandTensor& tensor : tensors) tensor.name = "encoder.encoder." + tensor.name;
  return tensors;
}

}  // namespace

TEST_CASE("PyText: each role gets its tensor's values, and the description has the settings that PyText fixes") {
  std::vector<HandTensor> tensors = tiny_pytext();
  const Converted model = converted(torch_zip(tensors), settings);
  const EncoderDescription& encoder = model.description().encoder;
  const auto check = [&](TensorIndex index, const std::string& name) {
    check_values(model, index, named(tensors, transformer + name));
  };
  CHECK(model.description().dialect == "pytext");
  CHECK(encoder.d_model == 8);
  CHECK(encoder.max_tokens == 6);
  CHECK(encoder.vocab_size == 10);
  CHECK(encoder.pad_id == 1);
  CHECK(encoder.norm_placement == NormPlacement::post);
  CHECK(encoder.embedding.position_offset == 2);
  CHECK(encoder.embedding.positions_count_non_pad);
  CHECK(encoder.embedding.pad_position == 1);
  CHECK(encoder.embedding.zero_pad_rows);
  CHECK(!encoder.final_norm.present());
  check(encoder.embedding.tokens, "token_embedding.weight");
  check(encoder.embedding.positions, "positional_embedding.embedding.weight");
  check(encoder.embedding.norm.scale, "embedding_layer_norm.weight");
  REQUIRE(encoder.layers.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    const std::string names = "layers." + std::to_string(i) + ".";
    const LayerDescription& layer = encoder.layers[i];
    const AttentionDescription& attention = layer.attention;
    CHECK(attention.heads == 2);
    CHECK(attention.scale == 0.125f);  // although heads of width 4 would suggest 0.5
    check(attention.query.weight, names + "attention.qput_projection.weight");
    check(attention.key.bias, names + "attention.kput_projection.bias");
    check(attention.value.weight, names + "attention.vput_projection.weight");
    check(attention.output.bias, names + "attention.output_projection.bias");
    check(layer.attention_norm.scale, names + "attention_layer_norm.weight");
    check(layer.ffn_norm.bias, names + "final_layer_norm.bias");
    check(layer.ffn_in.weight, names + "residual_mlp.mlp.0.weight");
    check(layer.ffn_out.weight, names + "residual_mlp.mlp.3.weight");
    CHECK(layer.activation == Activation::gelu);
    CHECK(attention.key_projections == attention.value_projections);
  }
  REQUIRE(encoder.projections.size() == 1);
  CHECK(encoder.projections[0].order == ProjectionOrder::before_linear);
  CHECK(encoder.projections[0].bias == absent);
  check(encoder.projections[0].weight, "layers.1.attention.compress_k.weight");
  CHECK(is_left_out(model.report.left_out, transformer + "layers.0.attention.compress_k.bias"));
  CHECK(model.report.mapped.size() + model.report.left_out.size() == tensors.size());

  const Converted scaled = converted(torch_zip(tensors), R"({"num_attention_heads": 2, "scaling": 0.5})");
  CHECK(scaled.description().encoder.layers[0].attention.scale == 0.5f);
}

TEST_CASE("PyText: the bias of compress_k is used only in models for quantised export") {
  std::vector<HandTensor> tensors = tiny_pytext();
  for (const char* layer : {"layers.0.", "layers.1."}) {
    named(tensors, transformer + layer + "attention.compress_k.bias").values = {0.5, -2};
  }
  CHECK(contains(conversion_error(torch_zip(tensors), settings), "{\"linformer_quantize\": false}"));
  const Converted usual = converted(torch_zip(tensors), R"({"num_attention_heads": 2, "linformer_quantize": false})");
  CHECK(usual.description().encoder.projections[0].bias == absent);
  const Converted added = converted(torch_zip(tensors), R"({"num_attention_heads": 2, "linformer_quantize": true})");
  REQUIRE(added.description().encoder.projections.size() == 1);
  const Projection& projection = added.description().encoder.projections[0];
  CHECK(added.values(projection.bias) == std::vector<float>{0.5f, -2.f});
}

TEST_CASE("PyText: decoders become heads with the pooling of the settings") {
  const std::string first = R"({"num_attention_heads": 2, "pooling": "cls_token"})",
                    each = R"({"num_attention_heads": 2, "pooling": "no_pool"})";
  std::vector<HandTensor> plain = in_model(tiny_pytext()), hidden = plain, projected = plain;
  add_weight_bias(plain, "decoder.mlp.0", {3, 8});
  add_weight_bias(hidden, "decoder.mlp.0", {5, 8});
  add_weight_bias(hidden, "decoder.mlp.2", {3, 5});
  add_weight_bias(projected, "encoder.projection", {5, 8});
  add_weight_bias(projected, "decoder.mlp.0", {3, 5});
  const Converted a = converted(torch_zip(plain), first);
  REQUIRE(a.description().heads.size() == 1);
  CHECK(a.description().heads[0].pooling == Pooling::first_token);
  CHECK(!a.description().heads[0].dense.present());
  CHECK(a.description().tensors[static_cast<size_t>(a.description().heads[0].output.weight)].shape[0] == 3);
  CHECK(converted(torch_zip(plain), each).description().heads[0].pooling == Pooling::none);
  CHECK(converted(torch_zip(hidden), first).description().heads[0].activation == Activation::relu);
  CHECK(converted(torch_zip(projected), first).description().heads[0].activation == Activation::tanh);
  CHECK(contains(conversion_error(torch_zip(plain), settings), "{\"pooling\": \"cls_token\"}"));
  CHECK(contains(conversion_error(torch_zip(plain), R"({"num_attention_heads": 2, "pooling": "avg_last_layer"})"),
                 "avg_last_layer"));
  CHECK(contains(conversion_error(torch_zip(plain), R"({"num_attention_heads": 2, "pooling": "cls_token",
                                                        "normalize_output_rep": true})"),
                 "normalize_output_rep"));
  add_weight_bias(projected, "decoder.mlp.2", {3, 3});
  CHECK(contains(conversion_error(torch_zip(projected), first), "more than one hidden layer"));
}

TEST_CASE("PyText: a decoder with one output is a regression, or a score if a setting adds a sigmoid") {
  std::vector<HandTensor> tensors = in_model(tiny_pytext());
  add_weight_bias(tensors, "decoder.mlp.0", {1, 8});
  nlohmann::json config = {{"num_attention_heads", 2}, {"pooling", "cls_token"}};
  const auto head = [&] { return converted(torch_zip(tensors), config.dump()).description().heads[0]; };
  CHECK(head().kind == HeadKind::regression);
  config["squash_to_unit_range"] = true;
  CHECK(head().kind == HeadKind::score);
  CHECK(head().score_activation == Activation::sigmoid);
}

TEST_CASE("PyText: refusals say what is wrong") {
  using Tensors = std::vector<HandTensor>;
  const auto refused = [](const std::function<void(Tensors&)>& change, const std::string& config,
                          std::initializer_list<const char*> parts) {
    Tensors tensors = tiny_pytext();
    change(tensors);
    const std::string error = conversion_error(safetensors(tensors), config);
    CAPTURE(error);
    for (const std::string part : parts) {
      CAPTURE(part);
      CHECK(contains(error, part));
    }
  };
  const auto none = [](Tensors&) {};
  refused(none, "", {"config '{\"num_attention_heads\": NUMBER}'"});
  refused(none, R"({"num_attention_heads": 2, "scaling": -1})", {"scaling", "positive"});
  refused(none, R"({"num_attention_heads": 2, "max_seq_len": 514})", {"max_seq_len is 514", "8 rows"});
  refused([](Tensors& t) { remove(t, transformer + "layers.1.residual_mlp.mlp.3.bias"); }, settings,
          {"residual_mlp.mlp.3.bias", "missing"});
  refused(
      [](Tensors& t) {
        add_weight_bias(t, transformer + "layers.0.residual_mlp.mlp.6", {8, 8});
      },
      settings, {"mlp.6.weight", "not part of a PyText Linformer"});
  refused(
      [](Tensors& t) {
        named(t, transformer + "positional_embedding.embedding.weight").shape = {16, 4};
      },
      settings, {"positional_embedding", "8 (N + 2)"});
  refused([](Tensors& t) { std::erase_if(t, [](const HandTensor& x) { return contains(x.name, "compress"); }); },
          settings, {"no supported implementation", "supported_dialects says which tensors"});
}

}  // namespace linformer_test::pytext_test
