#include "models/label_names.h"

#include <utf8proc.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "command_line/display.h"

namespace linformer::cli {
namespace {

// Returns the case-folded form of a word, which is the same for words that differ only in case. A word that is not
// valid UTF-8 is returned unchanged.
std::string folded(const std::string& word) {
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(word.data()), static_cast<utf8proc_ssize_t>(word.size()),
                   &made, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD));
  std::string result = length < 0 ? word : std::string(reinterpret_cast<char*>(made), static_cast<size_t>(length));
  std::free(made);
  return result;
}

std::optional<size_t> index_in(std::string_view digits, size_t count) {
  size_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc() || end != digits.data() + digits.size() || index >= count) return std::nullopt;
  return index;
}

// Returns the whole number of a word such as "1.0", or nullopt if the word is not a whole number from 0. Programs often
// write "1.0" for 1 in tables whose column had empty cells.
std::optional<std::string> whole_number(const std::string& word) {
  constexpr double exact = 1 << 30;
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  if (!(value >= 0 && value < exact) || value != std::floor(value)) return std::nullopt;
  return std::to_string(static_cast<uint64_t>(value));
}

}  // namespace

LabelNames::LabelNames(std::vector<std::string> names) : names_(std::move(names)) {
  for (size_t i = 0; i < names_.size(); ++i) {
    by_name_.emplace(names_[i], i);
    const auto [found, added] = by_folded_name_.emplace(folded(names_[i]), i);
    if (!added && names_[found->second] != names_[i]) found->second = several;
  }
}

std::optional<size_t> LabelNames::find(const std::string& word) const {
  if (const auto found = by_name_.find(word); found != by_name_.end()) return found->second;
  const std::string lower = folded(word);
  if (const auto found = by_folded_name_.find(lower); found != by_folded_name_.end() && found->second != several) {
    return found->second;
  }
  constexpr std::string_view usual = "label_";
  if (lower.starts_with(usual)) return index_in(std::string_view(lower).substr(usual.size()), size());
  const std::optional<std::string> whole = whole_number(word);
  return whole && *whole != word ? find(*whole) : index_in(word, size());
}

std::string LabelNames::unknown_label_message(const std::string& word) const {
  std::string sentence =
      "label '" + excerpt(word, 60) + "' is not one of this model's labels: " + list_of_labels(names_);
  const bool indices = names_.front() == "0";  // Labels without names are their indices.
  return indices || size() == 1 ? sentence : sentence + "; or an index from 0 to " + std::to_string(size() - 1);
}

std::optional<size_t> class_of(const std::vector<std::string>& labels, const std::string& name) {
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == name) return i;
  }
  size_t index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (error != std::errc() || end != name.data() + name.size() || index >= labels.size()) return std::nullopt;
  return index;
}

std::string list_of_labels(const std::vector<std::string>& names) {
  constexpr size_t shown = 10;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), shown); ++i) text += (i ? ", " : "") + names[i];
  if (names.size() > shown) text += ", ... (" + std::to_string(names.size()) + ")";
  return text;
}

}  // namespace linformer::cli
