// The elements of a JSON array, one after the other, as they are written. Nothing is built: memory is that of one
// element, whatever the array's length and nesting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "command_line/errors.h"
#include "input/bytes/byte_source.h"

namespace linformer::cli {

class JsonArray {
 public:
  // `source` stands at the array's bracket, on line `line` (from 1), and must outlive this. An element of more than
  // `max_bytes` is skipped unstored.
  JsonArray(ByteSource* source, size_t max_bytes, uint64_t line);

  // The next element, which need not be JSON; false after the last. Sets `error` where it is missing or too long.
  // Throws DataError when the array has no end or something follows it; the elements before are good.
  bool next(std::string* element, std::string* error);
  // Of the last element: the line on which it begins, and its number from 1.
  uint64_t line() const { return line_; }
  uint64_t number() const { return number_; }

 private:
  void skip_space();
  bool read_element(std::string* element);
  DataError wrong(const std::string& what) const;

  ByteSource* source_;
  size_t max_bytes_;
  uint64_t line_, current_line_, number_ = 0;
  bool closed_ = false;
};

}  // namespace linformer::cli
