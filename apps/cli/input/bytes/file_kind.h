// Recognises files that are not text (archives, tables, models, images) by their first bytes.
#pragma once

#include <string>
#include <string_view>

namespace linformer::cli {

// Returns what a file that begins with `start` is and what the user can do instead of reading it as text, such as "an
// Excel workbook (xlsx); save the sheet as CSV and give that file". Returns an empty string if the file is not
// recognised. The kind of a zip archive is told by the names of its entries in `start`.
std::string file_kind(std::string_view start);

// Returns the same for bytes that contain a NUL and that file_kind() doesn't recognise: UTF-16 without a byte order
// mark, or binary data. `nul_offset` is the offset of the NUL in the file.
std::string binary_kind(std::string_view start, size_t nul_offset);

inline constexpr std::string_view model_magic = "\x89LNFR\r\n\x1a";
inline constexpr std::string_view npy_magic = "\x93NUMPY";
inline constexpr std::string_view gzip_magic = "\x1F\x8B";
inline constexpr std::string_view zip_magic = "PK\x03\x04";

}  // namespace linformer::cli
