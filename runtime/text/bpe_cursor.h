// Converts places in a text that BPE reads to places in the original text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "linformer/version.h"
#include "text/pieces.h"
#include "text/unicode.h"

namespace LINFORMER_NAMESPACE {

// The place of a text in the original text: the code point at which it begins, or, if `origins` isn't null, the code
// point of each of its bytes.
struct BpePlace {
  uint32_t position = 0;
  const uint32_t* origins = nullptr;
};

// Appends pieces in the order of the text, and converts their byte ranges to code point ranges.
class BpeCursor {
 public:
  // `virtual_bytes` is the number of bytes that add_prefix_space has put at the beginning. They belong to the first
  // code point.
  BpeCursor(std::string_view text, size_t virtual_bytes, BpePlace place, Pieces* pieces)
      : text_(text),
        virtual_bytes_(virtual_bytes),
        origins_(place.origins),
        position_(place.position),
        pieces_(pieces) {}

  // Appends `token` for the bytes [begin, end), which come after those of the last call. Returns false if there is no
  // memory.
  [[nodiscard]] bool append(int32_t token, size_t begin, size_t end) {
    if (origins_ != nullptr) {
      const size_t last = std::max(end, virtual_bytes_ + 1) - virtual_bytes_ - 1;
      const uint32_t first = origins_[std::max(begin, virtual_bytes_) - virtual_bytes_];
      return pieces_->pieces.try_push({token, first, origins_[last] + 1});
    }
    advance_to(begin);
    const uint32_t first = at_ < text_.size() && is_continuation(text_[at_]) ? position_ - 1 : position_;
    advance_to(end);
    return pieces_->pieces.try_push({token, first, std::max(position_, first + 1)});
  }

 private:
  void advance_to(size_t end) {
    for (; at_ < end; ++at_) position_ += at_ >= virtual_bytes_ && !is_continuation(text_[at_]);
  }
  std::string_view text_;
  size_t virtual_bytes_;
  const uint32_t* origins_;
  size_t at_ = 0;
  uint32_t position_;
  Pieces* pieces_;
};

}  // namespace LINFORMER_NAMESPACE
