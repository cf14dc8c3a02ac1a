#include "text/byte_level.h"

#include <array>

#include "text/unicode.h"

namespace LINFORMER_NAMESPACE {
namespace {

constexpr std::array<uint16_t, 256> make_printable() {
  std::array<uint16_t, 256> printable = {};
  uint16_t stand_in = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool visible = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    printable[byte] = visible ? static_cast<uint16_t>(byte) : stand_in++;
  }
  return printable;
}
constexpr std::array<uint16_t, 256> printable = make_printable();

}  // namespace

uint32_t printable_code_point(uint8_t byte) { return printable[byte]; }

bool append_printable(std::string_view bytes, Array<char>* text) {
  if (!text->try_reserve(text->size() + 2 * bytes.size())) return false;
  for (char byte : bytes) {
    char encoded[4];
    const size_t length = encode_code_point(printable[static_cast<uint8_t>(byte)], encoded);
    if (!text->try_append(encoded, length)) return false;
  }
  return true;
}

}  // namespace LINFORMER_NAMESPACE
