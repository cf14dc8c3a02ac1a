// Computes how much a mistyped name differs from a known one. The converter uses it for names of settings, and the
// programs for names of options.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace linformer::convert {

inline constexpr size_t longest_name = 64;  // In bytes. All known settings and options have shorter names.
inline constexpr size_t most_changes = 2;

// Returns how many characters must be inserted, removed, replaced or swapped with their neighbour to turn `a` into `b`,
// or most_changes + 1 if more than most_changes are needed. Each name must have at most `longest_name` bytes. Only the
// diagonal band of the table that most_changes changes can reach is computed, so the time is linear in the length.
inline size_t changes_between(std::string_view a, std::string_view b) {
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

}  // namespace linformer::convert
