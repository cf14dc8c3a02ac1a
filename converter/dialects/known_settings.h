// The names of all settings that some dialect asks for.
#pragma once

#include <functional>
#include <set>
#include <string>

namespace linformer::convert {

// To tell a misspelt setting from one that only means nothing here. Tests compare it with what conversions ask for.
const std::set<std::string, std::less<>>& known_settings();

}  // namespace linformer::convert
