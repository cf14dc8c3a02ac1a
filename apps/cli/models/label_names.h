// The labels of a head, and which of them a word in a record stands for.
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

  // The class of that name, or else the only one whose name differs in case alone, or else what transformers calls
  // LABEL_i, or else the index i. 1.0 is 1.
  std::optional<size_t> find(const std::string& word) const;
  // Returns the error message for a word that stands for no class. It lists the labels.
  std::string unknown(const std::string& word) const;

  const std::vector<std::string>& all() const { return names_; }
  size_t size() const { return names_.size(); }

 private:
  static constexpr size_t several = static_cast<size_t>(-1);
  std::vector<std::string> names_;
  std::unordered_map<std::string, size_t> by_name_, by_folded_name_;  // `several`: names that differ in case alone
};

// The class that `name` stands for: a label's name, or else an index. Names win.
std::optional<size_t> class_of(const std::vector<std::string>& labels, const std::string& name);

// The first names with commas between, and how many there are.
std::string list_of_labels(const std::vector<std::string>& names);

}  // namespace linformer::cli
