#include "input/npy.h"

#include <doctest/doctest.h>

#include <cstring>

#include "command_line/errors.h"
#include "sentiment_model.h"

namespace linformer_test::npy_test {

using namespace linformer::cli;

namespace {

std::string npy(const std::string& header, const std::string& data, int version = 1) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  const size_t length_bytes = version == 1 ? 2 : 4;
  for (size_t i = 0; i < length_bytes; ++i) file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return file + header + data;
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::vector<std::vector<int64_t>> read(const std::string& file) {
  const Folder folder;
  ByteSource source(folder.file("ids.npy", file));
  NpyIdReader reader(&source);
  std::vector<std::vector<int64_t>> rows;
  for (std::vector<int64_t> row; reader.next(&row);) rows.push_back(row);
  return rows;
}

const std::string header = "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 3), }\n";
const std::vector<int64_t> values = {1, -2, 3, 4, 5, INT64_MAX};

}  // namespace

TEST_CASE("npy: int64 and int32 are read in each format version") {
  const std::vector<std::vector<int64_t>> expected = {{1, -2, 3}, {4, 5, INT64_MAX}};
  for (const int version : {1, 2, 3}) CHECK(read(npy(header, bytes_of(values), version)) == expected);
  CHECK(read(npy("{\"shape\":(2,1),\"fortran_order\":False,\"descr\":\"<i4\"}", bytes_of<int32_t>({7, -8}))) ==
        std::vector<std::vector<int64_t>>{{7}, {-8}});
  CHECK(read(npy("{'descr': '<i8', 'fortran_order': False, 'shape': (0, 3), }", "")).empty());
}

TEST_CASE("npy: a row longer than the copy buffer is read") {
  std::vector<int64_t> wide(3000);
  for (size_t i = 0; i < wide.size(); ++i) wide[i] = static_cast<int64_t>(i);
  const auto rows = read(npy("{'descr': '<i8', 'fortran_order': False, 'shape': (1, 3000), }", bytes_of(wide)));
  CHECK(rows == std::vector<std::vector<int64_t>>{wide});
}

TEST_CASE("npy: hostile headers are errors") {
  const std::string data = bytes_of(values);
  for (const char* bad : {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }",
                          "{'descr': '>i8', 'fortran_order': False, 'shape': (2, 3), }",
                          "{'descr': '<i8', 'fortran_order': True, 'shape': (2, 3), }",
                          "{'descr': '<i8', 'fortran_order': False, 'shape': (6,), }",
                          "{'descr': '<i8', 'fortran_order': False, 'shape': (), }",
                          "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 2, 3), }",
                          "{'descr': '<i8', 'fortran_order': False, 'shape': (-2, -3), }",
                          "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 4), }",
                          "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 2), }",
                          "{'descr': '<i8', 'fortran_order': False, 'shape': (4611686018427387904, 4), }",
                          "{'descr': '<i8', 'fortran_order': False, 'shape': (99999999999999999999, 3), }",
                          "{'descr': '<i8', 'fortran_order': False, 'shape': (6, 0), }",
                          "{'descr': '<i8', 'shape': (2, 3), }",
                          "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 3), 'more': 1}",
                          "{'descr': '<i8', 'descr': '<i8', 'shape': (2, 3)}",
                          "{'descr': [('a', '<i8')], 'fortran_order': False, 'shape': (2, 3), }",
                          "",
                          "{",
                          "{'descr",
                          "__import__('os')"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(read(npy(bad, data)), DataError);
  }
  CHECK_THROWS_AS(read(npy(header, data, 4)), DataError);
  CHECK_THROWS_AS(read(npy(header + std::string(70000, ' '), data, 2)), DataError);
}

TEST_CASE("npy: a file that is cut at any byte or has bytes left over is refused") {
  const std::string file = npy(header, bytes_of(values));
  for (size_t size = 0; size < file.size(); ++size) {
    CAPTURE(size);
    CHECK_THROWS_AS(read(file.substr(0, size)), DataError);
  }
  CHECK_THROWS_AS(read(file + "x"), DataError);
}

TEST_CASE("npy: every bit flipped gives an error or an array of the same size") {
  const std::string file = npy(header, bytes_of(values));
  int errors = 0, arrays = 0;
  for (size_t bit = 0; bit < 8 * (file.size() - values.size() * 8); ++bit) {
    std::string flipped = file;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    try {
      size_t count = 0;
      for (const auto& row : read(flipped)) count += row.size();
      CHECK((count == 6 || count == 0 || count == 12));
      ++arrays;
    } catch (const DataError&) {
      ++errors;
    }
  }
  CHECK(errors > 300);
  MESSAGE("flipped npy headers: " << errors << " errors, " << arrays << " arrays");
}

TEST_CASE("npy: the length of the written header depends only on the number of dimensions") {
  const int64_t small[] = {0, 0, 1}, large[] = {INT64_MAX, INT64_MAX, INT64_MAX};
  const std::string a = npy_float_header(small), b = npy_float_header(large);
  CHECK(a.size() == 128);
  CHECK(b.size() == 128);
  CHECK(a.back() == '\n');
  CHECK(a.find("'shape': (0, 0, 1)") != std::string::npos);
}

}  // namespace linformer_test::npy_test
