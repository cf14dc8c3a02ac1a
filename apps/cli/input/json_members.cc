#include "input/json_members.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "input/table_rows.h"

namespace linformer::cli {
namespace {

// Iterates over the members of a JSON object that is known to be well-formed.
class Members {
 public:
  explicit Members(std::string_view line) : line_(line) {
    skip_space();
    ++at_;  // Skip the brace.
  }

  // Reads the next member. Returns false after the last one.
  bool next(std::string* name, std::string_view* value) {
    skip_space();
    if (line_[at_] == ',') ++at_;
    skip_space();
    if (line_[at_] == '}') return false;
    const size_t begin = at_;
    skip_string();
    *name = nlohmann::json::parse(line_.substr(begin, at_ - begin)).get<std::string>();
    skip_space();
    ++at_;  // Skip the colon.
    skip_space();
    *value = value_here();
    return true;
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
  void skip_space() {
    while (is_space(line_[at_])) ++at_;
  }
  void skip_string() {
    for (++at_; line_[at_] != '"'; ++at_) {
      if (line_[at_] == '\\') ++at_;
    }
    ++at_;
  }
  std::string_view value_here() {
    const size_t begin = at_;
    for (int depth = 0; depth > 0 || (line_[at_] != ',' && line_[at_] != '}');) {
      const char c = line_[at_];
      if (c == '"') {
        skip_string();
        continue;
      }
      depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
      ++at_;
    }
    size_t end = at_;
    while (is_space(line_[end - 1])) --end;
    return line_.substr(begin, end - begin);
  }

  std::string_view line_;
  size_t at_ = 0;
};

// Returns `value` without white space between its parts, so that it is on one line.
std::string in_one_line(std::string_view value) {
  std::string line;
  line.reserve(value.size());
  bool in_string = false, escaped = false;
  for (const char c : value) {
    if (!in_string && (c == ' ' || c == '\t' || c == '\r' || c == '\n')) continue;
    if (c == '"' && !escaped) in_string = !in_string;
    escaped = in_string && c == '\\' && !escaped;
    line += c;
  }
  return line;
}

std::string twice(const std::string& name) { return "field '" + name + "' occurs twice"; }

// Returns the names of the object's first members, for a message.
std::string names_of(std::string_view line) {
  constexpr size_t shown = 8;
  std::string list, name;
  std::string_view value;
  size_t count = 0;
  for (Members members(line); count < shown && members.next(&name, &value); ++count) {
    list += (count > 0 ? ", " : "") + name;
  }
  return list;
}

}  // namespace

std::string read_members(std::string_view line, OwnFields* own) {
  const std::vector<std::string>& names = *own->names;
  own->json = true;
  own->values.assign(names.size(), "");
  std::string name;
  std::string_view value;
  for (Members members(line); members.next(&name, &value);) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) continue;
    std::string& kept = own->values[static_cast<size_t>(found - names.begin())];
    if (!kept.empty()) return twice(name);
    kept = in_one_line(value);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (!own->values[i].empty()) continue;
    own->values.clear();
    return "no field '" + names[i] + "' for --keep (fields: " + names_of(line) + ")";
  }
  return {};
}

std::string read_all_members(std::string_view line, OwnFields* own) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  std::string name;
  std::string_view value;
  for (Members members(line); members.next(&name, &value);) {
    if (!seen.insert(name).second) return twice(name);
    if (names.size() == max_fields) return "more than " + std::to_string(max_fields) + " fields";
    names.push_back(name);
    own->values.push_back(in_one_line(value));
  }
  own->json = true;
  own->names = std::make_shared<const std::vector<std::string>>(std::move(names));
  return {};
}

}  // namespace linformer::cli
