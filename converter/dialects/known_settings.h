// The names of all settings that some dialect looks up.
#pragma once

#include <functional>
#include <set>
#include <string>

namespace linformer::convert {

// Returns the names of all settings that some dialect looks up. They tell a misspelt name from the name of a setting
// that means nothing for the model at hand. Tests compare them with the names that conversions look up.
const std::set<std::string, std::less<>>& known_settings();

}  // namespace linformer::convert
