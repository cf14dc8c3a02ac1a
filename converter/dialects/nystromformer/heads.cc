#include "converter/dialects/nystromformer/heads.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>

#include "base/description.h"
#include "converter/dialects/common.h"
#include "converter/dialects/head_kind.h"
#include "converter/readers/error.h"

namespace linformer::convert::nystromformer {

namespace {

Size d_model(const HeadInputs& inputs) { return {inputs.conversion.description.encoder.d_model, "transformer_dim"}; }

Linear linear(const HeadInputs& inputs, const std::string& role, const std::string& name, Size out, Size in) {
  return read_linear(inputs.conversion, inputs.tensors, role, name, out, in);
}

void add_masked_lm(const HeadInputs& inputs) {
  TensorTable& tensors = inputs.tensors;
  if (!tensors.any("mlm.**")) return;
  WeightWriter& weights = inputs.conversion.weights;
  const EncoderDescription& encoder = inputs.conversion.description.encoder;
  MaskedLmHead& mlm = inputs.conversion.description.mlm;
  const Size width{inputs.embedding_dim, "embedding_dim"}, vocabulary{encoder.vocab_size, "vocabulary"};
  mlm.dense = linear(inputs, "mlm.dense", "mlm.dense", width, d_model(inputs));
  mlm.activation = inputs.activation;
  mlm.norm = read_norm(inputs.conversion, tensors, "mlm.norm", "mlm.norm", width);
  const Tensor* own = tensors.use("mlm.mlm_class.weight");
  const Tensor& output = own ? *own : tensors.need("embeddings.word_embeddings.weight");
  const std::optional<TensorIndex> tied = weights.index_if_tied("mlm.output.weight", output, encoder.embedding.tokens);
  if (tied) {
    mlm.output.weight = *tied;
  } else {
    mlm.output = weights.linear("mlm.output", output, nullptr, vocabulary, width);
  }
  mlm.output.bias = weights.floats("mlm.output.bias", tensors.need("mlm.mlm_class.bias"), {vocabulary});
  inputs.conversion.report.add_fact("masked-LM head", tied ? "tied to the token embedding" : "with weights of its own",
                                    "values of " + output.name);
}

ClassificationHead& new_head(const HeadInputs& inputs, const char* name, const Tensor& output) {
  ClassificationHead& head = inputs.conversion.description.heads.emplace_back();
  head.name = name;
  const uint32_t outputs = dimension(output, 0);
  inputs.conversion.report.add_fact(std::string("head ") + name,
                                    std::to_string(outputs) + (outputs == 1 ? " output" : " outputs"),
                                    "shape of " + output.name);
  return head;
}

void set_usual_kind(const HeadInputs& inputs, ClassificationHead* head) {
  set_head_kind(inputs.conversion, inputs.settings, usual_head_kind, head);
}

void add_arena_head(const HeadInputs& inputs) {
  const std::string name = "seq_classifer.mlpblock.";  // The original code spells it in this way.
  TensorTable& tensors = inputs.tensors;
  if (!tensors.any(name + "**")) return;
  const std::optional<Setting<std::string>> said = inputs.settings.text("pooling_mode");
  if (!said) {
    missing_setting(
        "whether the classifier reads the mean of all rows or the row of a class token",
        config_option(R"({"pooling_mode": "MEAN"})") + " or " + config_option(R"({"pooling_mode": "CLS"})"));
  }
  std::string mode = said->value;
  std::transform(mode.begin(), mode.end(), mode.begin(), [](unsigned char c) { return std::toupper(c); });
  if (mode != "MEAN" && mode != "CLS") {
    fail("the setting pooling_mode is ", quote(said->value), " (", said->source, "); the code knows MEAN and CLS");
  }
  inputs.conversion.report.add_fact("pooling",
                                    mode == "CLS" ? "the row of a token put before the text" : "sum of all rows / N",
                                    "pooling_mode, " + said->source);
  EncoderDescription& encoder = inputs.conversion.description.encoder;
  const Tensor& dense = tensors.need(name + "0.weight");
  const bool pairs = dimension(dense, 1) == uint64_t{4} * encoder.d_model;
  ClassificationHead& head =
      new_head(inputs, pairs ? "pair_classification" : "classification", tensors.need(name + "2.weight"));
  if (mode == "CLS") {
    encoder.embedding.prefix_token = static_cast<int32_t>(encoder.vocab_size) - 1;
    head.pooling = Pooling::first_token;
  } else {
    head.pooling = Pooling::mean_over_max_tokens;
  }
  head.pairing = pairs ? Pairing::product_difference : Pairing::none;
  const Size inner{dimension(dense, 0), "transformer_hidden_dim"};
  head.dense = linear(inputs, "heads[" + head.name + "].dense", name + "0", inner,
                      {uint64_t{pairs ? 4u : 1u} * encoder.d_model, pairs ? "4 x transformer_dim" : "transformer_dim"});
  head.activation = Activation::relu;
  head.output = linear(inputs, "heads[" + head.name + "].output", name + "2", {0, "num_classes"}, inner);
  set_usual_kind(inputs, &head);
}

void add_classifier(const HeadInputs& inputs) {
  TensorTable& tensors = inputs.tensors;
  if (!tensors.any("sen_classifer.**")) return;
  ClassificationHead& head = new_head(inputs, "classification", tensors.need("sen_classifer.classifer.weight"));
  head.pooling = Pooling::first_token;
  head.dense =
      linear(inputs, "heads[classification].dense", "sen_classifer.dense", {0, "transformer_dim"}, d_model(inputs));
  head.activation = Activation::tanh;
  head.output = linear(inputs, "heads[classification].output", "sen_classifer.classifer", {0, "num_classes"},
                       {dimension(tensors.need("sen_classifer.dense.weight"), 0), "transformer_dim"});
  set_usual_kind(inputs, &head);
}

// Reads the question-answering head. For each token it has two outputs, the logits that the answer starts and ends
// there, or for WikiHop one output, the logit that the token is the answer.
void add_question_answering(const HeadInputs& inputs) {
  if (!inputs.tensors.any("qahead.*")) return;
  const Tensor& weight = inputs.tensors.need("qahead.weight");
  ClassificationHead& head = new_head(inputs, "question_answering", weight);
  head.pooling = Pooling::none;
  head.activation = Activation::none;
  head.output = linear(inputs, "heads[question_answering].output", "qahead", {0, "2 or 1"}, d_model(inputs));
  if (weight.shape[0] == 2) head.labels = {"start", "end"};
  set_head_kind(
      inputs.conversion, inputs.settings, [](uint64_t) { return compared_outputs_kind("the other tokens"); }, &head);
}

}  // namespace

void add_heads(const HeadInputs& inputs) {
  add_masked_lm(inputs);
  add_arena_head(inputs);
  add_classifier(inputs);
  add_question_answering(inputs);
}

}  // namespace linformer::convert::nystromformer
