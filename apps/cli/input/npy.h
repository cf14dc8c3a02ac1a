// Reads NumPy's .npy files of the formats 1.0 to 3.0 and writes the format 1.0, little-endian and in C order. Token ids
// and floats are read; floats are written.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "input/bytes/byte_source.h"
#include "input_files/mapped_file.h"

namespace linformer::cli {

// The contents of a header. Sizes in it are not trusted: no memory is allocated for elements before they are read.
struct NpyHeader {
  char kind = 0;  // 'i' for integers or 'f' for floats.
  int element_bytes = 0;
  std::vector<int64_t> shape;
  size_t bytes = 0;  // The size of the header, before the first element.
};

// Reads an array of int32 or int64 [rows, columns] row by row.
class NpyIdReader {
 public:
  // Throws DataError if the header doesn't describe such an array, or doesn't match the file's size if that is known.
  explicit NpyIdReader(ByteSource* source);
  int64_t rows() const { return header_.shape[0]; }
  int64_t columns() const { return header_.shape[1]; }
  // Reads the next row. Returns false after the last one. Throws DataError if bytes are missing or left over.
  bool next(std::vector<int64_t>* row);

 private:
  ByteSource* source_;
  NpyHeader header_;
  int64_t rows_read_ = 0;
};

// Reads vectors from an array of float32 or float64 [n, width] or [batch, n, width], an item [n, width] at a time.
class NpyVectorReader {
 public:
  // Throws DataError if the header doesn't describe such an array, or doesn't match the file's size if that is known.
  NpyVectorReader(ByteSource* source, int64_t width);
  int64_t items() const { return items_; }
  // Returns the number of vectors in each item.
  int64_t vectors() const { return vectors_; }
  // Reads the next item. Returns false after the last one. Throws DataError if bytes are missing or left over.
  bool next(std::vector<float>* values);

 private:
  ByteSource* source_;
  NpyHeader header_;
  int64_t items_ = 0, vectors_ = 0, width_, items_read_ = 0;
};

// Reads an array of float32 or float64 [rows, columns] row by row.
class NpyRowReader {
 public:
  // Throws DataError if the header doesn't describe such an array, or doesn't match the file's size if that is known.
  explicit NpyRowReader(ByteSource* source);
  int64_t rows() const { return header_.shape[0]; }
  int64_t columns() const { return header_.shape[1]; }
  const NpyHeader& header() const { return header_; }
  // Reads the next row. Returns false after the last one. Throws DataError if bytes are missing or left over.
  bool next(std::vector<float>* row);

 private:
  ByteSource* source_;
  NpyHeader header_;
  int64_t rows_read_ = 0;
};

// All rows of a float32 or float64 array [rows, columns], as float32. A regular file of float32 is mapped, so that it
// can be larger than memory, unless the user gave --no-mmap.
class NpyRows {
 public:
  // Throws DataError if the file at `path` has no such array, or can't be read.
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

// Throws DataError if each item of `reader` has more than `limit` vectors. Call it before items are read.
void check_vector_count(const NpyVectorReader& reader, int64_t limit);

// The first byte of every npy file; no text in UTF-8, such as JSON, begins with it.
inline constexpr int npy_first_byte = 0x93;

// Returns the header of a float32 array. Its length doesn't depend on the sizes of the dimensions, so that a header can
// be replaced when they are known.
std::string npy_float_header(std::span<const int64_t> shape);

}  // namespace linformer::cli
