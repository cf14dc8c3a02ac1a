// Finds the known name that the user may have meant by a misspelt one.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace linformer::convert {

// Returns the name in `known` that `name` is a likely misspelling of, or an empty text if there is none. A misspelling
// differs only in case, '-' and '_', or in one or two characters that are inserted, removed, replaced or swapped with
// their neighbour. The number of these changes must be less than half of the length of the shorter name.
std::string nearest_name(std::string_view name, const std::set<std::string, std::less<>>& known);

}  // namespace linformer::convert
