// Bounded reading of text and JSON files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace linformer::convert {

inline constexpr uint64_t max_tokenizer_file_bytes = 128u << 20;

// The whole file. Throws Error when it cannot be read or is larger than the limit.
std::string read_text_file(const std::string& path);

// Lines without their ends (\n or \r\n); the end of the file does not begin another line.
std::vector<std::string_view> lines_of(const std::string& text);

nlohmann::json read_json_file(const std::string& path);

}  // namespace linformer::convert
