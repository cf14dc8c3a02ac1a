// Picks named fields out of one line of JSON without building the rest.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace linformer::cli {

struct JsonField {
  std::string name;
  nlohmann::json value = nlohmann::json::value_t::discarded;  // discarded: the object lacks it
  std::string written = {};  // a number that is no 64-bit integer, as it stands in the line
  size_t max_entries = 0;    // of an array of scalars, which is kept with one more at most; 0: it is kept empty
  // Of an entry that is an object, these members are kept where they are scalars. Other entries that are no scalars are
  // kept as null.
  std::vector<std::string> members = {};
  std::string inner = {};  // where the value is an object with this member, that one stands for it
};

// Fills `fields` from the top level of the object in `line`; objects are kept empty, and so are arrays
// but for those that are asked for. Returns what is wrong with the line, or nothing. Memory is bounded by the line
// whatever it nests.
std::string read_json_fields(std::string_view line, std::vector<JsonField>* fields);

// Reads a flat array of integers. Returns what is wrong with the line, or nothing.
std::string read_json_integers(std::string_view line, std::vector<int64_t>* values);

}  // namespace linformer::cli
