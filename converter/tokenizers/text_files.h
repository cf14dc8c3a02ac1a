// Reads text and JSON files of limited size.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "converter/readers/budget.h"

namespace linformer::convert {

inline constexpr uint64_t max_tokenizer_file_bytes = 128u << 20;

// Returns the content of a file, and admits its bytes to the budget. Throws Error if the file can't be read or is
// larger than max_tokenizer_file_bytes.
std::string read_text_file(const std::string& path, Budget* budget);

// Iterates over the lines of a text. A line feed at the end of the text does not begin another line.
class Lines {
 public:
  // `text` must outlive the lines.
  explicit Lines(std::string_view text) : rest_(text) {}
  // Sets `line` to the next line, without its end (\n or \r\n). Returns false if there is none.
  bool next(std::string_view* line);

 private:
  std::string_view rest_;
};

// Parses a JSON file of limited size and charges its tree to the budget. Throws Error if the file can't be read, is too
// large, is not JSON or is nested deeper than max_depth (readers/value.h) levels.
nlohmann::json read_json_file(const std::string& path, Budget* budget);

}  // namespace linformer::convert
