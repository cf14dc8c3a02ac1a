#include "models/heads.h"

#include <algorithm>
#include <optional>

#include "command_line/errors.h"
#include "models/label_names.h"

namespace linformer::cli {

int find_head(const Model& model, const std::string& name) {
  const ModelInfo info = model.info();
  if (info.heads == 0) {
    throw DataError(
        info.vector_width > 0 ? "this model has no classification head; 'linformer encode "
                                "--what hidden --vectors FILE.npy' saves its hidden states"
        : info.has_embedding
            ? "this model has no classification head: it turns texts into vectors; use 'linformer embed'"
        : info.has_masked_lm
            ? "this model has no classification head; 'linformer encode --what mlm' saves the logits of its masked-LM "
              "head, and 'linformer fill-mask' shows them"
            : "this model has no classification head; 'linformer embed --pooling mean' gives a vector for each text, "
              "and 'linformer encode --what hidden' saves the hidden states");
  }
  if (info.has_decoder) {
    throw DataError("this model's classification heads need the decoder, which only the library runs");
  }
  if (name.empty()) return 0;
  std::vector<std::string> names;
  std::string known;
  for (int i = 0; i < info.heads; ++i) {
    names.emplace_back(model.head(i).name);
    known += (i == 0 ? "" : ", ") + names.back();
  }
  const std::optional<size_t> found = class_of(names, name);
  if (!found) throw UsageError("no head '" + name + "'; this model has " + known);
  return static_cast<int>(*found);
}

std::vector<int> find_heads(const Model& model, const std::string& names) {
  // A name may contain a comma. If the whole of `names` is the name of a head, it is not split at its commas.
  const bool one = model.find_head(names) >= 0;
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

namespace {

bool is_for(const HeadInfo& head, TokenHead use) {
  if (!head.each_token) return false;
  return use == TokenHead::answers ? head.spans : !head.spans && head.kind == HeadKind::single_label;
}

}  // namespace

std::string use_and_command(const HeadInfo& head) {
  if (!head.each_token) return "gives one answer for a text; use 'linformer classify'";
  const std::string saved = "'linformer encode --what logits:" + std::string(head.name) + "'";
  if (is_for(head, TokenHead::tags)) return "labels tokens; use 'linformer tag', or save its scores with " + saved;
  if (is_for(head, TokenHead::answers)) {
    return "answers questions; use 'linformer answer', or save its scores with " + saved;
  }
  return "scores each token; save its scores with " + saved;
}

int find_token_head(const Model& model, const std::string& name, TokenHead use) {
  const int named = find_head(model, name);
  const char* const wanted = use == TokenHead::tags ? "labels tokens" : "answers questions";
  if (!name.empty()) {
    const HeadInfo head = model.head(named);
    if (is_for(head, use)) return named;
    throw UsageError("head '" + std::string(head.name) + "' " + use_and_command(head));
  }
  for (int i = 0; i < model.info().heads; ++i) {
    if (is_for(model.head(i), use)) return i;
  }
  const HeadInfo first = model.head(0);
  throw DataError("this model has no head that " + std::string(wanted) + ": head '" + std::string(first.name) + "' " +
                  use_and_command(first));
}

std::vector<std::string> class_labels(const Model& model, int head) {
  const HeadInfo chosen = model.head(head);
  std::vector<std::string> labels;
  for (int64_t i = 0; i < chosen.classes; ++i) {
    labels.push_back(chosen.has_labels ? std::string(model.label(head, i)) : std::to_string(i));
  }
  return labels;
}

std::vector<std::string> output_names(const Model& model, int head) {
  const HeadInfo chosen = model.head(head);
  std::vector<std::string> names = class_labels(model, head);
  if (chosen.has_labels || names.size() != 1) return names;
  if (chosen.kind == HeadKind::score) names = {"score"};
  if (chosen.kind == HeadKind::regression) names = {"value"};
  return names;
}

}  // namespace linformer::cli
