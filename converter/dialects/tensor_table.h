// A table of a checkpoint's tensors under canonical names, which records the tensors that were used.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "converter/readers/checkpoint.h"
#include "linformer/convert.h"

namespace linformer::convert {

struct NamePattern {
  const char* pattern;  // In a pattern, * matches any characters except dots, and ** at the end matches anything.
  const char* reason;   // Says why tensors whose names match do not belong in the model file.
};

// Returns whether the pattern matches the whole name. The time is at most proportional to the product of their lengths.
bool matches(std::string_view name, std::string_view pattern);

// Returns the number of bytes at the start of every tensor's name that wrappers of the model added: checkpoint.wrapper,
// and each "module.", "model." and "_orig_mod." that follows in all names.
size_t wrapper_prefix_length(const Checkpoint& checkpoint);

// Returns the values that are tried for checkpoint.wrapper: 0, and the lengths of the first few prefixes that all names
// have and that end in a dot ("student.", "student.encoder."), shortest first.
std::vector<size_t> possible_wrapper_lengths(const Checkpoint& checkpoint);

class TensorTable {
 public:
  // Builds the table. A canonical name is what `rename` returns for a tensor's name without wrapper_prefix_length().
  // Throws Error if two tensors get the same canonical name. The checkpoint must outlive the table, which charges its
  // work to the checkpoint's budget.
  TensorTable(const Checkpoint& checkpoint, const std::function<std::string(std::string)>& rename);

  // Both return the tensor with this canonical name, or null if there is none. use() also marks the tensor as used.
  const Tensor* find(std::string_view name) const;
  const Tensor* use(std::string_view name);
  // Returns the tensor and marks it as used. Throws Error that names the tensor if it is absent.
  const Tensor& need(std::string_view name);
  // Returns whether any canonical name matches the pattern.
  bool any(std::string_view pattern) const;
  // Returns the canonical names that begin with `prefix`, in alphabetical order.
  std::vector<std::string> names(std::string_view prefix = {}) const;

  // Adds the unused tensors to the report, each with the reason of the first pattern that matches its name. Throws
  // Error that names the unused tensors that no pattern matches, and calls the model `model`.
  void report_or_reject_unused(std::span<const NamePattern> patterns, const char* model, Report& report) const;

 private:
  struct Entry {
    const Tensor* tensor;
    bool used = false;
  };
  Budget& budget_;
  std::map<std::string, Entry, std::less<>> entries_;
};

// Returns a text with the first `shown` names, such as `"a", "b" and 3 more`.
std::string list_names(const std::vector<std::string>& names, size_t shown);

}  // namespace linformer::convert
