#include "converter/dialects/own_model/own_model.h"

#include <algorithm>
#include <array>

#include "converter/dialects/common.h"
#include "converter/dialects/head_kind.h"
#include "converter/dialects/model_prefix.h"
#include "converter/labels.h"
#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

// The prefix of the canonical names of tensors that are outside of the encoder and that no setting names.
// reject_unused_tensors() looks for it.
constexpr const char* beside = "beside.";
constexpr std::array modules = {"norm", "head_norm", "head_dense", "head"};

std::string module_name(const char* module) { return std::string("own.") + module; }

std::string without_wrapper(const Checkpoint& checkpoint, const std::string& name) {
  const size_t wrapper = wrapper_prefix_length(checkpoint);
  const std::string_view before = std::string_view(checkpoint.tensors[0].name).substr(0, wrapper);
  return name.starts_with(before) ? name.substr(wrapper) : name;
}

bool has(const Checkpoint& checkpoint, const std::function<bool(std::string_view)>& fits) {
  const size_t wrapper = wrapper_prefix_length(checkpoint);
  return std::any_of(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                     [&](const Tensor& tensor) { return fits(std::string_view(tensor.name).substr(wrapper)); });
}

[[noreturn]] void fail_unnamed(const Checkpoint& checkpoint, const Setting<std::string>& said, const char* setting,
                               const char* what) {
  std::vector<std::string> names;
  for (const Tensor& tensor : checkpoint.tensors) names.push_back(tensor.name);
  fail("the setting ", setting, " is ", quote(said.value), " (", said.source, "), but the checkpoint has no ", what,
       " of that name: it has ", list_names(names, 6));
}

// Returns the name of the tensor that a setting names, directly or as the module whose weight it is, or an empty text
// if the setting is absent.
std::string tensor_named(const Settings& settings, const Checkpoint& checkpoint, const char* setting) {
  const std::optional<Setting<std::string>> said = settings.text(setting);
  if (!said) return "";
  const std::string name = without_wrapper(checkpoint, said->value);
  for (const std::string& possible : {name, name + ".weight"}) {
    if (has(checkpoint, [&](std::string_view known) { return known == possible; })) return possible;
  }
  fail_unnamed(checkpoint, *said, setting, "tensor");
}

std::string module_named(const Settings& settings, const Checkpoint& checkpoint, const char* setting) {
  const std::optional<Setting<std::string>> said = settings.text(setting);
  if (!said) return "";
  const std::string name = without_wrapper(checkpoint, said->value);
  if (has(checkpoint, [&](std::string_view known) { return known == name + ".weight"; })) return name;
  fail_unnamed(checkpoint, *said, setting, "module with a weight");
}

Pooling pooling_of(const Setting<std::string>& said) {
  constexpr std::pair<std::string_view, Pooling> names[] = {{"mean", Pooling::mean},
                                                            {"first", Pooling::first_token},
                                                            {"max", Pooling::max},
                                                            {"last", Pooling::last_token},
                                                            {"none", Pooling::none}};
  for (const auto& [name, pooling] : names) {
    if (said.value == name) return pooling;
  }
  fail("the setting pooling is ", quote(said.value), " (", said.source,
       "); mean, first, max, last and none (an answer for each token) are possible");
}

void add_labels(const Conversion& conversion, const Settings& settings, ClassificationHead* head) {
  const std::optional<Setting<Value>> said = settings.value("labels");
  if (!said) return;
  std::vector<std::string> labels;
  for (const Value& item : said->value.items()) {
    if (!item.is(ValueKind::text)) fail("the setting labels (", said->source, ") is not a list of texts");
    labels.emplace_back(item.text());
  }
  check_labels(labels, "the setting labels (" + said->source + ")");
  if (labels.size() != count_outputs(conversion, *head)) {
    fail("the setting labels (", said->source, ") has ", labels.size(), " names, but the head has ",
         count_outputs(conversion, *head), " outputs");
  }
  head->labels = labels;
}

}  // namespace

std::optional<OwnModel> own_model_from_settings(const Settings& settings, const Checkpoint& checkpoint) {
  const std::optional<Setting<std::string>> encoder = settings.text(own_encoder_setting);
  if (!encoder) return std::nullopt;
  OwnModel own{without_wrapper(checkpoint, encoder->value), "", "", "", "", "", "", settings};
  if (!own.encoder.empty() && !own.encoder.ends_with('.')) own.encoder += '.';
  if (own.encoder.empty() || !has(checkpoint, [&](std::string_view name) { return name.starts_with(own.encoder); })) {
    fail_unnamed(checkpoint, *encoder, own_encoder_setting, "encoder");
  }
  own.embedding = tensor_named(settings, checkpoint, "embedding");
  if (own.embedding.empty()) {
    missing_setting("the name of the token embedding", config_option(R"({"embedding": "NAME"})"));
  }
  own.positions = tensor_named(settings, checkpoint, "positions");
  std::string* const parts[] = {&own.norm, &own.head_norm, &own.head_dense, &own.head};
  for (size_t i = 0; i < modules.size(); ++i) *parts[i] = module_named(settings, checkpoint, modules[i]);
  return own;
}

std::function<std::string(std::string)> own_model_name_mapping(const OwnModel& own, const char* encoder,
                                                               const char* embedding, const char* positions) {
  return [=](std::string name) -> std::string {
    if (name == own.embedding) return embedding;
    if (!own.positions.empty() && name == own.positions) return positions;
    if (name.starts_with(own.encoder)) return encoder + name.substr(own.encoder.size());
    const std::string* const parts[] = {&own.norm, &own.head_norm, &own.head_dense, &own.head};
    for (size_t i = 0; i < modules.size(); ++i) {
      for (const char* end : {".weight", ".bias"}) {
        if (!parts[i]->empty() && name == *parts[i] + end) return module_name(modules[i]) + end;
      }
    }
    return beside + name;
  };
}

const Dialect& recognise_own_model_encoder(Checkpoint& checkpoint, const Settings& settings,
                                           const std::function<const Dialect*(const Checkpoint&)>& find,
                                           Report& report) {
  checkpoint.wrapper = 0;
  const OwnModel own = *own_model_from_settings(settings, checkpoint);
  const size_t wrapper = wrapper_prefix_length(checkpoint) + own.encoder.size();
  checkpoint.budget().charge_memory(checkpoint.tensors.size() * sizeof(Tensor));
  Checkpoint part;
  part.wrapper = wrapper;
  const std::string prefix = checkpoint.tensors[0].name.substr(0, wrapper - own.encoder.size()) + own.encoder;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (tensor.name.starts_with(prefix)) part.tensors.push_back(tensor);
  }
  const Dialect* dialect = find(part);
  if (dialect == nullptr) {
    fail("the tensors below ", quote(prefix), " (the setting ", own_encoder_setting,
         ") are not those of an encoder of the packages linformer or linformer-pytorch: the setting is supported "
         "only for these");
  }
  report.dialect = dialect->name();
  report.recognised_by = std::string("the setting ") + own_encoder_setting + " and the tensors below " + prefix;
  return *dialect;
}

std::optional<Tensor> own_model_position_table(TensorTable& tensors, const OwnModel& own, const char* positions) {
  if (own.positions.empty()) return std::nullopt;
  Tensor table = tensors.need(positions);
  for (size_t axis = 2; axis-- > 0 && table.shape.size() == 3;) {
    if (table.shape[axis] == 1) table = squeezed(table, axis);
  }
  return table;
}

void add_own_model_embedding(Conversion& conversion, TensorTable& tensors, const OwnModel& own, const char* embedding,
                             const std::optional<Tensor>& positions) {
  EncoderDescription& encoder = conversion.description.encoder;
  Report& report = conversion.report;
  const Tensor& tokens = tensors.need(embedding);
  const Size d_model{encoder.d_model, "the encoder's width"};
  encoder.embedding.tokens = conversion.weights.table("embedding.tokens", tokens, {0, "vocabulary"}, d_model);
  encoder.vocab_size = dimension(tokens, 0);
  report.add_fact("vocabulary", std::to_string(encoder.vocab_size), "shape of " + tokens.name);
  if (!positions) {
    report.add_fact("positions", "none", "the setting positions is absent");
  } else {
    encoder.embedding.position_kind = PositionKind::learned;
    encoder.embedding.positions =
        conversion.weights.table("embedding.positions", *positions, {0, "positions"}, d_model);
    report.add_fact("positions", positions->name, "the setting positions");
  }
  if (const std::optional<Setting<int64_t>> pad = own.settings.integer("pad_id")) {
    if (pad->value < -1 || pad->value >= int64_t{encoder.vocab_size}) {
      fail("the setting pad_id is ", pad->value, " (", pad->source, "): the model has tokens 0 to ",
           encoder.vocab_size - 1);
    }
    encoder.pad_id = static_cast<int32_t>(pad->value);
  }
  report.notes.push_back(
      "Texts are answered without padding. A module that was trained on padded texts without a mask counts pads as "
      "tokens: if yours was, give token ids that include the pads.");
}

void add_own_model_head(Conversion& conversion, TensorTable& tensors, const OwnModel& own) {
  ModelDescription& model = conversion.description;
  EncoderDescription& encoder = model.encoder;
  const Settings& settings = own.settings;
  const Size rows{
      encoder.output.present() ? dimension(tensors.need("linformer.project_out.weight"), 0) : encoder.d_model,
      "the encoder's width"};
  if (!own.norm.empty()) encoder.final_norm = read_norm(conversion, tensors, "final_norm", "own.norm", rows);
  const std::optional<Setting<std::string>> pooling = settings.text("pooling");
  if (own.head.empty()) {
    if (!own.head_norm.empty() || !own.head_dense.empty()) {
      fail("the settings name head_norm or head_dense, but no head: give the last Linear, ",
           config_option(R"({"head": "NAME"})"));
    }
    if (!pooling) return;
    model.embedding.present = true;
    model.embedding.pooling = pooling_of(*pooling);
    if (model.embedding.pooling == Pooling::none) fail("the setting pooling is \"none\", but there is no head");
    conversion.report.add_fact("sentence embedding", pooling->value, "pooling, " + pooling->source);
    return;
  }
  if (!pooling) {
    missing_setting("what the head reads",
                    config_option(R"({"pooling": "mean"})") + ", or first, max, last, or none for each token");
  }
  ClassificationHead& head = model.heads.emplace_back();
  head.name = own.head;
  head.pooling = pooling_of(*pooling);
  const std::string role = "heads[" + own.head + "].";
  Size width = rows;
  if (!own.head_norm.empty()) head.norm = read_norm(conversion, tensors, role + "norm", "own.head_norm", rows);
  if (!own.head_dense.empty()) {
    const std::optional<Setting<std::string>> activation = settings.text("head_activation");
    if (!activation) {
      missing_setting("the activation behind head_dense",
                      config_option(R"({"head_activation": "relu"})") + ", or gelu, tanh, identity");
    }
    head.activation = activation_named(activation->value, "the setting head_activation (" + activation->source + ")");
    head.dense = read_linear_maybe_bias(conversion, tensors, role + "dense", "own.head_dense", {0, "width"}, rows);
    width = {dimension(tensors.need("own.head_dense.weight"), 0), "width of head_dense"};
  }
  head.output = read_linear_maybe_bias(conversion, tensors, role + "output", "own.head", {0, "classes"}, width);
  conversion.report.add_fact(
      "head " + own.head,
      std::to_string(count_outputs(conversion, head)) + " outputs, " + pooling->value + " of the rows",
      "the settings head and pooling");
  add_labels(conversion, settings, &head);
  set_head_kind(conversion, settings, usual_head_kind, &head);
}

void reject_unused_tensors(TensorTable& tensors, const char* model, Report& report) {
  for (const std::string& name : tensors.names(beside)) {
    const Tensor* tensor = tensors.find(name);
    const bool counts = tensor->type >= DataType::i64;
    if (counts) continue;
    fail("the settings (", own_encoder_setting, ") do not say what the tensor ", quote(tensor->name), " ",
         shape_text(*tensor),
         " is: name its module with norm, head_norm, head_dense or head, or name it with embedding or positions, or "
         "remove it from the file if the model's answers do not need it");
  }
  static constexpr NamePattern patterns[] = {{"beside.**", "numbers that count up, not weights"}};
  tensors.report_or_reject_unused(patterns, model, report);
}

}  // namespace linformer::convert
