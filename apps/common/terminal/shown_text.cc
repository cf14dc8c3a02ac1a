#include "terminal/shown_text.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "system/terminal.h"

namespace linformer::terminal {
namespace {

constexpr std::string_view ellipsis = "\xE2\x80\xA6";
constexpr std::string_view replacement = "\xEF\xBF\xBD";

// Returns the first code point of `text` and its length in bytes. If it is invalid UTF-8, returns -1 and the length 1.
std::pair<utf8proc_int32_t, size_t> first_code_point(std::string_view text) {
  utf8proc_int32_t code = -1;
  const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                       static_cast<utf8proc_ssize_t>(std::min<size_t>(text.size(), 4)), &code);
  return length > 0 ? std::pair{code, static_cast<size_t>(length)} : std::pair{utf8proc_int32_t{-1}, size_t{1}};
}

// Returns whether the code point is a visible ASCII character. Most text is ASCII, and this test is faster than the
// tables of utf8proc.
bool graphic_ascii(utf8proc_int32_t code) { return code > ' ' && code < 0x7f; }

int columns(utf8proc_int32_t code) { return graphic_ascii(code) ? 1 : std::max(0, utf8proc_charwidth(code)); }

// Returns whether the code point is a separator, a control character, or a format character, which can reorder or hide
// text.
bool blank(utf8proc_int32_t code) {
  if (graphic_ascii(code)) return false;
  switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return true;
    default:
      return false;
  }
}

// Returns the number of bytes of the control character, U+007F to U+009F, at the start of `text`, or 0 if `text` starts
// with another character.
size_t control_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) == 0x7f) return 1;
  return text.size() > 1 && byte(0) == 0xc2 && byte(1) >= 0x80 && byte(1) < 0xa0 ? 2 : 0;
}

}  // namespace

std::string excerpt(std::string_view text, int max_width) {
  std::string shown;
  size_t fitting = 0;  // The number of bytes of `shown` that fit in front of an ellipsis.
  int width = 0;
  bool space = false;
  while (!text.empty()) {
    const auto [code, length] = first_code_point(text);
    const std::string_view bytes = code < 0 ? replacement : text.substr(0, length);
    text.remove_prefix(length);
    if (code >= 0 && blank(code)) {
      space = !shown.empty();
      continue;
    }
    const int code_width = code < 0 ? 1 : columns(code);
    if (width + (space ? 1 : 0) + code_width > max_width) {
      shown.resize(fitting);
      return max_width > 0 ? shown + std::string(ellipsis) : std::string();
    }
    if (space) {
      shown += ' ';
      ++width;
      space = false;
    }
    shown += bytes;
    width += code_width;
    if (width < max_width) fitting = shown.size();
  }
  return shown;
}

std::string excerpt_of_end(std::string_view text, int max_width) {
  const std::string shown = excerpt(text, uncut);
  int width = display_width(shown);
  if (width <= max_width) return shown;
  std::string_view rest = shown;
  while (!rest.empty() && width >= max_width) {
    const auto [code, length] = first_code_point(rest);
    width -= columns(code);
    rest.remove_prefix(length);
  }
  return max_width > 0 ? std::string(ellipsis).append(rest) : std::string();
}

std::string printable_text(std::string_view text) {
  // excerpt() removes white space at both ends. The bars keep the white space at the ends of `text`.
  std::string between("|");
  between.append(text).append("|");
  const std::string shown = excerpt(between, std::numeric_limits<int>::max());
  return shown.substr(1, shown.size() - 2);
}

bool shows_colors(int fd) {
  if (!system::is_terminal(fd)) return false;
  const char* const unwanted = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return (unwanted == nullptr || *unwanted == '\0') && terminal != nullptr && std::string_view(terminal) != "dumb";
}

int display_width(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const auto [code, length] = first_code_point(text);
    width += code < 0 ? 1 : columns(code);
    text.remove_prefix(length);
  }
  return width;
}

std::string escape_controls(std::string json) {
  // Each character to escape begins with one of these two bytes. Most texts have none of them, and find() of one byte
  // is fast (memchr).
  size_t next = std::min(json.find('\x7f'), json.find('\xc2'));
  if (next == std::string::npos) return json;
  std::string escaped;
  size_t copied = 0;
  for (; next != std::string::npos; next = json.find_first_of("\x7f\xc2", next)) {
    const size_t bytes = control_bytes(std::string_view(json).substr(next));
    if (bytes == 0) {
      ++next;
      continue;
    }
    constexpr char digits[] = "0123456789abcdef";
    const auto code = static_cast<unsigned char>(json[next + bytes - 1]);
    escaped.append(json, copied, next - copied).append("\\u00");
    escaped += digits[code >> 4];
    escaped += digits[code & 15];
    copied = next += bytes;
  }
  return escaped.append(json, copied);
}

}  // namespace linformer::terminal
