// Writes and reads npy files for the tests.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/npz.h"

namespace linformer_test {

using Shape = std::vector<int64_t>;

inline std::string npy_bytes(const std::string& type, const Shape& shape, const std::string& data) {
  std::string extents;
  for (const int64_t extent : shape) extents += std::to_string(extent) + ", ";
  const std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + extents + "), }\n";
  std::string file = std::string("\x93NUMPY\x01", 7) + std::string(1, '\0');
  file += static_cast<char>(header.size());
  file += '\0';
  return file + header + data;
}

inline std::string npy_of_ids(const std::vector<std::vector<int64_t>>& rows, bool narrow = false) {
  std::string data;
  for (const auto& row : rows) {
    for (const int64_t id : row) data.append(reinterpret_cast<const char*>(&id), narrow ? 4 : 8);
  }
  const int64_t columns = rows.empty() ? 1 : static_cast<int64_t>(rows[0].size());
  return npy_bytes(narrow ? "<i4" : "<i8", {static_cast<int64_t>(rows.size()), columns}, data);
}

template <class T>
std::string npy_of_floats(const Shape& shape, const std::vector<T>& values) {
  return npy_bytes(sizeof(T) == 8 ? "<f8" : "<f4", shape,
                   std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
}

struct FloatArray {
  Shape shape;
  std::vector<float> values;
  // Returns the vector number `r` along the last dimension.
  std::vector<float> row(size_t r) const {
    const size_t width = static_cast<size_t>(shape.back());
    return {values.begin() + static_cast<ptrdiff_t>(r * width),
            values.begin() + static_cast<ptrdiff_t>((r + 1) * width)};
  }
};

inline FloatArray parse_float_npy(const std::string& bytes) {
  const NpyArray array = parse_npy(bytes);
  CHECK(array.dtype == "<f4");
  if (array.bytes.empty()) return {array.shape, {}};
  return {array.shape, array.values<float>()};
}

}  // namespace linformer_test
