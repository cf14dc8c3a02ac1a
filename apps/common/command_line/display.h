// Aligned tables and numbers for people to read. Text from outside passes through terminal/shown_text.h.
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
using terminal::excerpt_of_part;
using terminal::json_text;
using terminal::shows_colors;
using terminal::uncut;

// `text` filled with spaces to `width` columns, at the right or, for numbers, at the left.
std::string padded(std::string_view text, int width, bool number = false);

// Rows of cells, aligned by their widest; a column of `numbers` is aligned to the right.
class Table {
 public:
  // `columns` may be empty strings: then no header line is printed.
  Table(std::vector<std::string> columns, std::vector<bool> numbers);
  void add(std::vector<std::string> cells);
  std::string text(int indent = 0) const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> numbers_;
};

// A name of the library's in words: "mean over max tokens".
std::string words_of(std::string name);
// 12,345,678
std::string grouped(uint64_t value);
// 1.5 MiB; whole bytes below 1 KiB
std::string byte_size(uint64_t bytes);
// Decimal places always shown; "-" for a number that isn't defined.
std::string fixed(double value, int places);
// So many digits at most, none of them a zero at the end; "-" for a number that isn't defined.
std::string significant(double value, int digits);
// The shortest decimal that reads back as the same float; "-" for a number that isn't defined.
std::string shortest_text(float value);
// The same as a double, for JSON.
double shortest(float value);

}  // namespace linformer::cli
