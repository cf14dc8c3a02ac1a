// Names of models on the Hugging Face Hub, which other programs download by.
#pragma once

#include <string>

namespace linformer::files {

// Where `path` is not there and looks like such a name ("org/name", "bert-base-uncased"): a sentence that says how its
// folder is had. Otherwise empty.
std::string hub_name_advice(const std::string& path);

}  // namespace linformer::files
