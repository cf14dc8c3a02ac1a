#include "converter/export/exported_facts.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/description.h"
#include "converter/export/base64.h"
#include "converter/labels.h"
#include "converter/option_names.h"
#include "converter/readers/error.h"
#include "converter/readers/exported_keys.h"
#include "converter/writer/metadata.h"
#include "model/read_description.h"
#include "model/validate.h"

namespace linformer::convert {

namespace {

const std::string* find(const Checkpoint& checkpoint, const std::string& key) {
  for (const auto& [name, text] : checkpoint.metadata) {
    if (name == key) return &text;
  }
  return nullptr;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> safetensors_metadata(const ModelDescription& model,
                                                                      const std::string& settings) {
  std::vector<std::pair<std::string, std::string>> texts = {{"format", "pt"}, {exported_dialect_key, model.dialect}};
  if (!settings.empty()) texts.emplace_back(exported_settings_key, settings);
  nlohmann::ordered_json labels = nlohmann::ordered_json::object();
  for (const ClassificationHead& head : model.heads) {
    if (!head.labels.empty()) labels[head.name] = head.labels;
  }
  if (!labels.empty()) texts.emplace_back(exported_labels_key, labels.dump());
  if (model.tokenizer.kind != TokenizerKind::none) {
    ModelDescription alone;
    alone.tokenizer = model.tokenizer;
    texts.emplace_back(exported_tokenizer_key, to_base64(writer::serialize_metadata(alone)));
  }
  return texts;
}

void apply_exported_labels(const Checkpoint& checkpoint, ModelDescription* description, Report* report) {
  const std::string* text = find(checkpoint, exported_labels_key);
  if (text == nullptr) return;
  const std::string source = std::string(exported_labels_key) + " of the file";
  ValueStore store;
  const Value heads = parse_json(store, *text, source);
  if (!heads.is(ValueKind::dict)) fail(source, " is a ", heads.kind_name(), ", not an object of labels");
  ViewMap<ClassificationHead*> by_name;
  for (ClassificationHead& head : description->heads) by_name.emplace(head.name, &head);
  for (size_t i = 0; i + 1 < heads.items().size(); i += 2) {
    const std::string name(heads.items()[i].text());
    const auto found = by_name.find(name);
    if (found == by_name.end()) fail(source, " has labels for ", quote(name), ", which is no head of the model");
    ClassificationHead* head = found->second;
    std::vector<std::string> labels;
    std::string shown;
    for (const Value& label : heads.items()[i + 1].items()) {
      if (!label.is(ValueKind::text)) fail(source, " has a label that is not a text: export the model again");
      labels.emplace_back(label.text());
      shown += (shown.empty() ? "" : ", ") + labels.back();
    }
    const uint64_t classes = description->tensors[static_cast<size_t>(head->output.weight)].shape[0];
    if (labels.size() != classes) {
      fail(source, " has ", labels.size(), " labels for the head ", quote(name), ", which has ", classes,
           " classes: export the model again");
    }
    check_labels(labels, source);
    report->add_fact("labels of " + name, shown, source);
    head->labels = std::move(labels);
  }
}

std::optional<ExportedTokenizer> exported_tokenizer(const Checkpoint& checkpoint, const ModelDescription& model) {
  const std::string* text = find(checkpoint, exported_tokenizer_key);
  if (text == nullptr) return std::nullopt;
  const std::string source = std::string(exported_tokenizer_key) + " of " + checkpoint.name;
  const std::optional<std::vector<std::byte>> bytes = from_base64(*text);
  if (!bytes || bytes->empty())
    fail(source, " is empty or not base64: give the tokenizer's files with ", placeholder(Option::tokenizer));
  ExportedTokenizer made{writer::AlignedBytes(bytes->size()), {}};
  std::memcpy(made.bytes.data(), bytes->data(), bytes->size());
  ModelDescription alone;
  Status status = read_description(made.bytes, made.bytes.size(), &alone);
  // UINT64_MAX stands for the number of token types: that number is checked later, with the model as a whole.
  if (status.ok()) status = validate_tokenizer(alone.tokenizer, model.encoder.vocab_size, UINT64_MAX);
  if (!status.ok()) {
    fail(source, " can't be used: ", status.message(), ". Give the tokenizer's files with ",
         placeholder(Option::tokenizer));
  }
  if (alone.tokenizer.kind == TokenizerKind::none) return std::nullopt;
  made.description = std::move(alone.tokenizer);
  return made;
}

}  // namespace linformer::convert
