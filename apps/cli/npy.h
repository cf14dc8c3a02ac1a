// NumPy's .npy files: token ids in, float arrays out. Format 1.0 to 3.0, little-endian, C order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "byte_source.h"
#include "output.h"

namespace linformer::cli {

// Reads an int32 or int64 array [rows, columns] row by row; nothing is allocated on the header's word.
class NpyIdReader {
 public:
  // Throws DataError unless the header describes such an array and, for a regular file, its size matches.
  explicit NpyIdReader(ByteSource* source);
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  // The next row; false after the last. Throws DataError when bytes are missing or left over.
  bool next(std::vector<int64_t>* row);

 private:
  ByteSource* source_;
  int64_t rows_ = 0, columns_ = 0, rows_read_ = 0;
  int element_bytes_ = 0;
};

// The first byte of every npy file; no JSON or text begins with it.
inline constexpr int npy_first_byte = 0x93;

// The header of a float32 array; its length depends only on the number of dimensions, so that it can be rewritten.
std::string npy_float_header(std::span<const int64_t> shape);

}  // namespace linformer::cli
