// The user's own fields of a record, which its answer repeats.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace linformer::cli {

struct OwnFields {
  std::shared_ptr<const std::vector<std::string>> names;  // null: none are kept
  std::vector<std::string> values;                        // of each name; empty: the record is too bad to have any
  bool json = false;  // values are JSON in one line, as the record has them; otherwise they are text

  size_t bytes() const {
    size_t bytes = 0;
    for (const std::string& value : values) bytes += value.size() + sizeof(value);
    return bytes;
  }
};

}  // namespace linformer::cli
