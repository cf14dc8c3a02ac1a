// The classification heads of a model, and the names of their outputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "linformer/model.h"

namespace linformer::cli {

// Returns the head that is called `name` or has that index, and the first head if `name` is empty.
int find_head(const Model& model, const std::string& name);
// Returns the heads of a comma-separated list of such names.
std::vector<int> find_heads(const Model& model, const std::string& names);
// What a head that scores each token is for: labels of tokens, or the begin and the end of an answer.
enum class TokenHead : uint8_t { tags, answers };

// Returns the head that is called `name` or has that index, and if `name` is empty the first head for `use`. Throws if
// there is none, or if that head is for something else.
int find_token_head(const Model& model, const std::string& name, TokenHead use);
// For an error message: what kind of head this is, and which command uses such heads: "labels tokens; use 'linformer
// tag'".
std::string other_command(const HeadInfo& head);
// Returns the names of a head's classes, or their indices if the model has no names.
std::vector<std::string> class_labels(const Model& model, int head);
// Returns the names of a head's outputs: those of class_labels(), except that the only output of a head without names
// is called `score` or `value`.
std::vector<std::string> output_names(const Model& model, int head);

}  // namespace linformer::cli
