// The labels of a head, and the search for the label that a word in a record names.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace linformer::cli {

class LabelNames {
 public:
  explicit LabelNames(std::vector<std::string> names);

  // Returns the class that `word` names, or nullopt. A name that equals the word is tried first, then the only name
  // that differs from it in case alone, then "LABEL_i" (as in transformers), then an index. "1.0" names what "1" names.
  std::optional<size_t> find(const std::string& word) const;
  // Returns the error message for a word that names no class. The message lists the labels.
  std::string unknown_label_message(const std::string& word) const;

  const std::vector<std::string>& all() const { return names_; }
  size_t size() const { return names_.size(); }

 private:
  static constexpr size_t several = static_cast<size_t>(-1);
  std::vector<std::string> names_;
  // The value `several` in by_folded_name_ marks names that differ from each other in case alone.
  std::unordered_map<std::string, size_t> by_name_, by_folded_name_;
};

// Returns the index of the label that equals `name`. If no label does, `name` is read as an index. Returns nullopt if
// `name` is neither a label nor an index of one.
std::optional<size_t> class_of(const std::vector<std::string>& labels, const std::string& name);

// Returns the names separated by commas. Only the first ten are listed; if there are more, the number of all names
// follows.
std::string list_of_labels(const std::vector<std::string>& names);

}  // namespace linformer::cli
