// Tests the port of fairseq's Linformer to Hugging Face's classes on small checkpoints.
#include <doctest/doctest.h>

#include <functional>

#include "base/description.h"
#include "converter/checks.h"
#include "converter/tiny_fairseq.h"

namespace linformer_test::fairseq_hf_test {

using namespace linformer;

namespace {

constexpr const char* settings =
    R"({"num_attention_heads": 2, "hidden_act": "gelu_new", "layer_norm_eps": 1e-5, "pad_token_id": 1})";

// Returns the tensors of a model with d 8, a vocabulary of 10, N 6, k 2 and two layers. compress_k has `columns`
// columns: 6, or 8 as in models trained with these classes.
std::vector<HandTensor> tiny_port(int64_t columns = 6) {
  std::vector<HandTensor> made;
  const auto add = [&](const std::string& name, const std::vector<int64_t>& shape) {
    made.push_back(random_tensor(name, shape, 1));
  };
  const auto add_weight_bias = [&](const std::string& name, const std::vector<int64_t>& shape) {
    add(name + ".weight", shape);
    add(name + ".bias", {shape[0]});
  };
  add("roberta.embeddings.word_embeddings.weight", {10, 8});
  add("roberta.embeddings.position_embeddings.weight", {8, 8});
  add("roberta.embeddings.token_type_embeddings.weight", {1, 8});
  add_weight_bias("roberta.embeddings.LayerNorm", {8});
  for (int i = 0; i < 2; ++i) {
    const std::string layer = "roberta.encoder.layer." + std::to_string(i) + ".";
    for (const char* name : {"query", "key", "value"}) add_weight_bias(layer + "attention.self." + name, {8, 8});
    add(layer + "attention.self.compress_k.weight", {2, columns});
    add(layer + "attention.self.compress_v.weight", {2, columns});
    add_weight_bias(layer + "attention.output.dense", {8, 8});
    add_weight_bias(layer + "attention.output.LayerNorm", {8});
    add_weight_bias(layer + "intermediate.dense", {12, 8});
    add_weight_bias(layer + "output.dense", {8, 12});
    add_weight_bias(layer + "output.LayerNorm", {8});
  }
  return made;
}

void add_masked_lm(std::vector<HandTensor>& tensors) {
  for (const auto& [name, shape] : {std::pair<std::string, std::vector<int64_t>>{"lm_head.dense.weight", {8, 8}},
                                    {"lm_head.dense.bias", {8}},
                                    {"lm_head.layer_norm.weight", {8}},
                                    {"lm_head.layer_norm.bias", {8}},
                                    {"lm_head.bias", {10}}}) {
    tensors.push_back(random_tensor(name, shape, 1));
  }
  HandTensor tied = named(tensors, "roberta.embeddings.word_embeddings.weight");
  tied.name = "lm_head.decoder.weight";
  tensors.push_back(tied);
}

}  // namespace

TEST_CASE("Hugging Face port of fairseq: each role gets its tensor's values, and the port's fixed settings are right") {
  std::vector<HandTensor> tensors = tiny_port();
  add_masked_lm(tensors);
  const Converted model = converted(torch_zip(tensors), settings);
  const EncoderDescription& encoder = model.description().encoder;
  const auto check = [&](TensorIndex index, const std::string& name) {
    check_values(model, index, named(tensors, name));
  };
  CHECK(model.description().dialect == "fairseq-hf");
  CHECK(encoder.d_model == 8);
  CHECK(encoder.max_tokens == 6);
  CHECK(encoder.pad_id == 1);
  CHECK(encoder.embedding.position_offset == 2);
  CHECK(encoder.embedding.positions_count_non_pad);
  CHECK(!encoder.embedding.zero_pad_rows);
  check(encoder.embedding.tokens, "roberta.embeddings.word_embeddings.weight");
  check(encoder.embedding.token_types, "roberta.embeddings.token_type_embeddings.weight");
  CHECK(encoder.embedding.norm.epsilon == 1e-5f);
  REQUIRE(encoder.layers.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    const std::string names = "roberta.encoder.layer." + std::to_string(i) + ".";
    const LayerDescription& layer = encoder.layers[i];
    CHECK(layer.attention.heads == 2);
    CHECK(layer.attention.scale == 0.5f);
    CHECK(layer.attention.row_mask == RowMask::none);
    CHECK(layer.activation == Activation::gelu_tanh);
    CHECK(layer.ffn_norm.epsilon == 1e-5f);
    check(layer.attention.query.weight, names + "attention.self.query.weight");
    check(layer.attention.value.bias, names + "attention.self.value.bias");
    check(layer.attention.output.weight, names + "attention.output.dense.weight");
    check(layer.attention_norm.scale, names + "attention.output.LayerNorm.weight");
    check(layer.ffn_in.weight, names + "intermediate.dense.weight");
    check(layer.ffn_out.weight, names + "output.dense.weight");
    check(layer.ffn_norm.bias, names + "output.LayerNorm.bias");
    const Projection& key = encoder.projections[layer.attention.key_projections[0]];
    CHECK(key.order == ProjectionOrder::before_linear);
    check(key.weight, names + "attention.self.compress_k.weight");
    check(encoder.projections[layer.attention.value_projections[0]].weight, names + "attention.self.compress_v.weight");
  }
  CHECK(model.description().mlm.output.weight == encoder.embedding.tokens);
  CHECK(model.description().mlm.activation == Activation::gelu);  // whatever hidden_act is
  CHECK(model.report.mapped.size() == tensors.size());
}

TEST_CASE("Hugging Face port of fairseq: columns that no position reaches are cut, and shared projections are found") {
  std::vector<HandTensor> wide = tiny_port(8);
  const Converted cut = converted(safetensors(wide), settings);
  const EncoderDescription& encoder = cut.description().encoder;
  CHECK(encoder.max_tokens == 6);
  const std::vector<float> values = cut.values(encoder.projections[0].weight);
  const std::vector<double>& stored = named(wide, "roberta.encoder.layer.0.attention.self.compress_k.weight").values;
  REQUIRE(values.size() == 12);
  for (size_t i = 0; i < 12; ++i) CHECK(values[i] == static_cast<float>(stored[i / 6 * 8 + i % 6]));

  std::vector<HandTensor> shared = tiny_port();
  for (const char* layer : {"0", "1"}) {
    remove(shared, std::string("roberta.encoder.layer.") + layer + ".attention.self.compress_v.weight");
  }
  const std::string said = R"({"num_attention_heads": 2, "shared_kv_compressed": )";
  CHECK(converted(safetensors(shared), said + "true}").description().encoder.projections.size() == 2);
  CHECK(contains(conversion_error(safetensors(shared), said + "false}"), "compress_v.weight"));
  // All layers share one projection, under the only name that safetensors kept. Its bias is never used.
  for (const char* layer : {"0", "1"}) {
    remove(shared, std::string("roberta.encoder.layer.") + layer + ".attention.self.compress_k.weight");
  }
  shared.push_back(random_tensor("roberta.encoder.compress_layer.weight", {2, 6}, 1));
  shared.push_back(random_tensor("roberta.encoder.compress_layer.bias", {2}, 1));
  const Converted single = converted(safetensors(shared), said + "false}");
  CHECK(single.description().encoder.projections.size() == 1);
  CHECK(is_left_out(single.report.left_out, "roberta.encoder.compress_layer.bias"));
}

TEST_CASE("Hugging Face port of fairseq: a classifier is converted, and unused tensors are listed or refused") {
  std::vector<HandTensor> tensors = tiny_port();
  for (const auto& [name, rows] : {std::pair<const char*, int64_t>{"dense", 8}, {"out_proj", 3}}) {
    tensors.push_back(random_tensor(std::string("classifier.") + name + ".weight", {rows, 8}, 1));
    tensors.push_back(random_tensor(std::string("classifier.") + name + ".bias", {rows}, 1));
  }
  tensors.push_back({"roberta.embeddings.position_ids", {1, 8}, {0, 1, 2, 3, 4, 5, 6, 7}, DataType::i64});
  tensors.push_back(random_tensor("roberta.pooler.dense.weight", {8, 8}, 1));
  tensors.push_back(random_tensor("roberta.pooler.dense.bias", {8}, 1));
  const Converted model = converted(torch_zip(tensors), settings);
  REQUIRE(model.description().heads.size() == 1);
  CHECK(model.description().heads[0].pooling == Pooling::first_token);
  CHECK(model.description().heads[0].activation == Activation::tanh);
  CHECK(is_left_out(model.report.left_out, "roberta.embeddings.position_ids"));
  CHECK(is_left_out(model.report.left_out, "roberta.pooler.dense.weight"));
  CHECK(model.report.mapped.size() + model.report.left_out.size() == tensors.size());

  CHECK(contains(conversion_error(torch_zip(tensors)), "num_attention_heads"));
  CHECK(contains(conversion_error(torch_zip(tensors), R"({"num_attention_heads": 2, "hidden_act": "silu"})"), "silu"));
  CHECK(contains(conversion_error(torch_zip(tensors), R"({"num_attention_heads": 2, "num_hidden_layers": 3})"),
                 "num_hidden_layers is 3"));
  CHECK(contains(conversion_error(torch_zip(tensors), R"({"num_attention_heads": 2, "shared_kv_compressed": true})"),
                 "differs from compress_k"));
  tensors.push_back(random_tensor("roberta.encoder.layer.0.adapter.weight", {8}, 1));
  CHECK(contains(conversion_error(torch_zip(tensors), settings), "adapter.weight"));
  remove(tensors, "roberta.encoder.layer.0.adapter.weight");
  remove(tensors, "roberta.encoder.layer.1.attention.self.compress_k.weight");
  CHECK(contains(conversion_error(torch_zip(tensors), settings), "layer.1.attention.self.compress_k.weight"));
}

}  // namespace linformer_test::fairseq_hf_test
