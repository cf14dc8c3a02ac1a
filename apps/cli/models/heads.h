// The classification heads of a model, and the names of what they give.
#pragma once

#include <string>
#include <vector>

#include "base/description.h"
#include "linformer/model.h"

namespace linformer::cli {

// Returns the head that is called `name` or has that index, and the first head if `name` is empty.
int find_head(const Model& model, const std::string& name);
// Returns the heads of a comma-separated list of such names.
std::vector<int> find_heads(const Model& model, const std::string& names);
const ClassificationHead& head_of(const Model& model, int head);
// Returns the names of a head's classes, or their indices if the model has no names.
std::vector<std::string> class_labels(const Model& model, int head);
// Returns the same names, but `score` or `value` for a head that gives one number without a name.
std::vector<std::string> output_names(const Model& model, int head);

}  // namespace linformer::cli
