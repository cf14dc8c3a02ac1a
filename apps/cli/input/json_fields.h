// Reads named fields of a JSON object in one line, without building values for the object's other fields.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace linformer::cli {

struct JsonField {
  std::string name;
  nlohmann::json value = nlohmann::json::value_t::discarded;  // Still discarded if the object lacks the field.
  std::string written = {};  // The text of a number that is not a 64-bit integer, unchanged.
  // The greatest number of entries of an array. One more entry is kept, which shows that there are too many. If 0, an
  // array is kept empty.
  size_t max_entries = 0;
  // If an entry of an array is an object, only its members with these names are kept, and only if they are scalars. If
  // `members` is empty, an object is kept as null. An array inside the array is always kept as null.
  std::vector<std::string> members = {};
  std::string inner = {};  // If the value is an object with a member of this name, the member's value is taken.
};

// Fills `fields` from the top level of the object in `line`. An object or array is stored as an empty one, unless
// `inner`, `max_entries` or `members` of JsonField select parts of it. Returns an error message, or an empty string.
// Memory is bounded by the length of the line, whatever its nesting.
std::string read_json_fields(std::string_view line, std::vector<JsonField>* fields);

// Reads a flat array of integers. Returns an error message, or an empty string.
std::string read_json_integers(std::string_view line, std::vector<int64_t>* values);

}  // namespace linformer::cli
