#include "pipeline/spans/code_points.h"

#include <algorithm>

#include "text/unicode.h"

namespace LINFORMER_NAMESPACE {

bool CodePoints::index(std::string_view text) {
  text_ = text;
  bytes_.clear();
  ascii_ = std::all_of(text.begin(), text.end(), [](char byte) { return static_cast<uint8_t>(byte) < 0x80; });
  if (ascii_) return true;
  for (size_t at = 0, count = 0; at < text.size(); ++count) {
    if (count % step == 0 && !bytes_.try_push(at)) return false;
    next_repaired_code_point(text, &at);
  }
  return true;
}

size_t CodePoints::byte_of(uint32_t code_point) const {
  if (ascii_) return std::min<size_t>(code_point, text_.size());
  if (code_point / step >= bytes_.size()) return text_.size();
  size_t at = bytes_[code_point / step];
  for (uint32_t i = code_point % step; i > 0 && at < text_.size(); --i) next_repaired_code_point(text_, &at);
  return at;
}

std::string_view CodePoints::text_of(Offset offset) const {
  const size_t begin = byte_of(offset.begin), end = byte_of(offset.end);
  return text_.substr(begin, end > begin ? end - begin : 0);
}

bool CodePoints::is_u0020(uint32_t code_point) const {
  const size_t at = byte_of(code_point);
  return at < text_.size() && text_[at] == ' ';
}

}  // namespace LINFORMER_NAMESPACE
