#include "display.h"

#include <sys/ioctl.h>
#include <utf8proc.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace linformer::cli {
namespace {

constexpr std::string_view ellipsis = "\xE2\x80\xA6";
constexpr std::string_view replacement = "\xEF\xBF\xBD";

// The code point at the start of `text` and its length in bytes; -1 where it is no UTF-8.
std::pair<utf8proc_int32_t, size_t> first_code_point(std::string_view text) {
  utf8proc_int32_t code = -1;
  const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                       static_cast<utf8proc_ssize_t>(std::min<size_t>(text.size(), 4)), &code);
  return length > 0 ? std::pair{code, static_cast<size_t>(length)} : std::pair{utf8proc_int32_t{-1}, size_t{1}};
}

// Most text is ASCII, which needs no tables.
bool graphic_ascii(utf8proc_int32_t code) { return code > ' ' && code < 0x7f; }

int columns(utf8proc_int32_t code) { return graphic_ascii(code) ? 1 : std::max(0, utf8proc_charwidth(code)); }

// Separators, controls, and the format characters that reorder or hide text.
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

}  // namespace

std::string excerpt(std::string_view text, int max_width) {
  std::string shown;
  size_t fitting = 0;  // bytes of it that may stay in front of an ellipsis
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

int display_width(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const auto [code, length] = first_code_point(text);
    width += code < 0 ? 1 : columns(code);
    text.remove_prefix(length);
  }
  return width;
}

std::string padded(std::string_view text, int width, bool number) {
  const std::string fill(static_cast<size_t>(std::max(0, width - display_width(text))), ' ');
  return number ? fill + std::string(text) : std::string(text) + fill;
}

int terminal_width(int fd, int otherwise) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : otherwise;
}

Table::Table(std::vector<std::string> columns, std::vector<bool> numbers) : numbers_(std::move(numbers)) {
  if (std::any_of(columns.begin(), columns.end(), [](const std::string& name) { return !name.empty(); })) {
    rows_.push_back(std::move(columns));
  }
}

void Table::add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

std::string Table::text(int indent) const {
  std::vector<int> widths(numbers_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line(static_cast<size_t>(indent), ' ');
    for (size_t i = 0; i < row.size(); ++i) line += (i ? "  " : "") + padded(row[i], widths[i], numbers_[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

std::string grouped(uint64_t value) {
  std::string digits = std::to_string(value);
  for (size_t i = digits.size(); i > 3;) digits.insert(i -= 3, 1, ',');
  return digits;
}

std::string byte_size(uint64_t bytes) {
  constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return std::to_string(bytes) + " bytes";
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return fixed(value, 1) + " " + units[unit];
}

std::string fixed(double value, int places) {
  if (std::isnan(value)) return "-";
  constexpr size_t longest = std::numeric_limits<double>::max_exponent10 + 3;  // a sign, the digits, the point
  std::string text(longest + static_cast<size_t>(places), '\0');
  const auto written = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, places);
  text.resize(static_cast<size_t>(written.ptr - text.data()));
  return text;
}

std::string significant(double value, int digits) {
  if (std::isnan(value)) return "-";
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::general, digits).ptr};
}

std::string shortest_text(float value) {
  if (std::isnan(value)) return "-";
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

double shortest(float value) {
  if (!std::isfinite(value)) return value;
  const std::string text = shortest_text(value);
  double result = value;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

}  // namespace linformer::cli
