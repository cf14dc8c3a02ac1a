// Ops of different layers that do the same.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linformer/session.h"

namespace linformer::cli {

// The layer that an op belongs to; -1: none. "layer 3" and "layer 3's rows" are both 3.
int layer_of(const ProgramLine& line);
// What two operands' texts have in common: numbers in names that differ become "*"; nothing where the texts differ in
// more. "x[4, 8] * layers.1.fc1[8, 8]" and "x[4, 8] * layers.2.fc1[8, 8]" give "x[4, 8] * layers.*.fc1[8, 8]".
std::optional<std::string> common_operands(std::string_view a, std::string_view b);
// The same op on the same shapes, but for the layer.
bool alike(const ProgramLine& a, const ProgramLine& b);
// "0", "0 and 2", "1 to 11", "0 to 2, 4 to 6" for numbers in ascending order.
std::string ranges_text(const std::vector<int>& numbers);

}  // namespace linformer::cli
