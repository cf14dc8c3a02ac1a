// The members of a JSON object as they are written, for answers that repeat them.
#pragma once

#include <string>
#include <string_view>

#include "models/own_fields.h"

namespace linformer::cli {

// Fills `own` with the values that own->names name, or with all members of the object, of which there may be as many as
// a table may have fields. `line` is a JSON object that was read without an error. Returns what is missing, there twice
// or too much, or nothing.
std::string read_members(std::string_view line, OwnFields* own);
std::string read_all_members(std::string_view line, OwnFields* own);

}  // namespace linformer::cli
