#include "converter/readers/crc32.h"

#include <array>

#include "converter/readers/bytes.h"

namespace linformer::convert {

namespace {

// tables[j][b] is the remainder of byte b followed by j zero bytes. With these tables, one step takes eight bytes.
constexpr auto tables = [] {
  std::array<std::array<uint32_t, 256>, 8> t{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) remainder = remainder >> 1 ^ (remainder & 1 ? 0xedb88320u : 0);
    t[0][byte] = remainder;
  }
  for (uint32_t byte = 0; byte < 256; ++byte) {
    for (size_t j = 1; j < 8; ++j) t[j][byte] = t[j - 1][byte] >> 8 ^ t[0][t[j - 1][byte] & 0xff];
  }
  return t;
}();

}  // namespace

uint32_t crc32(std::span<const std::byte> bytes) {
  uint32_t state = ~0u;
  size_t i = 0;
  for (; bytes.size() - i >= 8; i += 8) {
    const uint64_t word = load<uint64_t>(bytes.data() + i) ^ state;
    state = 0;
    for (size_t j = 0; j < 8; ++j) state ^= tables[7 - j][word >> (8 * j) & 0xff];
  }
  for (; i < bytes.size(); ++i) state = state >> 8 ^ tables[0][(state ^ static_cast<uint32_t>(bytes[i])) & 0xff];
  return ~state;
}

}  // namespace linformer::convert
