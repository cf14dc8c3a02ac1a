// Tests what the Hugging Face dialect refuses, and that its errors name the setting or the tensor.
#include <doctest/doctest.h>

#include <functional>

#include "base/description.h"
#include "converter/checks.h"
#include "converter/dialects/hugging_face/hugging_face.h"
#include "converter/tiny_fairseq.h"
#include "converter/tiny_hugging_face.h"

namespace linformer_test::hugging_face_refusals_test {
namespace {

using Tensors = std::vector<HandTensor>;
using Json = nlohmann::json;

struct Case {
  const char* what;
  std::function<void(Tensors&, Json&)> change;
  std::vector<std::string> parts;  // texts that the error must contain
};

void check_refusals(const TinyHuggingFace& tiny, const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    CAPTURE(std::string(c.what));
    Tensors tensors = tiny.tensors();
    Json config = tiny.config();
    c.change(tensors, config);
    const std::string error = conversion_error(safetensors(tensors), config.dump());
    check_sentence(error, c.parts);
  }
}

std::function<void(Tensors&, Json&)> setting(const char* name, const Json& value) {
  return [name, value](Tensors&, Json& config) { config[name] = value; };
}

std::function<void(Tensors&, Json&)> without(const char* name) {
  return [name](Tensors&, Json& config) { config.erase(name); };
}

std::function<void(Tensors&, Json&)> added(const std::string& name, std::vector<int64_t> shape) {
  return [name, shape](Tensors& tensors, Json&) { tensors.push_back(random_tensor(name, shape, 1)); };
}

const std::string layer1 = "bert.encoder.layer.1.";

}  // namespace

TEST_CASE("settings that ask for something that isn't computed, or that the tensors contradict, are refused") {
  check_refusals(TinyHuggingFace{},
                 {{"no heads", without("num_attention_heads"), {"config '{\"num_attention_heads\": NUMBER}'"}},
                  {"three heads", setting("num_attention_heads", 3), {"num_attention_heads is 3", "does not divide"}},
                  {"heads as text", setting("num_attention_heads", "2"), {"num_attention_heads", "whole number"}},
                  {"other model", setting("model_type", "xlnet"), {"model_type", "xlnet", "distilbert"}},
                  {"decoder", setting("is_decoder", true), {"is_decoder is true"}},
                  {"cross attention", setting("add_cross_attention", true), {"add_cross_attention is true"}},
                  {"relative positions",
                   setting("position_embedding_type", "relative_key"),
                   {"position_embedding_type", "relative_key", "absolute"}},
                  {"quantised", setting("quantization_config", {{"bits", 8}}), {"quantization_config"}},
                  {"activation", setting("hidden_act", "silu"), {"hidden_act", "silu", "gelu_new"}},
                  {"eps as text", setting("layer_norm_eps", "small"), {"layer_norm_eps"}},
                  {"eps 0", setting("layer_norm_eps", 0), {"layer_norm_eps"}},
                  {"pad", setting("pad_token_id", 11), {"pad token 11", "11 tokens"}},
                  {"negative pad", setting("pad_token_id", -1), {"pad token -1"}},
                  {"width", setting("hidden_size", 16), {"hidden_size is 16"}},
                  {"layers", setting("num_hidden_layers", 3), {"num_hidden_layers is 3", "2 layers"}},
                  {"ffn", setting("intermediate_size", 16), {"intermediate_size is 16"}},
                  {"vocabulary", setting("vocab_size", 12), {"vocab_size is 12"}},
                  {"positions", setting("max_position_embeddings", 512), {"max_position_embeddings is 512"}},
                  {"types", setting("type_vocab_size", 1), {"type_vocab_size is 1"}}});
}

TEST_CASE("tensors that are missing, of another shape or unknown are refused by name") {
  check_refusals(TinyHuggingFace{},
                 {{"missing weight",
                   [](Tensors& t, Json&) { remove(t, layer1 + "output.dense.weight"); },
                   {"layer.1.output.dense.weight", "missing"}},
                  {"missing bias",
                   [](Tensors& t, Json&) { remove(t, layer1 + "attention.self.key.bias"); },
                   {"self.key.bias", "missing"}},
                  {"missing layer",
                   [](Tensors& t, Json&) {
                     std::erase_if(t, [](const HandTensor& tensor) { return contains(tensor.name, "layer.1."); });
                     t.push_back(random_tensor("bert.encoder.layer.2.output.dense.bias", {8}, 1));
                   },
                   {"layer"}},
                  {"missing types",
                   [](Tensors& t, Json&) { remove(t, "bert.embeddings.token_type_embeddings.weight"); },
                   {"token_type_embeddings", "missing"}},
                  {"missing tokens",
                   [](Tensors& t, Json&) { remove(t, "bert.embeddings.word_embeddings.weight"); },
                   {"word_embeddings", "missing"}},
                  {"shape",
                   [](Tensors& t, Json&) {
                     named(t, layer1 + "attention.self.query.weight") =
                         random_tensor(layer1 + "attention.self.query.weight", {6, 8}, 1);
                   },
                   {"self.query.weight", "[6, 8]", "d_model"}},
                  {"unknown", added("bert.encoder.layer.0.adapter.weight", {2}), {"adapter.weight", "not part of"}},
                  {"cross attention tensors",
                   added("bert.encoder.layer.0.crossattention.self.query.weight", {8, 8}),
                   {"crossattention", "decoder"}},
                  {"bytes as weights",
                   [](Tensors& t, Json&) { named(t, layer1 + "output.dense.weight").type = DataType::i32; },
                   {"output.dense.weight", "floating point"}},
                  {"both names of a norm", added("bert.embeddings.LayerNorm.gamma", {8}), {"LayerNorm", "both"}}});
}

TEST_CASE("labels must fit the head") {
  const auto with_head = [](const Json& labels) {
    return [labels](Tensors& tensors, Json& config) {
      add_weight_bias(tensors, "classifier", 2, 8);
      config["architectures"] = {"BertForTokenClassification"};
      config["id2label"] = labels;
    };
  };
  check_refusals(TinyHuggingFace{},
                 {{"too many", with_head({{"0", "a"}, {"1", "b"}, {"2", "c"}}), {"id2label has 3", "2 classes"}},
                  {"a gap", with_head({{"0", "a"}, {"2", "b"}}), {"id2label", "no label 1"}},
                  {"numbers", with_head({{"0", 1}, {"1", 2}}), {"id2label", "no label 0"}},
                  {"a list", with_head({"a", "b"}), {"id2label", "object"}}});
  TinyHuggingFace tiny;
  Tensors tensors = tiny.tensors();
  Json config = tiny.config();
  with_head({{"0", "same"}, {"1", "same"}})(tensors, config);
  const Converted made = converted(safetensors(tensors), config.dump());
  CHECK(made.description().heads[0].labels.empty());
}

TEST_CASE("without a model type, only tensor names that tell the family are accepted") {
  TinyHuggingFace plain{.prefixed = false};
  check_refusals(plain, {{"BERT or RoBERTa", without("model_type"), {"{\"model_type\": \"bert\"}"}}});
  for (const TinyFamily family : {TinyFamily::bert, TinyFamily::roberta, TinyFamily::distilbert}) {
    for (const bool prefixed : {true, false}) {
      TinyHuggingFace tiny{.family = family, .prefixed = prefixed};
      Json config = tiny.config();
      config.erase("model_type");
      const std::string error = conversion_error(safetensors(tiny.tensors()), config.dump());
      CHECK(error.empty() == (prefixed || family == TinyFamily::distilbert));
    }
  }
}

TEST_CASE("RoBERTa's positions begin after its pad token") {
  TinyHuggingFace roberta{.family = TinyFamily::roberta};
  check_refusals(roberta, {{"no row left", setting("pad_token_id", 8), {"position_embeddings", "row 9"}}});
}

TEST_CASE("encoders of this layout that compress their keys are not taken for full attention") {
  TinyHuggingFace tiny{.family = TinyFamily::roberta};
  const linformer::convert::HuggingFace dialect;
  const auto recognised = [&](const std::vector<HandTensor>& tensors) {
    const std::string file = safetensors(tensors);
    return dialect.recognise(linformer::convert::Checkpoint::open(as_bytes(file), "memory"));
  };
  CHECK(recognised(tiny.tensors()).score == 100);
  for (const char* name : {"attention.self.compress_k.weight", "attention.self.key_projection"}) {
    Tensors tensors = tiny.tensors();
    tensors.push_back(random_tensor(std::string("roberta.encoder.layer.0.") + name, {2, 7}, 1));
    CHECK(recognised(tensors).score == 0);
    CHECK(contains(recognised(tensors).reason, name));
  }
}

}  // namespace linformer_test::hugging_face_refusals_test
