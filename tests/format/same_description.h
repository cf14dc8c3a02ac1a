#pragma once

#include <string>

#include "base/description.h"

namespace linformer_test {

// Returns the name of the first field in which the two descriptions differ, or "" if they are equal.
std::string differing_field(const linformer::ModelDescription& a, const linformer::ModelDescription& b);

}  // namespace linformer_test
