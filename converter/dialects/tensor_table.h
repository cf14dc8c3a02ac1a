// The checkpoint's tensors under canonical names, with an account of what became of each.
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
  const char* pattern;  // a name in which * stands for any characters but dots, ** at the end for anything
  const char* reason;   // why tensors of such names do not belong in the model file
};

// In time proportional to the name's bytes, whatever the name.
bool matches(std::string_view name, std::string_view pattern);

// The number of bytes at the start of every tensor's name that wrappers put there: checkpoint.wrapper, and after it
// module., model., _orig_mod.
size_t wrapper_prefix(const Checkpoint& checkpoint);

// What checkpoint.wrapper may be: 0, and the lengths of the first few prefixes that end in a dot and that all names
// have ("student.", "student.encoder."), shortest first.
std::vector<size_t> possible_wrappers(const Checkpoint& checkpoint);

class TensorTable {
 public:
  // Strips wrapper_prefix(), then applies `rename`.
  // Throws Error when two tensors end up with one name. The checkpoint must outlive the table; its budget pays for the
  // names that are looked at.
  TensorTable(const Checkpoint& checkpoint, const std::function<std::string(std::string)>& rename);

  // The tensor of a canonical name, or null. use() also counts it as mapped.
  const Tensor* find(std::string_view name) const;
  const Tensor* use(std::string_view name);
  // As use(); throws Error naming it when it is absent.
  const Tensor& need(std::string_view name);
  bool any(std::string_view pattern) const;
  // Canonical names that begin with `prefix`, in alphabetical order.
  std::vector<std::string> names(std::string_view prefix = {}) const;

  // Lists the unused tensors with the reason of the first pattern that fits; throws Error naming those that none fits.
  void account_for_rest(std::span<const NamePattern> patterns, const char* model, Report& report) const;

 private:
  struct Entry {
    const Tensor* tensor;
    bool used = false;
  };
  Budget& budget_;
  std::map<std::string, Entry, std::less<>> entries_;
};

// "a", "b" and 3 more.
std::string list_names(const std::vector<std::string>& names, size_t shown);

}  // namespace linformer::convert
