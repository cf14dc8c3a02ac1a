// Reads the rows of CSV (RFC 4180) and TSV (no quoting), with any character as the delimiter of fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "input/bytes/byte_source.h"

namespace linformer::cli {

// A row with more fields is an error, because an empty field takes more memory than its byte of input.
inline constexpr size_t max_fields = 1 << 14;

class TableRows {
 public:
  TableRows(ByteSource* source, bool quoted, char delimiter, size_t max_bytes)
      : source_(source), quoted_(quoted), delimiter_(delimiter), max_bytes_(max_bytes) {}

  // Reads the next row that isn't blank. Returns false at the end. A malformed row sets `error`. The next call then
  // reads the row after the malformed one. If a quote is not closed, the malformed row extends to the end of the input.
  bool next(std::vector<std::string>* fields, std::string* error);
  // Returns the line on which the last row began, from 1.
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
  uint64_t line_ = 0;        // The line on which the last row began.
  uint64_t lines_read_ = 0;  // The number of newlines that were read.
  State state_ = State::field_start;
  bool skipping_ = false;  // True if a row was reported as too long and its remaining bytes must still be skipped.
  std::string buffer_;
};

}  // namespace linformer::cli
