// Compares ops of different layers, so that ops that do the same are shown once.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linformer/session.h"

namespace linformer::cli {

// Returns the layer that an op belongs to, or -1 if it belongs to none. For "layer 3" and "layer 3's rows" it is 3.
int layer_of(const ProgramLine& line);
// Returns the text that describes the operands of both ops. Numbers in names that differ become "*". Returns nullopt if
// the texts differ in anything else. For example, "x[4, 8] * layers.1.fc1[8, 8]" and "x[4, 8] * layers.2.fc1[8, 8]"
// give "x[4, 8] * layers.*.fc1[8, 8]".
std::optional<std::string> common_operands(std::string_view a, std::string_view b);
// Returns whether two lines are the same op on the same shapes, if their layers are ignored.
bool is_same_op(const ProgramLine& a, const ProgramLine& b);
// Returns a text such as "0", "0 and 2", "1 to 11" or "0 to 2, 4 to 6". `numbers` must be in ascending order.
std::string ranges_text(const std::vector<int>& numbers);

}  // namespace linformer::cli
