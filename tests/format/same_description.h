#pragma once

#include <string>

#include "base/description.h"

namespace linformer_test {

// The name of the first field in which the two differ, empty when they are equal.
std::string difference(const linformer::ModelDescription& a, const linformer::ModelDescription& b);

}  // namespace linformer_test
