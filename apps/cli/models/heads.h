// Finds the classification heads of a model and the names of their outputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "linformer/model.h"

namespace linformer::cli {

// Returns the index of the head that is called `name` or has that index, and 0 if `name` is empty. Throws UsageError
// for an unknown name, and DataError if the model has no classification head or only the library can run its heads.
int find_head(const Model& model, const std::string& name);
// Returns the indices of the heads in a comma-separated list of names or indices. Throws the errors of find_head(), and
// UsageError if the list names a head twice.
std::vector<int> find_heads(const Model& model, const std::string& names);
// The use of a head that scores each token: it labels tokens, or it finds the begin and the end of an answer.
enum class TokenHead : uint8_t { tags, answers };

// Returns the index of the head that is called `name` or has that index. If `name` is empty, returns the index of the
// first head for `use`. Throws the errors of find_head(), UsageError if the named head is for another use, and
// DataError if no head is for `use`.
int find_token_head(const Model& model, const std::string& name, TokenHead use);
// Returns the part of an error message that says what a head does and which command uses it: "labels tokens; use
// 'linformer tag'".
std::string use_and_command(const HeadInfo& head);
// Returns the names of a head's classes, or their indices if the model has no names.
std::vector<std::string> class_labels(const Model& model, int head);
// Returns the names of a head's outputs. They are those of class_labels(), with one exception: if a head gives a single
// number and the model has no name for it, the name is "score" or "value", depending on the kind of the head.
std::vector<std::string> output_names(const Model& model, int head);

}  // namespace linformer::cli
