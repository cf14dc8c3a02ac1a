// Recognises names of models on the Hugging Face Hub, which other programs accept in place of a path.
#pragma once

#include <string>

namespace linformer::files {

// Returns a sentence that says how to download the model's folder where `path` doesn't exist and looks like such a name
// ("org/name", "bert-base-uncased"). Otherwise returns an empty string. The sentence has no full stop, so that callers
// can add what to do with the folder.
std::string hub_name_advice(const std::string& path);

}  // namespace linformer::files
