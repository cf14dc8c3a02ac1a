// A model's description as JSON, and its numbers as one array, for a reader that shares nothing with the runtime.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linformer/model.h"

namespace linformer_test {

// Fields named as in model/description_fields.h. Each tensor's place in `numbers` is said by its "offset"; its values
// are those of the checkpoint's shape, whatever type and layout the file has.
nlohmann::json description_json(const linformer::Model& model, std::vector<float>* numbers);

}  // namespace linformer_test
