// Converts offsets in code points, which tokens have, to bytes of the text, which answers consist of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/array.h"
#include "linformer/tokenizer.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// An index of the code points of one text at a time. The text's memory must stay valid while the index is used. Invalid
// bytes are counted as in the tokenizer's offsets. The index needs at most a quarter of the text's size, and no memory
// for ASCII text.
class CodePoints {
 public:
  // Indexes `text` in O(bytes). Returns false if there is no memory.
  [[nodiscard]] bool index(std::string_view text);
  // Returns the index of the first byte of a code point, or the size of the text if it has fewer code points. O(1).
  size_t byte_of(uint32_t code_point) const;
  // Returns the bytes of the code points [begin, end). The result is empty if the text has no such code points.
  std::string_view text_of(Offset offset) const;
  // Returns whether the code point exists and is U+0020.
  bool is_u0020(uint32_t code_point) const;

 private:
  static constexpr uint32_t step = 32;

  std::string_view text_;
  bool ascii_ = true;
  Array<size_t> bytes_;  // The first byte of each code point whose index is a multiple of `step`.
};

}  // namespace LINFORMER_NAMESPACE
