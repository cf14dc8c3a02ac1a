#include "text/charsmap.h"

#include <algorithm>

#include "text/unicode.h"

namespace LINFORMER_NAMESPACE {
namespace {

constexpr size_t size_bytes = 4;  // The bytes of the trie's size, which comes first.

uint32_t read_u32(const uint8_t* bytes) {
  return uint32_t{bytes[0]} | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 | uint32_t{bytes[3]} << 24;
}

// The fields of a unit. A leaf has the top bit set, so that its label equals no byte; its other bits are its value.
bool has_leaf(uint32_t unit) { return (unit >> 8 & 1) == 1; }
uint32_t value(uint32_t unit) { return unit & 0x7FFFFFFF; }
uint32_t label(uint32_t unit) { return unit & 0x800000FF; }
uint32_t offset(uint32_t unit) { return (unit >> 10) << ((unit & 1u << 9) >> 6); }

}  // namespace

Status Charsmap::create(std::span<const uint8_t> bytes) {
  units_ = {};
  replacements_ = {};
  if (bytes.empty()) return {};
  const uint32_t trie_bytes = bytes.size() < size_bytes ? 0 : read_u32(bytes.data());
  if (trie_bytes == 0 || trie_bytes % 4 != 0 || trie_bytes > bytes.size() - size_bytes) {
    return Status::error(Code::corrupt_file,
                         "the tokenizer's character map of %zu bytes claims a trie of %u: convert the tokenizer again",
                         bytes.size(), trie_bytes);
  }
  const auto replacements = bytes.subspan(size_bytes + trie_bytes);
  replacements_ = {reinterpret_cast<const char*>(replacements.data()), replacements.size()};
  if (valid_utf8_prefix(replacements_) != replacements_.size()) {
    return Status::error(Code::corrupt_file, "the tokenizer's character map has replacements that are not UTF-8");
  }
  for (size_t at = 0; at < replacements_.size();) {
    const size_t end = std::min(replacements_.find('\0', at), replacements_.size());
    if (end - at > max_replacement_bytes) {
      return Status::error(Code::unsupported,
                           "the tokenizer's character map has a replacement of %zu bytes; at most %zu are supported",
                           end - at, max_replacement_bytes);
    }
    at = end + 1;
  }
  units_ = bytes.subspan(size_bytes, trie_bytes);
  return {};
}

uint32_t Charsmap::unit(size_t index) const { return read_u32(units_.data() + 4 * index); }

bool Charsmap::find(std::string_view text, bool shortest, size_t* length, std::string_view* replacement) const {
  if (units_.empty()) return false;
  bool found = false;
  size_t position = offset(unit(0));
  for (size_t i = 0; i < text.size() && i < max_rule_bytes; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte == 0 && shortest) break;  // Hugging Face's search ends at a zero byte, SentencePiece's doesn't.
    position ^= byte;
    if (position >= unit_count()) break;
    const uint32_t node = unit(position);
    if (label(node) != byte) break;
    position ^= offset(node);
    if (!has_leaf(node)) continue;
    if (position >= unit_count()) break;
    const size_t begin = value(unit(position));
    // Only a damaged map points outside its replacements or into a character.
    if (begin >= replacements_.size() || is_continuation(replacements_[begin])) continue;
    *length = i + 1;
    *replacement = replacements_.substr(begin, replacements_.find('\0', begin) - begin);
    found = true;
    if (shortest) break;
  }
  return found;
}

}  // namespace LINFORMER_NAMESPACE
