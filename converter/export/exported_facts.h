// What a model file says beside its tensors, as texts in the metadata of a safetensors file, and back.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/description.h"
#include "converter/readers/checkpoint.h"
#include "converter/writer/model_builder.h"
#include "linformer/convert.h"

namespace linformer::convert {

// `settings`: the JSON object that the model file keeps; empty: nothing.
std::vector<std::pair<std::string, std::string>> metadata_of(const ModelDescription& model,
                                                             const std::string& settings);

// Gives the heads the labels that the file has for them. Throws Error where they fit no head.
void apply_exported_labels(const Checkpoint& checkpoint, ModelDescription* description, Report* report);

struct ExportedTokenizer {
  writer::AlignedBytes bytes;  // what the description's views point into
  TokenizerDescription description;
};
// The tokenizer that the file has for this model, validated like that of a model file; nothing where there is none.
std::optional<ExportedTokenizer> exported_tokenizer(const Checkpoint& checkpoint, const ModelDescription& model);

}  // namespace linformer::convert
