// What bytes are that are no text: archives, tables, models, images, by how they begin.
#pragma once

#include <string>
#include <string_view>

namespace linformer::cli {

// What a file that begins with `start` is, and what to do instead of reading it as text: "an Excel workbook (xlsx);
// save it as CSV". Empty where nothing is recognised. A zip archive is named by the entries that `start` shows.
std::string file_kind(std::string_view start);

// The same for bytes with a NUL in them that file_kind() doesn't know; `at` is its offset.
std::string binary_kind(std::string_view start, size_t at);

inline constexpr std::string_view model_magic = "\x89LNFR\r\n\x1a";
inline constexpr std::string_view npy_magic = "\x93NUMPY";
inline constexpr std::string_view gzip_magic = "\x1F\x8B";
inline constexpr std::string_view zip_magic = "PK\x03\x04";

}  // namespace linformer::cli
