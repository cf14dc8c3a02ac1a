// Reads the elements of a JSON array one after the other, as unparsed text. Only one element is in memory, whatever the
// length and the nesting of the array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "command_line/errors.h"
#include "input/bytes/byte_source.h"

namespace linformer::cli {

class JsonArray {
 public:
  // The next byte of `source` must be the opening bracket of the array. It is on line `line`, from 1. `source` must
  // outlive this object. An element of more than `max_bytes` is skipped and not stored.
  JsonArray(ByteSource* source, size_t max_bytes, uint64_t line);

  // Reads the next element, which is not checked to be JSON. Returns false after the last element. Sets `error` if the
  // element is missing or too long; otherwise `error` is empty. Throws DataError if the array has no end or other bytes
  // follow it. The elements that were returned before can still be used.
  bool next(std::string* element, std::string* error);
  // Return the line on which the last element begins, and the number of that element, from 1.
  uint64_t line() const { return line_; }
  uint64_t element_number() const { return number_; }

 private:
  void skip_space();
  bool read_element(std::string* element);
  DataError array_error(const std::string& what) const;

  ByteSource* source_;
  size_t max_bytes_;
  uint64_t line_, current_line_, number_ = 0;
  bool closed_ = false;
};

}  // namespace linformer::cli
