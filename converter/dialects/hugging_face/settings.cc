#include "converter/dialects/hugging_face/settings.h"

#include <algorithm>

#include "converter/dialects/common.h"
#include "converter/readers/error.h"
#include "model/utf8.h"

namespace linformer::convert::hugging_face {

namespace {

struct ModelType {
  std::string_view name;
  const Family& (*family)();
};
constexpr ModelType model_types[] = {{"bert", bert},         {"roberta", roberta},       {"xlm-roberta", roberta},
                                     {"camembert", roberta}, {"distilbert", distilbert}, {"mpnet", mpnet},
                                     {"electra", electra},   {"albert", albert},         {"roformer", roformer}};

// Model types that other dialects convert.
constexpr std::string_view other_model_types[] = {"modernbert", "nomic_bert", "gte",      "new",
                                                  "jargon",     "linformer",  "model2vec"};

const ModelType* find_model_type(std::string_view name) {
  const auto* found = std::find_if(std::begin(model_types), std::end(model_types),
                                   [name](const ModelType& type) { return type.name == name; });
  return found == std::end(model_types) ? nullptr : found;
}

bool any_tensor(const Checkpoint& checkpoint, std::string_view prefix) {
  const size_t wrapper = wrapper_prefix_length(checkpoint);
  return std::any_of(checkpoint.tensors.begin(), checkpoint.tensors.end(), [&](const Tensor& tensor) {
    return std::string_view(tensor.name).substr(wrapper).starts_with(prefix);
  });
}

// Returns the family whose gated networks the checkpoint has, or null if it has none.
const Family* family_of_gates(const Checkpoint& checkpoint) {
  for (const Family* family : {&jina(), &jina_code()}) {
    const std::string first = family->layers + std::string("0.") + family->extras.gates;
    if (any_tensor(checkpoint, first) || any_tensor(checkpoint, family->prefix + first)) return family;
  }
  return nullptr;
}

// Returns a setting that is a text, or the first text of a setting that is a list of texts. Returns nothing if the
// setting is absent or the list is empty.
std::optional<std::string_view> first_text_of(const Settings& settings, const char* name) {
  const std::optional<Setting<Value>> found = settings.value(name);
  if (!found) return std::nullopt;
  if (found->value.is(ValueKind::text)) return found->value.text();
  const std::vector<Value>& items = found->value.items();
  const bool texts = found->value.is(ValueKind::list) && std::all_of(items.begin(), items.end(), [](const Value& item) {
                       return item.is(ValueKind::text);
                     });
  if (!texts) fail("the setting ", name, " (", found->source, ") is not a list of texts");
  return items.empty() ? std::nullopt : std::optional(items.front().text());
}

}  // namespace

bool is_supported_model_type(std::string_view type) {
  return find_model_type(type) != nullptr ||
         std::find(std::begin(other_model_types), std::end(other_model_types), type) != std::end(other_model_types);
}

std::string unsupported_model_type_message(const Setting<std::string>& model_type) {
  std::string names;
  for (const ModelType& type : model_types) names += std::string(type.name) + ", ";
  for (const std::string_view type : other_model_types) names += std::string(type) + ", ";
  names.resize(names.size() - 2);
  return "the model_type " + quote(model_type.value) + " (" + model_type.source +
         ") is not supported. The model types " + names + " are supported, and besides them the dialects " +
         names_of_dialects();
}

const Family& family_of(const Settings& settings, const Checkpoint& checkpoint, Report& report) {
  if (const std::optional<Setting<std::string>> said = settings.text("model_type")) {
    const ModelType* type = find_model_type(said->value);
    if (type == nullptr) fail(unsupported_model_type_message(*said));
    report.add_fact("model type", said->value, "model_type, " + said->source);
    const Family& family = type->family();
    // Jina's models with gated networks have the model_type "bert".
    const Family* const gated = &family == &bert() ? family_of_gates(checkpoint) : nullptr;
    return gated != nullptr ? *gated : family;
  }
  if (const Family* const gated = family_of_gates(checkpoint)) {
    report.add_fact("model type", gated->name, "names of the tensors");
    return *gated;
  }
  for (const Family* family : families()) {
    const bool prefixed = any_tensor(checkpoint, family->prefix);
    const bool own_layers = family == &distilbert() || family == &albert();
    const bool layout = (own_layers && any_tensor(checkpoint, family->layers)) ||
                        (family == &mpnet() && any_tensor(checkpoint, family->extras.relative_bias)) ||
                        (family == &electra() && any_tensor(checkpoint, family->extras.factor));
    if (!prefixed && !layout) continue;
    report.add_fact("model type", family->name, "names of the tensors");
    return *family;
  }
  fail(
      "BERT's and RoBERTa's encoders have tensors of the same names, so the checkpoint does not say which it is: give "
      "the model's config.json with ",
      placeholder(Option::config), ", or ", config_option(R"({"model_type": "bert"})"), " or ",
      config_option(R"({"model_type": "roberta"})"));
}

void refuse_unsupported(const Settings& settings, std::string_view position_type) {
  const auto refuse_true = [&](const char* name, const char* reason) {
    const std::optional<Setting<bool>> said = settings.flag(name);
    if (said && said->value) fail("the setting ", name, " is true (", said->source, "): ", reason);
  };
  refuse_true("is_decoder", "models that hide later tokens from earlier ones are not supported");
  refuse_true("add_cross_attention", "encoders with cross attention are not supported");
  const std::optional<Setting<std::string>> positions = settings.text("position_embedding_type");
  if (positions && positions->value != position_type) {
    fail("the setting position_embedding_type is ", quote(positions->value), " (", positions->source, "): only ",
         position_type, " positions are supported", position_type == "absolute" ? "" : " in this model");
  }
  refuse_quantised(settings);
}

void refuse_quantised(const Settings& settings) {
  if (const std::optional<Setting<Value>> quantised = settings.value("quantization_config")) {
    fail("the setting quantization_config (", quantised->source,
         ") says that the weights are quantised, which is not supported: save the model in its original precision");
  }
}

Activation activation_of(const Settings& settings, const char* name, Report& report) {
  const std::optional<Setting<std::string>> said = settings.text(name);
  if (!said) {
    report.add_fact(name, name_of(Activation::gelu), "transformers' default: no settings say otherwise");
    report.notes.push_back(std::string(name) + " is not in the settings: transformers' default gelu is assumed.");
    return Activation::gelu;
  }
  static constexpr std::pair<std::string_view, Activation> names[] = {{"gelu", Activation::gelu},
                                                                      {"gelu_python", Activation::gelu},
                                                                      {"gelu_new", Activation::gelu_tanh},
                                                                      {"gelu_fast", Activation::gelu_tanh},
                                                                      {"gelu_pytorch_tanh", Activation::gelu_tanh},
                                                                      {"relu", Activation::relu},
                                                                      {"tanh", Activation::tanh}};
  for (const auto& [known, activation] : names) {
    if (said->value != known) continue;
    report.add_fact(name, name_of(activation), std::string(name) + ", " + said->source);
    return activation;
  }
  fail("the setting ", name, " is ", quote(said->value), " (", said->source,
       "); gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, relu and tanh are supported");
}

Activation gate_activation(const Settings& settings, Activation usual, Report& report) {
  const std::optional<Setting<std::string>> said = settings.text("feed_forward_type");
  if (!said) return usual;
  if (said->value != "geglu" && said->value != "reglu") {
    fail("the setting feed_forward_type is ", quote(said->value), " (", said->source,
         "); geglu and reglu are supported");
  }
  const Activation made = said->value == "geglu" ? Activation::gelu : Activation::relu;
  report.add_fact("feed_forward_type", name_of(made), "feed_forward_type, " + said->source);
  return made;
}

float epsilon_of(const Settings& settings, const Family& family, Report& report) {
  constexpr const char* name = "layer_norm_eps";
  constexpr float usual = 1e-12f;
  if (&family != &distilbert()) return number_below(settings, name, 1, usual, report);
  report.add_fact(name, "1e-12", "fixed by DistilBERT");
  return usual;
}

int32_t pad_token_of(const Settings& settings, int64_t usual, uint32_t vocabulary, Report& report) {
  const std::optional<Setting<int64_t>> said = settings.integer("pad_token_id");
  const int64_t pad = said ? said->value : usual;
  const std::string source =
      said ? "pad_token_id, " + said->source : "transformers' default: no settings say otherwise";
  if (pad < 0 || pad >= int64_t{vocabulary}) {
    fail("the pad token ", pad, " (", source, ") is not one of the ", vocabulary, " tokens");
  }
  report.add_fact("pad id", std::to_string(pad), source);
  return static_cast<int32_t>(pad);
}

std::optional<std::string> architecture_suffix(const Settings& settings) {
  const std::optional<std::string_view> name = first_text_of(settings, "architectures");
  if (!name) return std::nullopt;
  // The part begins at the last "For". In "RoFormerModel", which has no head, that is inside the word "Former", and the
  // part begins at "Model".
  size_t place = name->rfind("For");
  if (place == name->npos || name->substr(place).starts_with("Former")) place = name->find("Model");
  return std::string(place == name->npos ? *name : name->substr(place));
}

void report_outputs(Conversion& conversion, const ClassificationHead& head, const std::string& pooling,
                    const std::string& source) {
  const uint64_t outputs = count_outputs(conversion, head);
  const std::string behind = head.pooling == Pooling::none ? " for each token"
                             : pooling.empty()             ? ""
                                                           : ", pooling " + pooling;
  conversion.report.add_fact("head " + std::string(head.name),
                             std::to_string(outputs) + (outputs == 1 ? " output" : " outputs") + behind, source);
}

void label_outputs(Conversion& conversion, const Settings& settings, ClassificationHead* head) {
  head->labels = labels_of(settings, count_outputs(conversion, *head), conversion.report);
  set_head_kind(
      conversion, settings, [&](uint64_t count) { return head_kind_of(settings, count); }, head);
}

void label_answer_outputs(Conversion& conversion, const Settings& settings, ClassificationHead* head) {
  if (count_outputs(conversion, *head) == 2) head->labels = {"start", "end"};
  set_head_kind(
      conversion, settings, [](uint64_t) { return compared_outputs_kind("the other tokens"); }, head);
}

std::vector<std::string> labels_of(const Settings& settings, uint64_t classes, Report& report) {
  const std::optional<Setting<Value>> said = settings.value("id2label");
  if (!said) return {};
  if (!said->value.is(ValueKind::dict)) fail("the setting id2label (", said->source, ") is not an object of labels");
  if (said->value.items().size() != 2 * classes) {
    fail("the setting id2label has ", said->value.items().size() / 2, " labels (", said->source, ") but the head has ",
         classes, " classes: the settings belong to another model");
  }
  bool plain = true, fit = true;
  std::vector<std::string> labels;
  ViewSet distinct;
  for (uint64_t i = 0; i < classes; ++i) {
    const std::string number = std::to_string(i);
    const Value label = said->value.find(number);
    if (!label.is(ValueKind::text)) fail("the setting id2label (", said->source, ") has no label ", number);
    plain = plain && label.text() == "LABEL_" + number;
    // A pickle may share one long text as the label of every class. No label is copied after the first one that does
    // not fit, so such a text is not copied for every class.
    fit = fit && is_printable_name(label.text()) && distinct.insert(label.text()).second;
    if (fit) labels.emplace_back(label.text());
  }
  if (plain) return {};
  if (!fit) {
    report.notes.push_back(
        "id2label has empty, equal, very long or unprintable labels and was not used. Give others with " +
        placeholder(Option::labels) + ".");
    return {};
  }
  std::string text;
  for (const std::string& label : labels) text += (text.empty() ? "" : ", ") + label;
  report.add_fact("labels", text, "id2label, " + said->source);
  return labels;
}

namespace {

// Returns the activation that CrossEncoder applies to the outputs: the setting sentence_transformers.activation_fn, or
// its predecessor before version 4.
std::optional<Setting<std::string>> cross_encoder_activation(const Settings& settings) {
  constexpr const char *group = "sentence_transformers", *name = "activation_fn",
                       *old_name = "sbert_ce_default_activation_function";
  const std::optional<Setting<Value>> said = settings.value(group);
  const Value activation = said ? said->value.find(name) : Value();
  if (activation.is(ValueKind::text)) {
    return Setting<std::string>{std::string(activation.text()), std::string(group) + "." + name + ", " + said->source};
  }
  if (!activation.is(ValueKind::null)) fail("the setting ", group, ".", name, " (", said->source, ") is not a text");
  const std::optional<Setting<std::string>> old = settings.text(old_name);
  if (!old) return std::nullopt;
  return Setting<std::string>{old->value, std::string(old_name) + ", " + old->source};
}

// Returns the kind that problem_type gives, or nothing if it is absent.
std::optional<KindRule> problem_kind(const Settings& settings, uint64_t outputs) {
  const std::optional<Setting<std::string>> said = settings.text("problem_type");
  if (!said) return std::nullopt;
  KindRule rule{HeadKind::regression, Activation::none, "problem_type " + said->value + ", " + said->source};
  if (said->value == "regression") return rule;
  rule.kind = HeadKind::multi_label;
  if (said->value == "multi_label_classification") return rule;
  if (said->value != "single_label_classification") {
    fail("the setting problem_type is ", quote(said->value), " (", said->source,
         "); regression, single_label_classification and multi_label_classification are possible");
  }
  // The pipeline applies the sigmoid to a single output, even if problem_type is single_label_classification.
  rule.kind = outputs == 1 ? HeadKind::score : HeadKind::single_label;
  if (outputs == 1) rule.activation = Activation::sigmoid;
  return rule;
}

}  // namespace

KindRule head_kind_of(const Settings& settings, uint64_t outputs) {
  const std::optional<KindRule> problem = problem_kind(settings, outputs);
  const std::optional<Setting<std::string>> said = cross_encoder_activation(settings);
  if (said && outputs == 1) {
    const Activation activation = activation_named(said->value, "the setting " + said->source);
    const auto both_say = [&](HeadKind kind, Activation of_kind) {
      return problem && problem->kind == kind && activation == of_kind;
    };
    const bool agree =
        both_say(HeadKind::regression, Activation::none) || both_say(HeadKind::multi_label, Activation::sigmoid);
    return agree ? *problem : KindRule{HeadKind::score, activation, said->source};
  }
  if (problem) return *problem;
  // If there are several outputs, CrossEncoder returns the logits by default, so only the activation Sigmoid tells the
  // kind.
  if (said && said->value.ends_with("Sigmoid")) return {HeadKind::multi_label, Activation::none, said->source};
  // In multiple choice, each choice is a text with one output, and the outputs of a question's choices are compared.
  if (outputs == 1 && architecture_suffix(settings) == "ForMultipleChoice")
    return compared_outputs_kind("the other choices");
  return usual_head_kind(outputs);
}

}  // namespace linformer::convert::hugging_face
