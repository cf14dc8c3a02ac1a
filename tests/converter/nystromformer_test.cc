// Tests the nystromformer dialect on small checkpoints: its layouts, heads and refusals.
#include <doctest/doctest.h>

#include <fstream>
#include <functional>

#include "base/description.h"
#include "converter/checks.h"
#include "converter/tiny_fairseq.h"
#include "support/temporary_folder.h"

namespace linformer_test::nystromformer_test {

using namespace linformer;

namespace {

using Tensors = std::vector<HandTensor>;

// A small model of the Long Range Arena. `bert` and `reorganized` choose other layouts of the code.
struct TinyNystromformer {
  int64_t d = 6, vocabulary = 9, n = 5, k = 2, inner = 7, layers = 2, heads = 2, head_dim = 2, classes = 3;
  int64_t embedding_dim = 6;
  bool bert = false, reorganized = false, shared = false, dual = false, own_projections = false;
  std::string layer_name(int64_t layer) const {
    const std::string prefix = std::string("model.") + (bert && reorganized ? "backbone.backbone." : "");
    if (shared) return prefix + (reorganized ? "encoder." : "transformer.");
    return prefix + (reorganized ? "encoders." : "transformer_") + std::to_string(layer) + ".";
  }
  // Returns the tensors of the model with the head `head`: "" (no head), "seq_classifer", "sen_classifer" or "qahead".
  Tensors tensors(const std::string& head = "seq_classifer") const;
};

Tensors TinyNystromformer::tensors(const std::string& head) const {
  Tensors made;
  const auto add = [&](const std::string& name, const std::vector<int64_t>& shape) {
    made.push_back(random_tensor(name, shape, 3));
  };
  const auto add_weight_bias = [&](const std::string& name, const std::vector<int64_t>& shape) {
    add(name + ".weight", shape);
    add(name + ".bias", {shape[0]});
  };
  add("model.embeddings.word_embeddings.weight", {vocabulary, embedding_dim});
  add("model.embeddings.position_embeddings.weight", {n + (bert ? 2 : 0), embedding_dim});
  if (bert) {
    add("model.embeddings.token_type_embeddings.weight", {2, embedding_dim});
    if (embedding_dim != d) add_weight_bias("model.embeddings.dense", {d, embedding_dim});
    add_weight_bias("model.embeddings.norm", {d});
  }
  const std::string in = !bert ? "mlpblock.0" : reorganized ? "ff.0" : "ff1";
  const std::string out = !bert ? "mlpblock.3" : reorganized ? "ff.2" : "ff2";
  for (int64_t i = 0; i < (shared ? 1 : layers); ++i) {
    const std::string layer = layer_name(i);
    for (const char* part : {"mha.W_q", "mha.W_k", "mha.W_v"}) add_weight_bias(layer + part, {heads * head_dim, d});
    add_weight_bias(layer + "mha.ff", {d, heads * head_dim});
    add(layer + "mha.attn.E", {heads, k, n});
    // All layers share one projection, except in some copies of the code.
    if (!own_projections) made.back().values = named(made, layer_name(0) + "mha.attn.E").values;
    add_weight_bias(layer + "norm1", {d});
    add_weight_bias(layer + "norm2", {d});
    add_weight_bias(layer + in, {inner, d});
    add_weight_bias(layer + out, {d, inner});
  }
  if (!bert) add_weight_bias("model.norm", {d});
  if (bert) {
    add_weight_bias("mlm.dense", {embedding_dim, d});
    add_weight_bias("mlm.norm", {embedding_dim});
    add("mlm.mlm_class.bias", {vocabulary});
    HandTensor tied = named(made, "model.embeddings.word_embeddings.weight");
    tied.name = "mlm.mlm_class.weight";
    made.push_back(tied);
  }
  if (head == "seq_classifer") {
    add_weight_bias("seq_classifer.mlpblock.0", {inner, dual ? 4 * d : d});
    add_weight_bias("seq_classifer.mlpblock.2", {classes, inner});
  } else if (head == "sen_classifer") {
    add_weight_bias("sen_classifer.dense", {d, d});
    add_weight_bias("sen_classifer.classifer", {classes, d});
  } else if (head == "qahead") {
    add_weight_bias("qahead", {2, d});
  }
  return made;
}

const std::string mean = R"({"pooling_mode": "MEAN"})";

bool same_values(const Converted& model, TensorIndex index, const HandTensor& tensor) {
  return model.values(index) == std::vector<float>(tensor.values.begin(), tensor.values.end());
}

}  // namespace

TEST_CASE("nystromformer: models of the Long Range Arena are converted") {
  TinyNystromformer tiny;
  for (const bool reorganized : {false, true}) {
    CAPTURE(reorganized);
    tiny.reorganized = reorganized;
    Tensors tensors = tiny.tensors();
    const Converted model = converted(torch_zip(tensors), mean);
    const EncoderDescription& encoder = model.description().encoder;
    CHECK(model.description().dialect == "nystromformer");
    CHECK(encoder.d_model == 6);
    CHECK(encoder.max_tokens == 5);
    CHECK(encoder.vocab_size == 9);
    CHECK(encoder.pad_id == 0);
    CHECK(encoder.norm_placement == NormPlacement::pre);
    CHECK(encoder.zero_masked_rows);
    CHECK(encoder.embedding.position_kind == PositionKind::learned);
    CHECK(encoder.embedding.position_offset == 0);
    CHECK(encoder.embedding.prefix_token == -1);
    CHECK(!encoder.embedding.norm.present());
    CHECK(!encoder.embedding.zero_pad_rows);
    CHECK(!encoder.embedding.positions_count_non_pad);
    CHECK(same_values(model, encoder.final_norm.scale, named(tensors, "model.norm.weight")));
    REQUIRE(encoder.projections.size() == 2);
    REQUIRE(encoder.layers.size() == 2);
    for (int64_t i = 0; i < 2; ++i) {
      const LayerDescription& layer = encoder.layers[static_cast<size_t>(i)];
      const std::string name = tiny.layer_name(i);
      CHECK(layer.attention.heads == 2);
      CHECK(layer.attention.head_dim == 2);
      CHECK(layer.attention.scale == doctest::Approx(0.70710678));
      CHECK(layer.attention.row_mask == RowMask::zeroed);
      CHECK(layer.attention.key_projections == std::vector<uint32_t>{0, 1});
      CHECK(layer.attention.value_projections == layer.attention.key_projections);
      CHECK(layer.activation == Activation::gelu);
      CHECK(same_values(model, layer.attention.query.bias, named(tensors, name + "mha.W_q.bias")));
      CHECK(same_values(model, layer.attention.key.weight, named(tensors, name + "mha.W_k.weight")));
      CHECK(same_values(model, layer.attention.value.weight, named(tensors, name + "mha.W_v.weight")));
      CHECK(same_values(model, layer.attention.output.weight, named(tensors, name + "mha.ff.weight")));
      CHECK(same_values(model, layer.attention_norm.scale, named(tensors, name + "norm1.weight")));
      CHECK(same_values(model, layer.ffn_norm.bias, named(tensors, name + "norm2.bias")));
      CHECK(same_values(model, layer.ffn_in.weight, named(tensors, name + "mlpblock.0.weight")));
      CHECK(same_values(model, layer.ffn_out.bias, named(tensors, name + "mlpblock.3.bias")));
    }
    const std::vector<double>& whole = named(tensors, tiny.layer_name(0) + "mha.attn.E").values;  // [2, 2, 5]
    for (size_t head = 0; head < 2; ++head) {
      CHECK(encoder.projections[head].order == ProjectionOrder::after_linear);
      CHECK(encoder.projections[head].k == 2);
      CHECK(encoder.projections[head].bias == absent);
      CHECK(model.values(encoder.projections[head].weight) ==
            std::vector<float>(whole.begin() + static_cast<long>(10 * head),
                               whole.begin() + static_cast<long>(10 * head + 10)));
    }
    REQUIRE(model.description().heads.size() == 1);
    const ClassificationHead& head = model.description().heads[0];
    CHECK(head.name == "classification");
    CHECK(head.pooling == Pooling::mean_over_max_tokens);
    CHECK(head.pairing == Pairing::none);
    CHECK(head.activation == Activation::relu);
    CHECK(same_values(model, head.dense.weight, named(tensors, "seq_classifer.mlpblock.0.weight")));
    CHECK(same_values(model, head.output.bias, named(tensors, "seq_classifer.mlpblock.2.bias")));
    CHECK(model.report.left_out.empty());
  }
}

TEST_CASE("nystromformer: class tokens, pairs, shared layers, own projections and models without head are converted") {
  TinyNystromformer tiny;
  tiny.dual = true;
  const Converted pairs = converted(torch_zip(tiny.tensors()), R"({"pooling_mode": "cls", "vocab_size": 9})");
  CHECK(pairs.description().encoder.embedding.prefix_token == 8);
  REQUIRE(pairs.description().heads.size() == 1);
  CHECK(pairs.description().heads[0].name == "pair_classification");
  CHECK(pairs.description().heads[0].pooling == Pooling::first_token);
  CHECK(pairs.description().heads[0].pairing == Pairing::product_difference);

  for (const bool reorganized : {false, true}) {
    TinyNystromformer shared;
    shared.shared = true;
    shared.reorganized = reorganized;
    const std::string file = torch_zip(shared.tensors());
    CHECK(contains(conversion_error(file, mean), "config '{\"num_layers\": NUMBER}'"));
    CHECK(contains(conversion_error(file, R"({"pooling_mode": "MEAN", "num_layers": 0})"), "num_layers is 0"));
    const Converted model = converted(file, R"({"pooling_mode": "MEAN", "num_layers": 3})");
    REQUIRE(model.description().encoder.layers.size() == 3);
    CHECK(model.description().encoder.layers[2].ffn_in.weight == model.description().encoder.layers[0].ffn_in.weight);
  }

  TinyNystromformer own;
  own.own_projections = true;  // as in Skyformer on a CPU
  const Converted layers = converted(torch_zip(own.tensors("")));
  CHECK(layers.description().encoder.projections.size() == 4);
  CHECK(layers.description().encoder.layers[1].attention.key_projections == std::vector<uint32_t>{2, 3});
  CHECK(layers.description().heads.empty());

  own.heads = 1;
  own.head_dim = 4;
  CHECK(converted(torch_zip(own.tensors(""))).description().encoder.layers[0].attention.key_projections.size() == 1);
}

TEST_CASE("nystromformer: its BERT and the BERT of the reorganized code are converted") {
  TinyNystromformer tiny;
  tiny.bert = true;
  tiny.embedding_dim = 4;
  for (const bool reorganized : {false, true}) {
    CAPTURE(reorganized);
    tiny.reorganized = reorganized;
    Tensors tensors = tiny.tensors("sen_classifer");
    const Converted model = converted(torch_zip(tensors));
    const ModelDescription& description = model.description();
    const EncoderDescription& encoder = description.encoder;
    const Activation gelu = reorganized ? Activation::gelu : Activation::gelu_tanh;
    CHECK(encoder.pad_id == -1);
    CHECK(encoder.norm_placement == NormPlacement::post);
    CHECK(!encoder.final_norm.present());
    CHECK(!encoder.zero_masked_rows);
    CHECK(encoder.embedding.position_offset == 2);
    CHECK(same_values(model, encoder.embedding.token_types,
                      named(tensors, "model.embeddings.token_type_embeddings.weight")));
    CHECK(same_values(model, encoder.embedding.factor.weight, named(tensors, "model.embeddings.dense.weight")));
    CHECK(encoder.embedding.norm.present());
    for (const LayerDescription& layer : encoder.layers) {
      CHECK(layer.activation == gelu);
      CHECK(layer.attention.row_mask == RowMask::none);
    }
    CHECK(description.mlm.output.weight == encoder.embedding.tokens);
    CHECK(description.mlm.activation == gelu);
    CHECK(same_values(model, description.mlm.dense.weight, named(tensors, "mlm.dense.weight")));
    CHECK(same_values(model, description.mlm.norm.bias, named(tensors, "mlm.norm.bias")));
    REQUIRE(description.heads.size() == 1);
    CHECK(description.heads[0].pooling == Pooling::first_token);
    CHECK(description.heads[0].activation == Activation::tanh);
    CHECK(same_values(model, description.heads[0].output.weight, named(tensors, "sen_classifer.classifer.weight")));
    CHECK(model.report.left_out.empty());

    Tensors answers = tiny.tensors("qahead");
    named(answers, "mlm.mlm_class.weight").values[0] += 1;
    const Converted question = converted(torch_zip(answers));
    REQUIRE(question.description().heads.size() == 1);
    const ClassificationHead& head = question.description().heads[0];
    CHECK(head.name == "question_answering");
    CHECK(head.pooling == Pooling::none);
    CHECK(!head.dense.present());
    CHECK(head.labels == std::vector<std::string>{"start", "end"});
    CHECK(question.description().encoder.layers[1].attention.row_mask == RowMask::zeroed);
    CHECK(question.description().mlm.output.weight != question.description().encoder.embedding.tokens);
  }
}

TEST_CASE("nystromformer: safetensors files may keep only one name of a shared tensor") {
  TinyNystromformer tiny;
  tiny.bert = true;
  Tensors tensors = tiny.tensors("");
  const Converted whole = converted(safetensors(tensors));
  remove(tensors, "model.transformer_1.mha.attn.E");
  remove(tensors, "model.embeddings.word_embeddings.weight");
  const Converted less = converted(safetensors(tensors));
  CHECK(less.description().encoder.layers[1].attention.key_projections ==
        whole.description().encoder.layers[1].attention.key_projections);
  CHECK(less.values(less.description().encoder.embedding.tokens) ==
        whole.values(whole.description().encoder.embedding.tokens));
  CHECK(less.description().mlm.output.weight == less.description().encoder.embedding.tokens);
  CHECK(less.report.notes.size() > whole.report.notes.size());
  CHECK(contains(conversion_error(torch_zip(tensors)), "missing"));
}

TEST_CASE("nystromformer: settings in the object \"model\" of config.json are read") {
  const linformer_test::TemporaryFolder folder;
  std::ofstream(folder.path("model.pt"), std::ios::binary) << torch_zip(TinyNystromformer().tensors());
  std::ofstream(folder.path("config.json")) << R"({"model": {"pooling_mode": "CLS", "num_head": 2, "head_dim": 2}})";
  linformer::convert::ConvertOptions options;
  options.checkpoint = folder.path();
  options.output = folder.path("model.lnfr");
  const linformer::convert::Report report = linformer::convert::convert_checkpoint(options);
  CHECK(contains(fact(report, "pooling"), "a token put before the text"));
}

TEST_CASE("nystromformer: models that can't be reproduced are refused with the reason") {
  struct Case {
    const char* what;
    std::string settings;
    std::function<void(Tensors&)> change;
    std::vector<std::string> parts;
  };
  const auto as_it_is = [](Tensors&) {};
  const std::string layer = "model.transformer_0.", layer1 = "model.transformer_1.";
  const Case cases[] = {
      {"no pooling", "", as_it_is, {"config '", "{\"pooling_mode\": \"MEAN\"}"}},
      {"pooling", R"({"pooling_mode": "MAX"})", as_it_is, {"pooling_mode", "MAX", "MEAN and CLS"}},
      {"sparse", R"({"pooling_mode": "MEAN", "n_sparse": 4})", as_it_is, {"n_sparse is 4", "random"}},
      {"another attention", R"({"attn_type": "nystrom-64"})", as_it_is, {"attn_type", "nystrom-64"}},
      {"heads", R"({"num_head": 4})", as_it_is, {"num_head is 4", "2 heads"}},
      {"head width", R"({"head_dim": 4})", as_it_is, {"head_dim is 4"}},
      {"k", R"({"linformer_k": 256})", as_it_is, {"linformer_k is 256"}},
      {"length", R"({"max_seq_len": 4000})", as_it_is, {"max_seq_len is 4000", "5 positions"}},
      {"width", R"({"transformer_dim": 64})", as_it_is, {"transformer_dim is 64"}},
      {"width of the reorganized", R"({"dim": 64})", as_it_is, {"dim is 64"}},
      {"vocabulary", R"({"vocab_size": 512})", as_it_is, {"vocab_size is 512"}},
      {"layers", R"({"num_layers": 4})", as_it_is, {"num_layers is 4", "2 layers"}},
      {"ffn", R"({"transformer_hidden_dim": 64})", as_it_is, {"transformer_hidden_dim is 64"}},
      {"convolution",
       mean,
       [&](Tensors& t) {
         t.push_back(random_tensor(layer + "mha.attn.conv.weight", {2, 1, 3, 1}, 1));
       },
       {"mha.attn.conv.weight", "transformer-ls"}},
      {"dynamic convolution",
       mean,
       [&](Tensors& t) {
         t.push_back(random_tensor(layer + "mha.dconv_fc.weight", {4, 6}, 1));
       },
       {"dconv_fc", "dynamic_conv"}},
      {"projections that were never saved",
       mean,
       [](Tensors& t) { std::erase_if(t, [](const HandTensor& x) { return contains(x.name, "attn.E"); }); },
       {"no supported implementation", "mha.attn.E", "never saved", "Skyformer"}},
      {"one projection missing",
       mean,
       [&](Tensors& t) { remove(t, layer1 + "mha.attn.E"); },
       {"transformer_1.mha.attn.E"}},
      {"projection of another length",
       mean,
       [&](Tensors& t) {
         HandTensor& tensor = named(t, layer1 + "mha.attn.E");
         tensor = random_tensor(tensor.name, {2, 2, 6}, 1);
       },
       {"transformer_1.mha.attn.E", "5 (N)"}},
      {"projection of other heads",
       mean,
       [&](Tensors& t) {
         HandTensor& tensor = named(t, layer1 + "mha.attn.E");
         tensor = random_tensor(tensor.name, {1, 2, 5}, 1);
       },
       {"transformer_1.mha.attn.E", "2 heads"}},
      {"heads that do not divide",
       mean,
       [&](Tensors& t) {
         for (const std::string& name : {layer, layer1}) {
           HandTensor& tensor = named(t, name + "mha.attn.E");
           tensor = random_tensor(tensor.name, {3, 2, 5}, 1);
         }
       },
       {"W_q.weight", "3 heads"}},
      {"no final norm", mean, [](Tensors& t) { remove(t, "model.norm.weight"); }, {"norm.weight", "missing"}},
      {"class token of transformer-ls",
       mean,
       [](Tensors& t) {
         t.push_back(random_tensor("model.cls_embed", {1, 1, 6}, 1));
       },
       {"model.cls_embed", "not part of"}},
      {"positions",
       mean,
       [](Tensors& t) {
         HandTensor& tensor = named(t, "model.embeddings.position_embeddings.weight");
         tensor = random_tensor(tensor.name, {7, 6}, 1);
       },
       {"position_embeddings", "5 (N)"}},
      {"no feed-forward layer",
       mean,
       [](Tensors& t) { t = renamed(renamed(t, "0.mlpblock", "0.mlp"), "1.mlpblock", "1.mlp"); },
       {"transformer_0.", "no feed-forward layer"}},
      {"a layer skipped", mean, [](Tensors& t) { t = renamed(t, "transformer_1.", "transformer_2."); }, {"1 of 3"}},
  };
  int refused = 0;
  for (const Case& c : cases) {
    CAPTURE(c.what);
    Tensors tensors = TinyNystromformer().tensors();
    c.change(tensors);
    const std::string error = conversion_error(torch_zip(tensors), c.settings);
    check_sentence(error, c.parts);
    ++refused;
  }
  std::printf("%d refusals of nystromformer\n", refused);
}

}  // namespace linformer_test::nystromformer_test
