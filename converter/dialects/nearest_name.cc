#include "converter/dialects/nearest_name.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace linformer::convert {

namespace {

constexpr size_t longest_name = 64;  // bytes; names of settings have fewer
constexpr size_t most_changes = 2;

// Without what writers of settings leave to taste: heads-count, Heads_Count, headsCount.
std::string letters_of(std::string_view name) {
  std::string letters;
  for (const char character : name) {
    if (character == '-' || character == '_') continue;
    letters += character >= 'A' && character <= 'Z' ? static_cast<char>(character - 'A' + 'a') : character;
  }
  return letters;
}

// Characters to insert, remove, replace or swap with their neighbour. Both at most `longest_name` long.
size_t changes_between(std::string_view a, std::string_view b) {
  using Row = std::array<size_t, longest_name + 1>;
  Row before_last{}, last{}, row{};
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view name, const std::set<std::string, std::less<>>& known) {
  std::string nearest;
  size_t fewest = most_changes + 1;
  if (name.size() > longest_name) return nearest;
  const std::string letters = letters_of(name);
  for (const std::string& other : known) {
    if (other.size() > longest_name) continue;
    const size_t changes = letters == letters_of(other) ? 0 : changes_between(name, other);
    if (changes < fewest && 2 * changes < std::min(name.size(), other.size())) {
      nearest = other;
      fewest = changes;
    }
  }
  return nearest;
}

}  // namespace linformer::convert
