// The members of a JSON object as they are written, for answers that repeat them.
#pragma once

#include <string>
#include <string_view>

#include "models/own_fields.h"

namespace linformer::cli {

// Fills `own` from `line`, a JSON object that was parsed before without an error: read_members() with the values of the
// members in own->names, read_all_members() with all members, of which there may be as many as a table may have
// columns. Return an error sentence if a member is missing or occurs twice, or if there are too many; otherwise an
// empty string.
std::string read_members(std::string_view line, OwnFields* own);
std::string read_all_members(std::string_view line, OwnFields* own);

}  // namespace linformer::cli
