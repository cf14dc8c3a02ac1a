// Reads the members of a JSON object as unparsed text, for answers that repeat them.
#pragma once

#include <string>
#include <string_view>

#include "models/own_fields.h"

namespace linformer::cli {

// Fill `own` from `line`, a JSON object that was parsed before without an error. read_members() reads the values of the
// members in own->names. read_all_members() reads all members, at most max_fields of table_rows.h. They return an error
// message if a member is missing or occurs twice, or if there are too many; otherwise an empty string.
std::string read_members(std::string_view line, OwnFields* own);
std::string read_all_members(std::string_view line, OwnFields* own);

}  // namespace linformer::cli
