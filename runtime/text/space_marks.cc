#include "text/space_marks.h"

#include <algorithm>

namespace LINFORMER_NAMESPACE {

bool mark_spaces(std::string_view text, const uint32_t* origins, PrefixMark prefix, NormalizedText* marked) {
  marked->bytes.clear();
  marked->origins.clear();
  const auto push = [&](uint32_t origin) {
    if (!marked->bytes.try_append(space_mark.data(), space_mark.size())) return false;
    for (size_t i = 0; i < space_mark.size(); ++i) {
      if (!marked->origins.try_push(origin)) return false;
    }
    return true;
  };
  const bool at_mark = text[0] == ' ' || text.starts_with(space_mark);
  const bool prefixed = !at_mark && (prefix == PrefixMark::always || (prefix == PrefixMark::first && origins[0] == 0));
  if (prefixed && !push(origins[0])) return false;
  for (size_t at = 0; at < text.size();) {
    const size_t space = std::min(text.find(' ', at), text.size());
    if (!marked->bytes.try_append(text.data() + at, space - at) ||
        !marked->origins.try_append(origins + at, space - at)) {
      return false;
    }
    if (space < text.size() && !push(origins[space])) return false;
    at = space + 1;
  }
  return true;
}

int parse_byte_token(std::string_view name) {
  if (name.size() != 6 || name.substr(0, 3) != "<0x" || name[5] != '>') return -1;
  int byte = 0;
  for (char digit : name.substr(3, 2)) {
    const bool letter = digit >= 'A' && digit <= 'F';
    if (!letter && !(digit >= '0' && digit <= '9')) return -1;
    byte = byte * 16 + (letter ? digit - 'A' + 10 : digit - '0');
  }
  return byte;
}

bool PieceDecoding::append_decoded(std::string_view name, bool first, Array<char>* text) const {
  if (is_byte_token(name)) return text->try_push(static_cast<char>(parse_byte_token(name)));
  while (marks) {
    const size_t at = name.find(space_mark);
    if (at == std::string_view::npos) break;
    if (!text->try_append(name.data(), at)) return false;
    if (!(first && drops_first_marks) && !text->try_push(' ')) return false;
    name.remove_prefix(at + space_mark.size());
  }
  return text->try_append(name.data(), name.size());
}

}  // namespace LINFORMER_NAMESPACE
