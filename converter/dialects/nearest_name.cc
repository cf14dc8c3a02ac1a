#include "converter/dialects/nearest_name.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace linformer::convert {

namespace {

constexpr size_t longest_name = 64;  // bytes; names of settings have fewer
constexpr size_t most_changes = 2;

char lower(char character) {
  return character >= 'A' && character <= 'Z' ? static_cast<char>(character - 'A' + 'a') : character;
}

// But for what writers of settings leave to taste: heads-count, Heads_Count, headsCount.
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

// Characters to insert, remove, replace or swap with their neighbour; most_changes + 1 stands for any more. Both at
// most `longest_name` long. Only places that so few changes can lead to are looked at: time is linear in the names.
size_t changes_between(std::string_view a, std::string_view b) {
  constexpr size_t more = most_changes + 1;
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > most_changes) return more;
  std::array<std::array<uint8_t, longest_name + 2>, 3> rows;
  for (auto& row : rows) row.fill(uint8_t{more});
  for (size_t j = 0; j <= most_changes; ++j) rows[0][j] = static_cast<uint8_t>(j);
  size_t least_before = 0;
  for (size_t i = 1; i <= a.size(); ++i) {
    auto &row = rows[i % 3], &last = rows[(i + 2) % 3], &before_last = rows[(i + 1) % 3];
    const size_t first = i > most_changes ? i - most_changes : 1, end = std::min(b.size(), i + most_changes);
    row[first - 1] = static_cast<uint8_t>(first == 1 ? i : more);
    for (size_t j = first; j <= end; ++j) {
      int changes = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) changes = std::min(changes, before_last[j - 2] + 1);
      row[j] = static_cast<uint8_t>(changes);
    }
    row[end + 1] = more;
    const size_t least = *std::min_element(row.begin() + static_cast<std::ptrdiff_t>(first) - 1,
                                           row.begin() + static_cast<std::ptrdiff_t>(end) + 1);
    if (least > most_changes && least_before > most_changes) return more;
    least_before = least;
  }
  return std::min<size_t>(rows[a.size() % 3][b.size()], more);
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
