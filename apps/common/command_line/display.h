// Formats aligned tables and numbers for people to read. Callers pass text from outside the program through
// terminal/shown_text.h first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "system/terminal.h"
#include "terminal/shown_text.h"

namespace linformer::cli {

using system::terminal_width;
using terminal::display_width;
using terminal::excerpt;
using terminal::excerpt_of_end;
using terminal::json_text;
using terminal::printable_text;
using terminal::shows_colors;
using terminal::uncut;

// Returns `text` padded with spaces to `width` columns. The spaces follow the text, or precede it if it is a `number`.
std::string padded(std::string_view text, int width, bool number = false);

// A table of text. Each column is as wide as its widest cell and aligned to the left, or to the right if `numbers` is
// true for it.
class Table {
 public:
  // `columns` are the headings. If all of them are empty strings, no header line is printed.
  Table(std::vector<std::string> columns, std::vector<bool> numbers);
  void add(std::vector<std::string> cells);
  std::string text(int indent = 0) const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> numbers_;
};

// Returns `name` with spaces in place of underscores, such as "mean over max tokens".
std::string underscores_to_spaces(std::string name);
// Returns the number with a comma after each group of three digits, such as "12,345,678".
std::string grouped(uint64_t value);
// Returns a size such as "1.5 MiB". Sizes below 1 KiB are shown in whole bytes.
std::string byte_size(uint64_t bytes);
// Returns `value` with exactly `places` decimal places, or "-" if it is NaN.
std::string fixed(double value, int places);
// Returns `value` with at most `digits` significant digits and without trailing zeros, or "-" if it is NaN.
std::string significant(double value, int digits);
// Returns the shortest decimal that parses to the same float, or "-" if `value` is NaN.
std::string shortest_text(float value);
// Returns the double that is nearest to the text of shortest_text(value). JSON then shows the same digits.
double double_of_shortest_text(float value);

}  // namespace linformer::cli
