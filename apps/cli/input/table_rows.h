// Rows of CSV (RFC 4180) and TSV (no quoting), with any character between their fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "input/bytes/byte_source.h"

namespace linformer::cli {

// A row with more fields is refused: empty fields cost more memory than input.
inline constexpr size_t max_fields = 1 << 14;

class TableRows {
 public:
  TableRows(ByteSource* source, bool quoted, char delimiter, size_t max_bytes)
      : source_(source), quoted_(quoted), delimiter_(delimiter), max_bytes_(max_bytes) {}

  // The next row that isn't blank; false at the end. A row that breaks the rules sets `error`: reading goes on after
  // its end, which for an unclosed quote is the end of the input.
  bool next(std::vector<std::string>* fields, std::string* error);
  // The line on which the last row began, from 1.
  uint64_t line() const { return line_; }

 private:
  enum class State : uint8_t { field_start, plain, quoted, after_quote };
  bool next_tsv(std::vector<std::string>* fields, std::string* error);
  bool next_csv(std::vector<std::string>* fields, std::string* error);
  void step(char c, std::vector<std::string>* fields, std::string* error);
  void end_field(std::vector<std::string>* fields, std::string* error);

  ByteSource* source_;
  bool quoted_;
  char delimiter_;
  size_t max_bytes_;
  uint64_t line_ = 0;        // of the last row's beginning
  uint64_t lines_read_ = 0;  // newlines passed
  State state_ = State::field_start;
  bool skipping_ = false;  // an oversized row was reported at once; its rest is still to pass
  std::string buffer_;
};

}  // namespace linformer::cli
