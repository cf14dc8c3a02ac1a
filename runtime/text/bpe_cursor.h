// From bytes of a word to places in the original text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "linformer/version.h"
#include "text/pieces.h"
#include "text/unicode.h"

namespace LINFORMER_NAMESPACE {

// Where a text lies in the original: it begins at a code point of it, or has the code point of each of its bytes.
struct BpePlace {
  uint32_t position = 0;
  const uint32_t* origins = nullptr;
};

// Turns byte ranges into code point ranges while pieces are appended in order.
class BpeCursor {
 public:
  // `virtual_bytes`: bytes at the beginning that add_prefix_space put there; they belong to the first code point.
  BpeCursor(std::string_view text, size_t virtual_bytes, BpePlace place, Pieces* pieces)
      : text_(text),
        virtual_bytes_(virtual_bytes),
        origins_(place.origins),
        position_(place.position),
        pieces_(pieces) {}

  // Appends `token` for the bytes [begin, end), which lie behind those of the call before.
  bool append(int32_t token, size_t begin, size_t end) {
    if (origins_ != nullptr) {
      const size_t last = std::max(end, virtual_bytes_ + 1) - virtual_bytes_ - 1;
      const uint32_t first = origins_[std::max(begin, virtual_bytes_) - virtual_bytes_];
      return pieces_->pieces.try_push({token, first, origins_[last] + 1});
    }
    count_to(begin);
    const uint32_t first = at_ < text_.size() && is_continuation(text_[at_]) ? position_ - 1 : position_;
    count_to(end);
    return pieces_->pieces.try_push({token, first, std::max(position_, first + 1)});
  }

 private:
  void count_to(size_t end) {
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
