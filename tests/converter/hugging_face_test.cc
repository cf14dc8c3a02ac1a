// Tests BERT, RoBERTa and DistilBERT of Hugging Face: what the conversion makes of tensor names and settings.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "base/description.h"
#include "converter/checks.h"
#include "converter/conversion.h"
#include "converter/tiny_fairseq.h"
#include "converter/tiny_hugging_face.h"

namespace linformer_test::hugging_face_test {

using namespace linformer;

namespace {

using Tensors = std::vector<HandTensor>;

constexpr TinyFamily families[] = {TinyFamily::bert, TinyFamily::roberta, TinyFamily::distilbert};

Converted model_of(const Tensors& tensors, const nlohmann::json& config) {
  return converted(safetensors(tensors), config.dump());
}

bool holds(const Converted& made, TensorIndex index, const HandTensor& tensor) {
  const std::vector<float> values = made.values(index);
  return std::equal(values.begin(), values.end(), tensor.values.begin(), tensor.values.end(),
                    [](float value, double wanted) { return value == static_cast<float>(wanted); });
}

struct Part {
  const char *bert, *distilbert;  // the names of both families within a layer
  TensorIndex index;
};

// Checks that every weight of layer `index` has its role.
void check_layer(const Converted& made, const TinyHuggingFace& tiny, size_t index) {
  const LayerDescription& layer = made.description().encoder.layers[index];
  const AttentionDescription& attention = layer.attention;
  const bool distilbert = tiny.family == TinyFamily::distilbert;
  const std::string prefix =
      tiny.prefix() + (distilbert ? "transformer.layer." : "encoder.layer.") + std::to_string(index) + ".";
  Tensors tensors = tiny.tensors();
  const Part parts[] = {{"attention.self.query.weight", "attention.q_lin.weight", attention.query.weight},
                        {"attention.self.query.bias", "attention.q_lin.bias", attention.query.bias},
                        {"attention.self.key.weight", "attention.k_lin.weight", attention.key.weight},
                        {"attention.self.value.weight", "attention.v_lin.weight", attention.value.weight},
                        {"attention.output.dense.weight", "attention.out_lin.weight", attention.output.weight},
                        {"attention.output.LayerNorm.weight", "sa_layer_norm.weight", layer.attention_norm.scale},
                        {"attention.output.LayerNorm.bias", "sa_layer_norm.bias", layer.attention_norm.bias},
                        {"intermediate.dense.weight", "ffn.lin1.weight", layer.ffn_in.weight},
                        {"output.dense.weight", "ffn.lin2.weight", layer.ffn_out.weight},
                        {"output.LayerNorm.weight", "output_layer_norm.weight", layer.ffn_norm.scale}};
  for (const Part& part : parts) {
    const std::string name = prefix + (distilbert ? part.distilbert : part.bert);
    CAPTURE(name);
    CHECK(holds(made, part.index, named(tensors, name)));
  }
  CHECK(attention.heads == 2);
  CHECK(attention.head_dim == 4);
  CHECK(attention.scale == doctest::Approx(0.5));
  CHECK(attention.row_mask == RowMask::excluded);
  CHECK(attention.key_projections == std::vector<uint32_t>{0});
  CHECK(attention.value_projections == std::vector<uint32_t>{0});
}

void add_masked_lm(Tensors& tensors, TinyFamily family, int64_t vocabulary) {
  const char* dense = family == TinyFamily::bert      ? "cls.predictions.transform.dense"
                      : family == TinyFamily::roberta ? "lm_head.dense"
                                                      : "vocab_transform";
  const char* norm = family == TinyFamily::bert      ? "cls.predictions.transform.LayerNorm"
                     : family == TinyFamily::roberta ? "lm_head.layer_norm"
                                                     : "vocab_layer_norm";
  const char* bias = family == TinyFamily::bert      ? "cls.predictions.bias"
                     : family == TinyFamily::roberta ? "lm_head.bias"
                                                     : "vocab_projector.bias";
  add_weight_bias(tensors, dense, 8, 8);
  add_weight_bias(tensors, norm, 8, 0);
  tensors.push_back(random_tensor(bias, {vocabulary}, 5));
}

}  // namespace

TEST_CASE("an encoder is described by its tensors and settings, with and without the prefix of its family") {
  for (const TinyFamily family : families) {
    for (const bool prefixed : {true, false}) {
      CAPTURE(static_cast<int>(family));
      CAPTURE(prefixed);
      TinyHuggingFace tiny{.family = family, .prefixed = prefixed};
      const Converted made = model_of(tiny.tensors(), tiny.config());
      const EncoderDescription& encoder = made.description().encoder;
      const bool roberta = family == TinyFamily::roberta;
      CHECK(made.description().dialect == "hugging-face");
      CHECK(encoder.d_model == 8);
      CHECK(encoder.vocab_size == 11);
      CHECK(encoder.max_tokens == (roberta ? 7 : 9));
      CHECK(encoder.pad_id == (roberta ? 1 : 0));
      CHECK(encoder.norm_placement == NormPlacement::post);
      CHECK_FALSE(encoder.final_norm.present());
      REQUIRE(encoder.projections.size() == 1);
      CHECK(encoder.projections[0].kind == ProjectionKind::none);
      CHECK(encoder.embedding.position_kind == PositionKind::learned);
      CHECK(encoder.embedding.position_offset == (roberta ? 2 : 0));
      CHECK(encoder.embedding.positions_count_non_pad == roberta);
      CHECK(encoder.embedding.pad_position == (roberta ? 1 : 0));
      CHECK_FALSE(encoder.embedding.zero_pad_rows);
      CHECK((encoder.embedding.token_types != absent) == (family != TinyFamily::distilbert));
      CHECK(encoder.embedding.norm.epsilon == (roberta ? 1e-5f : 1e-12f));
      Tensors tensors = tiny.tensors();
      CHECK(holds(made, encoder.embedding.tokens, named(tensors, tiny.prefix() + "embeddings.word_embeddings.weight")));
      CHECK(holds(made, encoder.embedding.positions,
                  named(tensors, tiny.prefix() + "embeddings.position_embeddings.weight")));
      REQUIRE(encoder.layers.size() == 2);
      for (size_t i = 0; i < 2; ++i) check_layer(made, tiny, i);
      CHECK(encoder.layers[1].ffn_norm.epsilon == encoder.embedding.norm.epsilon);
      CHECK_FALSE(made.description().embedding.present);
      CHECK(made.description().heads.empty());
      CHECK_FALSE(made.description().mlm.present());
    }
  }
}

TEST_CASE("settings that the conversion used are enough to convert the tensors alone") {
  for (const TinyFamily family : families) {
    TinyHuggingFace tiny{.family = family};
    const Converted made = model_of(tiny.tensors(), tiny.config());
    const Converted again = converted(safetensors(tiny.tensors()), made.settings);
    CHECK(std::equal(made.file.data(), made.file.data() + made.file.size(), again.file.data(),
                     again.file.data() + again.file.size()));
  }
}

TEST_CASE("a pickled state dict gives the same model as safetensors") {
  TinyHuggingFace tiny;
  Tensors tensors = tiny.tensors();
  tensors.push_back({"bert.embeddings.position_ids", {1, 9}, {0, 1, 2, 3, 4, 5, 6, 7, 8}, DataType::i64});
  const Converted one = model_of(tensors, tiny.config());
  CHECK(is_left_out(one.report.left_out, "bert.embeddings.position_ids"));
  for (const std::string& file : {torch_zip(tensors), torch_legacy(tensors)}) {
    const Converted other = converted(file, tiny.config().dump());
    CHECK(std::equal(one.file.data(), one.file.data() + one.file.size(), other.file.data(),
                     other.file.data() + other.file.size()));
  }
}

TEST_CASE("gamma and beta are weight and bias of a norm in files of 2018") {
  TinyHuggingFace tiny;
  Tensors old =
      renamed(renamed(tiny.tensors(), "LayerNorm.weight", "LayerNorm.gamma"), "LayerNorm.bias", "LayerNorm.beta");
  const Converted made = model_of(old, tiny.config());
  CHECK(holds(made, made.description().encoder.embedding.norm.scale, named(old, "bert.embeddings.LayerNorm.gamma")));
  CHECK(holds(made, made.description().encoder.embedding.norm.bias, named(old, "bert.embeddings.LayerNorm.beta")));
}

TEST_CASE("activations are found by transformers' names") {
  const std::pair<const char*, Activation> names[] = {{"gelu", Activation::gelu},
                                                      {"gelu_new", Activation::gelu_tanh},
                                                      {"gelu_pytorch_tanh", Activation::gelu_tanh},
                                                      {"relu", Activation::relu}};
  for (const TinyFamily family : families) {
    for (const auto& [name, activation] : names) {
      TinyHuggingFace tiny{.family = family};
      Tensors tensors = tiny.tensors();
      add_masked_lm(tensors, family, tiny.vocabulary);
      nlohmann::json config = tiny.config();
      config[family == TinyFamily::distilbert ? "activation" : "hidden_act"] = name;
      const Converted made = model_of(tensors, config);
      CHECK(made.description().encoder.layers[0].activation == activation);
      // RoBERTa's masked-LM head always uses GELU.
      CHECK(made.description().mlm.activation == (family == TinyFamily::roberta ? Activation::gelu : activation));
    }
  }
}

TEST_CASE("masked-LM heads are tied to the embedding, by absence or by value, or have weights of their own") {
  for (const TinyFamily family : families) {
    CAPTURE(static_cast<int>(family));
    TinyHuggingFace tiny{.family = family};
    Tensors tensors = tiny.tensors();
    add_masked_lm(tensors, family, tiny.vocabulary);
    const char* output = family == TinyFamily::bert      ? "cls.predictions.decoder.weight"
                         : family == TinyFamily::roberta ? "lm_head.decoder.weight"
                                                         : "vocab_projector.weight";
    const Converted absent_output = model_of(tensors, tiny.config());
    const MaskedLmHead& mlm = absent_output.description().mlm;
    REQUIRE(mlm.present());
    CHECK(mlm.output.weight == absent_output.description().encoder.embedding.tokens);
    CHECK(mlm.output.bias != absent);
    CHECK(mlm.norm.epsilon == (family == TinyFamily::roberta ? 1e-5f : 1e-12f));

    HandTensor same = tensors[0];
    same.name = output;
    tensors.push_back(same);
    CHECK(model_of(tensors, tiny.config()).description().mlm.output.weight == mlm.output.weight);

    tensors.back().values[3] += 1;
    CHECK(contains(conversion_error(safetensors(tensors), tiny.config().dump()), "tie_word_embeddings"));
    nlohmann::json config = tiny.config();
    config["tie_word_embeddings"] = false;
    const Converted own = model_of(tensors, config);
    CHECK(own.description().mlm.output.weight != own.description().encoder.embedding.tokens);
    CHECK(holds(own, own.description().mlm.output.weight, tensors.back()));
  }
}

TEST_CASE("the output's bias under two names is one tensor, and two different biases are refused") {
  TinyHuggingFace tiny;
  Tensors tensors = tiny.tensors();
  add_masked_lm(tensors, tiny.family, tiny.vocabulary);
  HandTensor bias = named(tensors, "cls.predictions.bias");
  bias.name = "cls.predictions.decoder.bias";
  tensors.push_back(bias);
  CHECK(holds(model_of(tensors, tiny.config()), model_of(tensors, tiny.config()).description().mlm.output.bias, bias));
  tensors.back().values[0] += 1;
  CHECK(contains(conversion_error(safetensors(tensors), tiny.config().dump()), "one bias by two names"));
  remove(tensors, "cls.predictions.bias");
  CHECK(model_of(tensors, tiny.config()).description().mlm.output.bias != absent);
}

TEST_CASE("sequence classification has each family's own layer before the classes") {
  struct Case {
    TinyFamily family;
    const char *dense, *output, *architecture;
    Activation activation;
  };
  const Case cases[] = {
      {TinyFamily::bert, "bert.pooler.dense", "classifier", "BertForSequenceClassification", Activation::tanh},
      {TinyFamily::roberta, "classifier.dense", "classifier.out_proj", "RobertaForSequenceClassification",
       Activation::tanh},
      {TinyFamily::distilbert, "pre_classifier", "classifier", "DistilBertForSequenceClassification",
       Activation::relu}};
  for (const Case& c : cases) {
    CAPTURE(std::string(c.architecture));
    TinyHuggingFace tiny{.family = c.family};
    Tensors tensors = tiny.tensors();
    add_weight_bias(tensors, c.dense, 8, 8);
    add_weight_bias(tensors, c.output, 3, 8);
    nlohmann::json config = tiny.config();
    config["architectures"] = {c.architecture};
    config["id2label"] = {{"0", "bad"}, {"1", "so-so"}, {"2", "good"}};
    const Converted made = model_of(tensors, config);
    REQUIRE(made.description().heads.size() == 1);
    const ClassificationHead& head = made.description().heads[0];
    CHECK(head.name == "classifier");
    CHECK(head.pooling == Pooling::first_token);
    CHECK(head.activation == c.activation);
    CHECK(holds(made, head.dense.weight, named(tensors, c.dense + std::string(".weight"))));
    CHECK(holds(made, head.output.weight, named(tensors, c.output + std::string(".weight"))));
    CHECK(head.labels == std::vector<std::string>{"bad", "so-so", "good"});
    CHECK(head.kind == HeadKind::single_label);
    CHECK_FALSE(made.description().embedding.present);

    config["id2label"] = {{"0", "LABEL_0"}, {"1", "LABEL_1"}, {"2", "LABEL_2"}};
    config["problem_type"] = "multi_label_classification";
    const Converted plain = model_of(tensors, config);
    CHECK(plain.description().heads[0].labels.empty());
    CHECK(plain.description().heads[0].kind == HeadKind::multi_label);
  }
}

TEST_CASE("token classification and question answering read every row") {
  for (const TinyFamily family : families) {
    TinyHuggingFace tiny{.family = family};
    Tensors tensors = tiny.tensors();
    add_weight_bias(tensors, "classifier", 3, 8);
    nlohmann::json config = tiny.config();
    config.erase("architectures");  // without a pooler nothing else is possible
    const Converted tokens = model_of(tensors, config);
    REQUIRE(tokens.description().heads.size() == 1);
    CHECK(tokens.description().heads[0].pooling == Pooling::none);
    CHECK_FALSE(tokens.description().heads[0].dense.present());

    tensors = tiny.tensors();
    add_weight_bias(tensors, "qa_outputs", 2, 8);
    const Converted answers = model_of(tensors, tiny.config());
    REQUIRE(answers.description().heads.size() == 1);
    CHECK(answers.description().heads[0].pooling == Pooling::none);
    CHECK(answers.description().heads[0].labels == std::vector<std::string>{"start", "end"});
    CHECK(answers.description().heads[0].kind == HeadKind::regression);
  }
}

TEST_CASE("a classifier beside a pooler is read as the architecture says, and never guessed") {
  TinyHuggingFace tiny;
  Tensors tensors = tiny.tensors();
  add_weight_bias(tensors, "bert.pooler.dense", 8, 8);
  add_weight_bias(tensors, "classifier", 3, 8);
  nlohmann::json config = tiny.config();
  config["architectures"] = {"BertForTokenClassification"};
  const Converted tokens = model_of(tensors, config);
  CHECK(tokens.description().heads[0].pooling == Pooling::none);
  CHECK(is_left_out(tokens.report.left_out, "bert.pooler.dense.weight"));
  config["architectures"] = {"BertForSequenceClassification"};
  CHECK(model_of(tensors, config).description().heads[0].dense.present());
  config["architectures"] = {"BertForSomethingElse"};
  CHECK(contains(conversion_error(safetensors(tensors), config.dump()), "ForSomethingElse"));
  config.erase("architectures");
  CHECK(contains(conversion_error(safetensors(tensors), config.dump()),
                 "{\"architectures\": [\"BertForTokenClassification\"]}"));
}

TEST_CASE("the pooler of a plain model is its sentence embedding, and the next-sentence head reads it too") {
  TinyHuggingFace tiny;
  Tensors tensors = tiny.tensors();
  add_weight_bias(tensors, "bert.pooler.dense", 8, 8);
  add_weight_bias(tensors, "cls.seq_relationship", 2, 8);
  add_masked_lm(tensors, tiny.family, tiny.vocabulary);
  const Converted made = model_of(tensors, tiny.config());
  const SentenceEmbedding& embedding = made.description().embedding;
  CHECK(embedding.present);
  // sentence-transformers takes the mean of such a model, so the report warns.
  REQUIRE(made.report.cautions.size() == 1);
  check_sentence(made.report.cautions[0],
                 {"the pooler's output", "sentence-transformers", "config '{\"sentence_pooling\": \"mean\"}'",
                  "choose the pooling where texts are embedded"});
  nlohmann::json said = tiny.config();
  said["sentence_pooling"] = "mean";
  const Converted mean = model_of(tensors, said);
  CHECK(mean.report.cautions.empty());
  CHECK(mean.description().embedding.pooling == Pooling::mean);
  CHECK(embedding.pooling == Pooling::first_token);
  CHECK(embedding.activation == Activation::tanh);
  CHECK_FALSE(embedding.normalize);
  CHECK(holds(made, embedding.dense.weight, named(tensors, "bert.pooler.dense.weight")));
  REQUIRE(made.description().heads.size() == 1);
  CHECK(made.description().heads[0].name == "next_sentence");
  CHECK(made.description().heads[0].dense.weight == embedding.dense.weight);
  CHECK(made.description().mlm.present());
}

}  // namespace linformer_test::hugging_face_test
