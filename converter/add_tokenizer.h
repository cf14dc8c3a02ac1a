// A tokenizer that was read, put into the description of its model.
#pragma once

#include <string>
#include <vector>

#include "base/description.h"
#include "linformer/convert.h"

namespace linformer::convert {

// Throws Error where the tokenizer is another model's, and where the runtime could not load it; `source` names it then.
// `notes` and what is found out go into the report.
void add_tokenizer(TokenizerDescription tokenizer, const std::string& source, const std::vector<std::string>& notes,
                   ModelDescription* description, Report* report);

}  // namespace linformer::convert
