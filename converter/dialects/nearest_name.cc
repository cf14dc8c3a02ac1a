#include "converter/dialects/nearest_name.h"

#include <algorithm>
#include <cstddef>

#include "linformer/edit_distance.h"

namespace linformer::convert {

namespace {

char lower(char character) {
  return character >= 'A' && character <= 'Z' ? static_cast<char>(character - 'A' + 'a') : character;
}

// Returns whether two names differ at most in case, hyphens and underscores, as heads-count, Heads_Count and headsCount
// do.
bool same_letters(std::string_view a, std::string_view b) {
  const auto skip = [](std::string_view name, size_t at) {
    while (at < name.size() && (name[at] == '-' || name[at] == '_')) ++at;
    return at;
  };
  size_t i = skip(a, 0), j = skip(b, 0);
  while (i < a.size() && j < b.size() && lower(a[i]) == lower(b[j])) {
    i = skip(a, i + 1);
    j = skip(b, j + 1);
  }
  return i == a.size() && j == b.size();
}

}  // namespace

std::string nearest_name(std::string_view name, const std::set<std::string, std::less<>>& known) {
  std::string nearest;
  size_t fewest = most_changes + 1;
  if (name.size() > longest_name) return nearest;
  for (const std::string& other : known) {
    if (other.size() > longest_name) continue;
    const size_t changes = same_letters(name, other) ? 0 : changes_between(name, other);
    if (changes < fewest && 2 * changes < std::min(name.size(), other.size())) {
      nearest = other;
      fewest = changes;
    }
  }
  return nearest;
}

}  // namespace linformer::convert
