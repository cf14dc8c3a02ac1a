// Recognises names of models on the Hugging Face Hub, which other programs accept in place of a path.
#pragma once

#include <string>

namespace linformer::files {

// If `path` doesn't exist and looks like a name on the Hub ("org/name", "bert-base-uncased"), returns a sentence that
// says how to download the model's folder. Otherwise returns an empty string. The sentence has no full stop, so that
// callers can add what to do with the folder.
std::string hub_name_advice(const std::string& path);

}  // namespace linformer::files
