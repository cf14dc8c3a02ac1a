// The parts of error messages about bad records that all formats share.
#pragma once

#include <string>

#include "input/bytes/byte_source.h"
#include "input/records.h"

namespace linformer::cli {

inline std::string line_location(const ByteSource& source, uint64_t line) {
  return source.name() + ":" + std::to_string(line);
}

inline std::string too_long_message(const RecordLimits& limits) {
  return "the record is longer than " + std::to_string(limits.max_bytes) + " bytes; raise --max-line-bytes";
}

inline std::string nul_message(size_t at) {
  return "a NUL at byte " + std::to_string(at + 1) + ", which text must not contain; remove it";
}

}  // namespace linformer::cli
