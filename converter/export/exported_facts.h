// Writes the settings, labels and tokenizer of a model file as texts into the metadata of a safetensors file, and reads
// them from there.
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

// Returns the metadata of the safetensors file as pairs of key and text. `settings` is the JSON object that the model
// file keeps, or empty.
std::vector<std::pair<std::string, std::string>> safetensors_metadata(const ModelDescription& model,
                                                                      const std::string& settings);

// Gives the heads the labels that the file's metadata has for them. Throws Error if labels are for a head that the
// model does not have, or if there are more or fewer labels than the head has classes.
void apply_exported_labels(const Checkpoint& checkpoint, ModelDescription* description, Report* report);

struct ExportedTokenizer {
  writer::AlignedBytes bytes;  // The views of the description point into these bytes.
  TokenizerDescription description;
};
// Returns the tokenizer in the file's metadata, or nothing if there is none. Throws Error if it is not valid for this
// model; it is validated like the tokenizer of a model file.
std::optional<ExportedTokenizer> exported_tokenizer(const Checkpoint& checkpoint, const ModelDescription& model);

}  // namespace linformer::convert
