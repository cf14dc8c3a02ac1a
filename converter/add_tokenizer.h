// Adds a tokenizer to the description of the model that it belongs to.
#pragma once

#include <string>
#include <vector>

#include "base/description.h"
#include "linformer/convert.h"

namespace linformer::convert {

// Moves the tokenizer into the description, and adds its facts and `notes` to the report. Throws Error if the tokenizer
// does not fit the model's vocabulary or if the runtime could not load it. `source` is the tokenizer's path, with which
// errors of the runtime begin.
void add_tokenizer(TokenizerDescription tokenizer, const std::string& source, const std::vector<std::string>& notes,
                   ModelDescription* description, Report* report);

}  // namespace linformer::convert
