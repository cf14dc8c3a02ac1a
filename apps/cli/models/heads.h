// The classification heads of a model, and the names of what they give.
#pragma once

#include <string>
#include <vector>

#include "base/description.h"
#include "linformer/model.h"

namespace linformer::cli {

// The head called `name`, or with that index; the first one for "".
int find_head(const Model& model, const std::string& name);
// The same for names with commas between them.
std::vector<int> find_heads(const Model& model, const std::string& names);
const ClassificationHead& head_of(const Model& model, int head);
// Names of a head's classes; indices where the model has no names.
std::vector<std::string> class_labels(const Model& model, int head);
// The same, but `score` or `value` for a head that gives one number without a name.
std::vector<std::string> output_names(const Model& model, int head);

}  // namespace linformer::cli
