#include "converter/readers/error.h"

#include <cstdint>
#include <cstdio>

namespace linformer::convert {

namespace {

bool is_control(unsigned char byte) { return byte < 0x20 || byte == 0x7f; }

void add_escaped(unsigned char byte, std::string* shown) {
  char escaped[8];
  std::snprintf(escaped, sizeof(escaped), "\\x%02x", byte);
  *shown += escaped;
}

}  // namespace

std::string escaped(std::string_view name) {
  constexpr size_t longest = 160;  // In bytes of `name`.
  std::string shown;
  for (const char character : name.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(character);
    if (is_control(byte) || byte >= 0x80) {
      add_escaped(byte, &shown);
    } else {
      shown += character;
    }
  }
  return shown + (name.size() > longest ? "..." : "");
}

std::string escape_control_chars(std::string_view sentence) {
  std::string shown;
  for (const char character : sentence) {
    if (is_control(static_cast<unsigned char>(character))) {
      add_escaped(static_cast<unsigned char>(character), &shown);
    } else {
      shown += character;
    }
  }
  return shown;
}

std::string quote(std::string_view name) { return '"' + escaped(name) + '"'; }

bool valid_utf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    if (lead < 0x80) continue;
    const int more = lead >= 0xf0 && lead < 0xf5 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc2 ? 1 : 0;
    if (more == 0 || lead >= 0xf5 || text.size() - i < static_cast<size_t>(more)) return false;
    uint32_t code = lead & (0x3fu >> more);
    for (int k = 0; k < more; ++k) {
      const auto byte = static_cast<unsigned char>(text[i++]);
      if ((byte & 0xc0) != 0x80) return false;
      code = code << 6 | (byte & 0x3fu);
    }
    const bool overlong = (more == 2 && code < 0x800) || (more == 3 && code < 0x10000);
    if (overlong || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
  }
  return true;
}

}  // namespace linformer::convert
