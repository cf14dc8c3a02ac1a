// Where the code points of a text lie in its bytes: tokens have offsets in code points, and answers show bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/array.h"
#include "linformer/tokenizer.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Of one text at a time, whose memory must live as long as it is asked for. Invalid bytes count as the tokenizer's
// offsets count them. Needs a quarter of the text's size, or nothing where it is ASCII.
class CodePoints {
 public:
  // O(bytes). False when there is no memory.
  [[nodiscard]] bool index(std::string_view text);
  // The byte with which a code point begins; the text's end where there are fewer. O(1).
  size_t byte_of(uint32_t code_point) const;
  // The bytes of [begin, end), which are empty where the text has no such code points.
  std::string_view text_of(Offset offset) const;
  // Whether there is such a code point, and it is U+0020.
  bool is_space(uint32_t code_point) const;

 private:
  static constexpr uint32_t step = 32;

  std::string_view text_;
  bool ascii_ = true;
  Array<size_t> bytes_;  // of each code point whose index is a multiple of step
};

}  // namespace LINFORMER_NAMESPACE
