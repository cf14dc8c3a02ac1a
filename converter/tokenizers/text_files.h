// Bounded reading of text and JSON files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "converter/readers/budget.h"

namespace linformer::convert {

inline constexpr uint64_t max_tokenizer_file_bytes = 128u << 20;

// The whole file, admitted to the budget. Throws Error when it cannot be read or is larger than the limit.
std::string read_text_file(const std::string& path, Budget* budget);

// Lines without their ends (\n or \r\n), one after the other; the end of the text does not begin another line.
class Lines {
 public:
  // A view of `text`, which must outlive the lines.
  explicit Lines(std::string_view text) : rest_(text) {}
  bool next(std::string_view* line);

 private:
  std::string_view rest_;
};

// The same of a JSON file, whose tree is charged to the budget. Throws Error beyond max_depth (readers/value.h) levels.
nlohmann::json read_json_file(const std::string& path, Budget* budget);

}  // namespace linformer::convert
