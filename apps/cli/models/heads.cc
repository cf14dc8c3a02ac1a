#include "models/heads.h"

#include <algorithm>
#include <optional>

#include "command_line/errors.h"
#include "models/label_names.h"

namespace linformer::cli {

int find_head(const Model& model, const std::string& name) {
  const Array<ClassificationHead>& heads = model.description().heads;
  if (heads.empty()) {
    const ModelDescription& description = model.description();
    throw DataError(
        description.encoder.embedding.tokens == absent ? "this model has no classification head; 'linformer encode "
                                                         "--what hidden --vectors FILE.npy' saves its rows"
        : description.embedding.present
            ? "this model has no classification head: it turns texts into vectors; use 'linformer embed'"
        : description.mlm.present()
            ? "this model has no classification head; 'linformer encode --what mlm' saves the logits of its masked-LM "
              "head, and 'linformer fill-mask' shows them"
            : "this model has no classification head; 'linformer embed --pooling mean' gives a vector for each text, "
              "and 'linformer encode --what hidden' the rows");
  }
  if (model.description().has_decoder()) {
    throw DataError("this model's classification heads read its decoder, which only the library runs");
  }
  if (name.empty()) return 0;
  std::vector<std::string> names;
  std::string known;
  for (const ClassificationHead& head : heads) {
    known += (names.empty() ? "" : ", ") + head.name;
    names.push_back(head.name);
  }
  const std::optional<size_t> found = class_of(names, name);
  if (!found) throw UsageError("no head '" + name + "'; this model has " + known);
  return static_cast<int>(*found);
}

std::vector<int> find_heads(const Model& model, const std::string& names) {
  // A name may itself have a comma in it.
  const Array<ClassificationHead>& heads = model.description().heads;
  const bool one = std::any_of(heads.begin(), heads.end(), [&](const auto& head) { return head.name == names; });
  std::vector<int> found;
  for (size_t start = 0; start <= names.size();) {
    const size_t comma = one ? names.size() : std::min(names.find(',', start), names.size());
    const std::string name = names.substr(start, comma - start);
    if (name.empty() && !names.empty()) throw UsageError("--head " + names + ": a name is missing beside a comma");
    const int head = find_head(model, name);
    if (std::find(found.begin(), found.end(), head) != found.end()) {
      throw UsageError("--head " + names + " names a head twice");
    }
    found.push_back(head);
    start = comma + 1;
  }
  return found;
}

const ClassificationHead& head_of(const Model& model, int head) {
  return model.description().heads[static_cast<size_t>(head)];
}

std::vector<std::string> class_labels(const Model& model, int head) {
  const ClassificationHead& chosen = head_of(model, head);
  if (!chosen.labels.empty()) return chosen.labels;
  const TensorDescription& weight = model.description().tensors[static_cast<size_t>(chosen.output.weight)];
  std::vector<std::string> labels;
  for (uint64_t i = 0; i < weight.shape[0]; ++i) labels.push_back(std::to_string(i));
  return labels;
}

std::vector<std::string> output_names(const Model& model, int head) {
  const ClassificationHead& chosen = head_of(model, head);
  std::vector<std::string> names = class_labels(model, head);
  if (!chosen.labels.empty() || names.size() != 1) return names;
  if (chosen.kind == HeadKind::score) names = {"score"};
  if (chosen.kind == HeadKind::regression) names = {"value"};
  return names;
}

}  // namespace linformer::cli
