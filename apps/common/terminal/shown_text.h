// Makes text from outside safe to print. The results have no characters that move the cursor, end the line or change
// colours.
#pragma once

#include <string>
#include <string_view>

namespace linformer::terminal {

inline constexpr int uncut = 1 << 20;  // A width that no text exceeds in practice.

// Returns `text` with each run of control characters, format characters and white space replaced by one space, or
// removed at the start and the end, and invalid UTF-8 replaced by U+FFFD. A text that is wider than `max_width`
// terminal columns is cut to this width, with an ellipsis at the end.
std::string excerpt(std::string_view text, int max_width);
// Does the same as excerpt(), but cuts the start of a text that is too wide, because the end of a path names the file.
std::string excerpt_of_end(std::string_view text, int max_width);
// Does the same as excerpt() without cutting, for a text that is printed between other texts on a line. White space at
// the start or at the end of `text` becomes one space, while excerpt() removes it.
std::string printable_text(std::string_view text);
// Returns whether `fd` is a terminal that shows colours and the user allows them (NO_COLOR is empty or not set).
bool shows_colors(int fd);
// Returns the number of columns that `text` takes on a terminal.
int display_width(std::string_view text);

// Returns `json` with U+007F to U+009F, the control characters that JSON allows unescaped, as \u escapes. `json` must
// be well-formed JSON, in which these characters occur only inside strings.
std::string escape_controls(std::string json);
// Returns `json`, a value of nlohmann's library, as safe text. Invalid UTF-8 becomes U+FFFD. If `indent` is -1, the
// text is one line.
template <class Json>
std::string json_text(const Json& json, int indent = -1) {
  return escape_controls(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

}  // namespace linformer::terminal
