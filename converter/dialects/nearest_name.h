// What a mistyped name may have meant.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace linformer::convert {

// The name of `known` that `name` is a likely misspelling of: the same but for case, - and _, or one or two characters
// more, less, exchanged or swapped with the next, which must be less than half of either name. Empty: none is.
std::string nearest_name(std::string_view name, const std::set<std::string, std::less<>>& known);

}  // namespace linformer::convert
