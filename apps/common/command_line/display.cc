#include "command_line/display.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace linformer::cli {

std::string padded(std::string_view text, int width, bool number) {
  const std::string fill(static_cast<size_t>(std::max(0, width - display_width(text))), ' ');
  return number ? fill + std::string(text) : std::string(text) + fill;
}

std::string underscores_to_spaces(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
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
  // The number of characters of the largest double without decimal places: its digits, a sign and the decimal point.
  constexpr size_t longest = std::numeric_limits<double>::max_exponent10 + 3;
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

double double_of_shortest_text(float value) {
  if (!std::isfinite(value)) return value;
  const std::string text = shortest_text(value);
  double result = value;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

}  // namespace linformer::cli
