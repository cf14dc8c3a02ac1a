// Text from outside, fit to be printed: nothing in it can move the cursor, end the line or change colours.
#pragma once

#include <string>
#include <string_view>

namespace linformer::terminal {

inline constexpr int uncut = 1 << 20;  // columns: practically any width

// `text` with control characters and runs of white space as one space, invalid UTF-8 as U+FFFD, cut with an ellipsis to
// at most `max_width` terminal columns.
std::string excerpt(std::string_view text, int max_width);
// The columns that `text`, valid UTF-8, takes on a terminal.
int display_width(std::string_view text);

// JSON text with the control characters that JSON lets stand as they are, U+007F to U+009F, as \u escapes. `json` is
// well-formed JSON, so that they are inside strings.
std::string escape_controls(std::string json);
// `json`, a value of nlohmann's, as text; invalid UTF-8 becomes U+FFFD. `indent` -1: in one line.
template <class Json>
std::string json_text(const Json& json, int indent = -1) {
  return escape_controls(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

}  // namespace linformer::terminal
