// What is true of a text's entities, as records say it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace linformer::cli {

// A part of a text, in code points, that is an entity of this label.
struct LabelledSpan {
  int64_t start = 0, end = 0;
  std::string label;

  auto operator<=>(const LabelledSpan&) const = default;
};

// Words of a text, or spans in it, that a record has at most.
inline constexpr size_t max_words = size_t{1} << 20;

}  // namespace linformer::cli
