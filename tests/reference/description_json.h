// Writes a model's description as JSON and its weights as one array, for a reference that shares no code with the
// runtime.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linformer/model.h"

namespace linformer_test {

// Returns the description. Its fields are named as in model/description_fields.h. The values of each tensor are
// appended to `numbers` in the checkpoint's shape, whatever type and layout the file has, and the tensor's "offset" is
// the index of the first.
nlohmann::json description_json(const linformer::Model& model, std::vector<float>* numbers);

}  // namespace linformer_test
