#include "converter/dialects/hugging_face/heads.h"

#include "base/description.h"
#include "converter/dialects/common.h"
#include "converter/dialects/head_kind.h"
#include "converter/dialects/hugging_face/sentence_transformers.h"
#include "converter/dialects/hugging_face/settings.h"
#include "converter/dialects/hugging_face/vocabulary.h"
#include "converter/readers/error.h"

namespace linformer::convert::hugging_face {

namespace {

Size d_model(const HeadInputs& inputs) { return {inputs.conversion.description.encoder.d_model, "d_model"}; }

Linear linear(const HeadInputs& inputs, const std::string& role, const std::string& name, Size out, Size in) {
  return read_linear(inputs.conversion, inputs.tensors, role, name, out, in);
}

// Adds the bias of the masked-LM output, which may have either of two names.
TensorIndex vocabulary_bias(const HeadInputs& inputs, Size vocabulary) {
  const Tensor* bias = nullptr;
  TensorIndex made = absent;
  for (const char* name : inputs.family.masked_lm.biases) {
    const Tensor* other = name == nullptr ? nullptr : inputs.tensors.use(name);
    if (other == nullptr) continue;
    const TensorIndex index = inputs.conversion.weights.floats("mlm.output.bias", *other, {vocabulary});
    if (bias != nullptr && index != made) {
      fail("the tensors ", quote(bias->name), " and ", quote(other->name),
           " are one bias by two names, but their values differ: remove the one that is not used");
    }
    bias = other;
    made = index;
  }
  if (bias == nullptr) inputs.tensors.need(inputs.family.masked_lm.biases[0]);
  return made;
}

// Adds a head that applies the Linear `output`, [classes, d_model], to the pooled row or to every row. If `dense` is
// not null, that Linear and `activation` come before it. The caller sets the head's kind.
ClassificationHead& add_head(const HeadInputs& inputs, const char* name, const std::string& output, Pooling pooling,
                             const char* dense, Activation activation) {
  ClassificationHead& head = inputs.conversion.description.heads.emplace_back();
  const std::string role = std::string("heads[") + name + "].";
  head.name = name;
  head.pooling = pooling;
  if (dense != nullptr) {
    head.dense = linear(inputs, role + "dense", dense, d_model(inputs), d_model(inputs));
    head.activation = activation;
  }
  head.output = linear(inputs, role + "output", output, {0, "classes"}, d_model(inputs));
  report_outputs(inputs.conversion, head, "", "shape of " + output + ".weight");
  return head;
}

void add_labels(const HeadInputs& inputs, ClassificationHead* head) {
  label_outputs(inputs.conversion, inputs.settings, head);
}

bool has_pooler(const HeadInputs& inputs) {
  return inputs.tensors.any(inputs.family.extras.pooler + std::string(".*"));
}

// Returns whether `classifier` reads every row instead of the pooled row. The presence of a pooler does not tell,
// because checkpoints of both kinds may have one.
bool is_token_classifier(const HeadInputs& inputs) {
  const std::optional<std::string> architecture = architecture_suffix(inputs.settings);
  if (!architecture) {
    if (!has_pooler(inputs)) return true;
    fail(
        "the tensors do not say whether the classifier reads a text as a whole or token by token: give the model's "
        "config.json with ",
        placeholder(Option::config), ", or ", config_option(R"({"architectures": ["BertForSequenceClassification"]})"),
        " or ", config_option(R"({"architectures": ["BertForTokenClassification"]})"));
  }
  if (*architecture == "ForTokenClassification") return true;
  if (*architecture == "ForSequenceClassification" || *architecture == "ForMultipleChoice") return false;
  fail("the checkpoint has a classifier, but the setting architectures says ", quote(*architecture),
       "; ForSequenceClassification, ForTokenClassification and ForMultipleChoice are supported");
}

Activation classifier_activation(const HeadInputs& inputs) {
  const std::optional<Activation> fixed = inputs.family.extras.classifier_activation;
  return fixed ? *fixed : activation_of(inputs.settings, inputs.family.settings.activation, inputs.conversion.report);
}

void add_classifier(const HeadInputs& inputs) {
  const char* name = "classifier";
  if (inputs.tensors.any("classifier.out_proj.*")) {
    add_labels(inputs, &add_head(inputs, name, "classifier.out_proj", Pooling::first_token, "classifier.dense",
                                 classifier_activation(inputs)));
  } else if (inputs.tensors.any("sequence_summary.summary.*")) {
    add_labels(inputs,
               &add_head(inputs, name, name, Pooling::first_token, "sequence_summary.summary", Activation::gelu));
  } else if (inputs.tensors.any("pre_classifier.*")) {
    add_labels(inputs, &add_head(inputs, name, name, Pooling::first_token, "pre_classifier", Activation::relu));
  } else if (inputs.tensors.any("classifier.*")) {
    const bool each = is_token_classifier(inputs);
    add_labels(inputs, &add_head(inputs, name, name, each ? Pooling::none : Pooling::first_token,
                                 each ? nullptr : inputs.family.extras.pooler, Activation::tanh));
  }
}

void add_embedding(const HeadInputs& inputs) {
  Conversion& conversion = inputs.conversion;
  SentenceEmbedding& embedding = conversion.description.embedding;
  const bool pooled = has_pooler(inputs);
  const char* pooler = inputs.family.extras.pooler;
  // A model that was trained for a classifier or for question answering was not trained to embed texts by its pooler.
  const bool trained = !inputs.tensors.any("classifier.**") && !inputs.tensors.any("qa_outputs.*");
  if (add_sentence_embedding(conversion, inputs.tensors, inputs.settings)) return;
  if (const std::optional<Setting<std::string>> own = inputs.settings.text("emb_pooler"); own && own->value == "mean") {
    embedding.present = true;
    embedding.pooling = Pooling::mean;
    conversion.report.add_fact("sentence embedding", "mean", "emb_pooler, " + own->source);
    return;
  }
  if (!pooled || !trained) {
    conversion.report.add_fact("sentence embedding", "none",
                               pooled ? "the model was trained for its head" : "there is no pooler");
    return;
  }
  embedding.present = true;
  embedding.pooling = Pooling::first_token;
  embedding.dense = linear(inputs, "embedding.dense", pooler, d_model(inputs), d_model(inputs));
  embedding.activation = Activation::tanh;
  conversion.report.add_fact("sentence embedding", "the pooler's output", std::string(pooler) + " is there");
  conversion.report.cautions.push_back(
      "nothing says how a text becomes one vector, so it is the pooler's output, as in transformers; "
      "sentence-transformers would take the mean of the rows: for that convert with " +
      config_option(R"({"sentence_pooling": "mean"})") + ", or choose the pooling where texts are embedded");
}

}  // namespace

void add_masked_lm(const HeadInputs& inputs) {
  const MaskedLmNames& names = inputs.family.masked_lm;
  Conversion& conversion = inputs.conversion;
  Report& report = conversion.report;
  if (!inputs.tensors.any(std::string(names.dense) + ".*")) {
    report.add_fact("masked-LM head", "none", std::string(names.dense) + " is absent");
    return;
  }
  const EncoderDescription& encoder = conversion.description.encoder;
  MaskedLmHead& mlm = conversion.description.mlm;
  // The output's weight is as wide as the token embedding, to which it may be tied.
  const TensorDescription& tokens = conversion.description.tensors[static_cast<size_t>(encoder.embedding.tokens)];
  const Size width{tokens.shape[1], "embedding width"};
  mlm.dense = linear(inputs, "mlm.dense", names.dense, width, d_model(inputs));
  mlm.activation = names.settings_act ? activation_of(inputs.settings, names.settings_act, report) : Activation::gelu;
  mlm.norm = read_norm(conversion, inputs.tensors, "mlm.norm", names.norm, width);
  mlm.norm.epsilon = inputs.epsilon;

  add_vocabulary_output(conversion, inputs.tensors, inputs.settings, "embeddings.word_embeddings.weight", names.output,
                        width);
  mlm.output.bias = vocabulary_bias(inputs, {encoder.vocab_size, "vocabulary"});
}

void add_heads(const HeadInputs& inputs) {
  add_classifier(inputs);
  if (inputs.tensors.any("qa_outputs.*")) {
    ClassificationHead& head = add_head(inputs, "qa_outputs", "qa_outputs", Pooling::none, nullptr, Activation::none);
    label_answer_outputs(inputs.conversion, inputs.settings, &head);
  }
  if (inputs.tensors.any("cls.seq_relationship.*")) {
    ClassificationHead& head = add_head(inputs, "next_sentence", "cls.seq_relationship", Pooling::first_token,
                                        inputs.family.extras.pooler, Activation::tanh);
    set_head_kind(inputs.conversion, inputs.settings, usual_head_kind, &head);
  }
  if (inputs.tensors.any("sop_classifier.classifier.*")) {
    ClassificationHead& head = add_head(inputs, "sentence_order", "sop_classifier.classifier", Pooling::first_token,
                                        inputs.family.extras.pooler, Activation::tanh);
    set_head_kind(inputs.conversion, inputs.settings, usual_head_kind, &head);
  }
  if (inputs.tensors.any("discriminator_predictions.dense.*")) {
    const Activation activation =
        activation_of(inputs.settings, inputs.family.settings.activation, inputs.conversion.report);
    ClassificationHead& head = add_head(inputs, "replaced_tokens", "discriminator_predictions.dense_prediction",
                                        Pooling::none, "discriminator_predictions.dense", activation);
    set_head_kind(inputs.conversion, inputs.settings, usual_head_kind, &head);
  }
  add_embedding(inputs);
}

}  // namespace linformer::convert::hugging_face
