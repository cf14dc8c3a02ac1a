// Reads the uncompressed .npz files of the golden data. The files must be trusted; malformed ones throw.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace linformer_test {

struct NpyArray {
  std::string dtype;  // "<f8", "<f4", "<i8", ...
  std::vector<int64_t> shape;
  std::string bytes;

  int64_t size() const {
    int64_t count = 1;
    for (int64_t extent : shape) count *= extent;
    return count;
  }
  // Returns the values as T, which must be the stored type.
  template <class T>
  std::vector<T> values() const {
    if (bytes.size() != static_cast<size_t>(size()) * sizeof(T))
      throw std::runtime_error("npy: the elements are not of the requested type but of " + dtype);
    std::vector<T> result(static_cast<size_t>(size()));
    std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
  }
};

inline NpyArray parse_npy(const std::string& file) {
  if (file.compare(0, 6, "\x93NUMPY") != 0)
    throw std::runtime_error("npy: the file doesn't begin with NumPy's signature");
  const size_t length_bytes = file[6] == 1 ? 2 : 4;
  uint32_t header_length = 0;
  std::memcpy(&header_length, file.data() + 8, length_bytes);
  const size_t data = 8 + length_bytes + header_length;
  const std::string header = file.substr(8 + length_bytes, header_length);
  NpyArray array;
  const size_t descr = header.find("'", header.find("'descr':") + 8) + 1;
  array.dtype = header.substr(descr, header.find("'", descr) - descr);
  if (header.find("'fortran_order': False") == std::string::npos)
    throw std::runtime_error("npy: the array is in Fortran order, not in C order");
  size_t at = header.find("(", header.find("'shape':")) + 1;
  while (header[at] != ')') {
    size_t used = 0;
    array.shape.push_back(std::stoll(header.substr(at), &used));
    at += used;
    while (header[at] == ',' || header[at] == ' ') ++at;
  }
  array.bytes = file.substr(data);
  return array;
}

inline std::string read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Returns the arrays by the names of their entries, without ".npy".
inline std::map<std::string, NpyArray> read_npz(const std::string& path) {
  const std::string file = read_file(path);
  const auto number = [&](size_t at, size_t bytes) {
    uint32_t value = 0;
    std::memcpy(&value, file.data() + at, bytes);
    return value;
  };
  const size_t end = file.rfind("PK\x05\x06");
  if (end == std::string::npos) throw std::runtime_error("npz: there is no zip directory in " + path);
  std::map<std::string, NpyArray> arrays;
  size_t at = number(end + 16, 4);
  for (uint32_t i = 0, count = number(end + 10, 2); i < count; ++i) {
    const uint32_t size = number(at + 24, 4), name_length = number(at + 28, 2), local = number(at + 42, 4);
    const std::string name = file.substr(at + 46, name_length);
    const size_t data = local + 30 + number(local + 26, 2) + number(local + 28, 2);
    if (number(at + 10, 2) != 0) throw std::runtime_error("npz: there is a compressed entry in " + path);
    arrays[name.substr(0, name.size() - 4)] = parse_npy(file.substr(data, size));
    at += 46 + name_length + number(at + 30, 2) + number(at + 32, 2);
  }
  return arrays;
}

}  // namespace linformer_test
