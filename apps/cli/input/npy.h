// NumPy's .npy files: token ids in, float arrays out. Format 1.0 to 3.0, little-endian, C order.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "input/bytes/byte_source.h"
#include "input_files/mapped_file.h"

namespace linformer::cli {

// What a header says. Nothing is allocated on its word.
struct NpyHeader {
  char kind = 0;  // 'i' or 'f'
  int element_bytes = 0;
  std::vector<int64_t> shape;
  size_t bytes = 0;  // of the header, before the first element
};

// Reads int32 or int64 [rows, columns] row by row.
class NpyIdReader {
 public:
  // Throws DataError unless the header describes such an array and, for a regular file, its size matches.
  explicit NpyIdReader(ByteSource* source);
  int64_t rows() const { return header_.shape[0]; }
  int64_t columns() const { return header_.shape[1]; }
  // The next row; false after the last. Throws DataError when bytes are missing or left over.
  bool next(std::vector<int64_t>* row);

 private:
  ByteSource* source_;
  NpyHeader header_;
  int64_t rows_read_ = 0;
};

// Reads vectors, float32 or float64 [n, width] or [batch, n, width], an [n, width] at a time.
class NpyVectorReader {
 public:
  // Throws DataError unless the header describes such an array and, for a regular file, its size matches.
  NpyVectorReader(ByteSource* source, int64_t width);
  int64_t items() const { return items_; }
  int64_t vectors() const { return vectors_; }  // in each item
  // As NpyIdReader::next().
  bool next(std::vector<float>* values);

 private:
  ByteSource* source_;
  NpyHeader header_;
  int64_t items_ = 0, vectors_ = 0, width_, items_read_ = 0;
};

// Reads float32 or float64 [rows, columns] row by row.
class NpyRowReader {
 public:
  // As NpyIdReader's.
  explicit NpyRowReader(ByteSource* source);
  int64_t rows() const { return header_.shape[0]; }
  int64_t columns() const { return header_.shape[1]; }
  const NpyHeader& header() const { return header_; }
  bool next(std::vector<float>* row);

 private:
  ByteSource* source_;
  NpyHeader header_;
  int64_t rows_read_ = 0;
};

// All rows of a float32 or float64 array [rows, columns], as float32. A regular file of float32 is mapped, so that it
// may be of any size, unless --no-mmap says that files are read.
class NpyRows {
 public:
  // As NpyIdReader's.
  explicit NpyRows(const std::string& path);
  std::span<const float> values() const { return values_; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }

 private:
  std::unique_ptr<files::MappedFile> file_;
  std::vector<float> read_;
  std::span<const float> values_;
  int64_t rows_ = 0, columns_ = 0;
};

// Throws DataError where the items of `reader` have more vectors than `limit`, before any is read.
void check_vector_count(const NpyVectorReader& reader, int64_t limit);

// The first byte of every npy file; no JSON or text begins with it.
inline constexpr int npy_first_byte = 0x93;

// The header of a float32 array; its length depends only on the number of dimensions, so that it can be rewritten.
std::string npy_float_header(std::span<const int64_t> shape);

}  // namespace linformer::cli
