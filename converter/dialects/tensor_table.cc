#include "converter/dialects/tensor_table.h"

#include <algorithm>

#include "converter/readers/error.h"

namespace linformer::convert {

size_t wrapper_prefix_length(const Checkpoint& checkpoint) {
  const std::vector<Tensor>& tensors = checkpoint.tensors;
  size_t stripped = checkpoint.wrapper;
  for (bool again = !tensors.empty(); again;) {
    again = false;
    for (const std::string_view prefix : {"module.", "model.", "_orig_mod."}) {
      const bool all = std::all_of(tensors.begin(), tensors.end(), [&](const Tensor& tensor) {
        return std::string_view(tensor.name).substr(stripped).starts_with(prefix);
      });
      if (!all) continue;
      stripped += prefix.size();
      again = true;
    }
  }
  return stripped;
}

std::vector<size_t> possible_wrapper_lengths(const Checkpoint& checkpoint) {
  constexpr size_t most = 8;  // Each prefix is tried with every dialect, so only a few are returned.
  std::vector<size_t> lengths = {0};
  if (checkpoint.tensors.empty()) return lengths;
  std::string_view common = checkpoint.tensors[0].name;
  for (const Tensor& tensor : checkpoint.tensors) {
    const auto [end, other] = std::mismatch(common.begin(), common.end(), tensor.name.begin(), tensor.name.end());
    common = common.substr(0, static_cast<size_t>(end - common.begin()));
  }
  for (size_t dot = common.find('.'); dot != common.npos && lengths.size() < most; dot = common.find('.', dot + 1)) {
    lengths.push_back(dot + 1);
  }
  return lengths;
}

bool matches(std::string_view name, std::string_view pattern) {
  // After a mismatch, only the last star so far is tried again, with one more byte. It is useless to let an earlier
  // star match more, because that only leaves less of the name for the last one.
  size_t at = 0, next = 0, star = pattern.npos, after_star = 0;
  while (true) {
    if (next < pattern.size() && pattern[next] == '*') {
      if (pattern.substr(next) == "**") return true;
      star = next++;
      after_star = at;
    } else if (at == name.size() && next == pattern.size()) {
      return true;
    } else if (at < name.size() && next < pattern.size() && name[at] == pattern[next]) {
      ++at;
      ++next;
    } else {
      const bool longer = star != pattern.npos && after_star < name.size() && name[after_star] != '.';
      if (!longer) return false;
      at = ++after_star;
      next = star + 1;
    }
  }
}

TensorTable::TensorTable(const Checkpoint& checkpoint, const std::function<std::string(std::string)>& rename)
    : budget_(checkpoint.budget()) {
  const size_t prefix = wrapper_prefix_length(checkpoint);
  for (const Tensor& tensor : checkpoint.tensors) {
    const std::string name = rename(tensor.name.substr(prefix));
    budget_.charge_steps(1);
    budget_.charge_memory(sizeof(std::string) + sizeof(Entry) + name.size());
    const auto [place, added] = entries_.emplace(name, Entry{&tensor});
    if (!added) {
      fail("the tensors ", quote(place->second.tensor->name), " and ", quote(tensor.name), " are both taken for ",
           quote(name), ": remove one of them");
    }
  }
}

const Tensor* TensorTable::find(std::string_view name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : found->second.tensor;
}

const Tensor* TensorTable::use(std::string_view name) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return nullptr;
  found->second.used = true;
  return found->second.tensor;
}

const Tensor& TensorTable::need(std::string_view name) {
  const Tensor* tensor = use(name);
  if (tensor == nullptr) fail("the tensor ", quote(name), " is missing: the checkpoint is incomplete");
  return *tensor;
}

bool TensorTable::any(std::string_view pattern) const {
  // Only names that begin with the pattern's text before its first star are compared, because dialects call this
  // function for every layer and head.
  const std::string_view prefix = pattern.substr(0, pattern.find('*'));
  for (auto entry = entries_.lower_bound(prefix); entry != entries_.end() && entry->first.starts_with(prefix);
       ++entry) {
    budget_.charge_steps(1);
    if (matches(entry->first, pattern)) return true;
  }
  return false;
}

std::vector<std::string> TensorTable::names(std::string_view prefix) const {
  std::vector<std::string> names;
  for (auto entry = entries_.lower_bound(prefix); entry != entries_.end() && entry->first.starts_with(prefix);
       ++entry) {
    budget_.charge_steps(1);
    names.push_back(entry->first);
  }
  return names;
}

void TensorTable::report_or_reject_unused(std::span<const NamePattern> patterns, const char* model,
                                          Report& report) const {
  std::vector<std::string> unknown;
  for (const auto& [name, entry] : entries_) {
    budget_.charge_steps(1);
    if (entry.used) continue;
    auto known = patterns.begin();
    while (known != patterns.end() && !matches(name, known->pattern)) ++known;
    if (known == patterns.end()) {
      unknown.push_back(entry.tensor->name);
    } else {
      report.left_out.push_back({entry.tensor->name, known->reason});
    }
  }
  if (unknown.empty()) return;
  fail(unknown.size() == 1 ? "the tensor " : "the tensors ", list_names(unknown, 8),
       unknown.size() == 1 ? " is" : " are", " not part of ", model,
       ": leaving them out could change the answers, so nothing was converted");
}

std::string list_names(const std::vector<std::string>& names, size_t shown) {
  std::string list;
  for (size_t i = 0; i < std::min(shown, names.size()); ++i) list += (i ? ", " : "") + quote(names[i]);
  if (names.size() > shown) list += " and " + std::to_string(names.size() - shown) + " more";
  return list;
}

}  // namespace linformer::convert
