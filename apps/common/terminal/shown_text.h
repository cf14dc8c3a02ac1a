// Makes text from outside safe to print: nothing in the result can move the cursor, end the line or change colours.
#pragma once

#include <string>
#include <string_view>

namespace linformer::terminal {

inline constexpr int uncut = 1 << 20;  // more columns than any text has in practice

// Returns `text` with each run of control characters and white space replaced by one space and invalid UTF-8 by U+FFFD,
// cut with an ellipsis to at most `max_width` terminal columns.
std::string excerpt(std::string_view text, int max_width);
// The same, but where `text` is wider its end is kept, as the name of a file behind its folders.
std::string excerpt_of_end(std::string_view text, int max_width);
// The same for a part of a line, uncut: where it begins or ends with white space, it has a space there.
std::string excerpt_of_part(std::string_view text);
// Whether the terminal behind `fd` shows colours, and its user wants them: NO_COLOR is empty or not set.
bool shows_colors(int fd);
// The columns that `text`, valid UTF-8, takes on a terminal.
int display_width(std::string_view text);

// Returns `json` with the control characters that JSON allows unescaped, U+007F to U+009F, as \u escapes. `json` must
// be well-formed, so that such characters are inside strings.
std::string escape_controls(std::string json);
// Returns `json`, a value of nlohmann's library, as text; invalid UTF-8 becomes U+FFFD. With `indent` -1 it is one
// line.
template <class Json>
std::string json_text(const Json& json, int indent = -1) {
  return escape_controls(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

}  // namespace linformer::terminal
