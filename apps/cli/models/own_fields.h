// The fields of a record in the user's input that its answer repeats.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace linformer::cli {

struct OwnFields {
  std::shared_ptr<const std::vector<std::string>> names;  // Null if no fields are kept.
  std::vector<std::string> values;                        // One for each name; empty if the record couldn't be read.
  bool json = false;  // True if values are JSON text in one line, unchanged; otherwise they are plain text.

  size_t bytes() const {
    size_t bytes = 0;
    for (const std::string& value : values) bytes += value.size() + sizeof(value);
    return bytes;
  }
};

}  // namespace linformer::cli
