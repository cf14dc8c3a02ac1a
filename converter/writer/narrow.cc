#include "converter/writer/narrow.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace linformer::writer {
namespace {

constexpr uint16_t infinity_bf16 = 0x7f80, infinity_f16 = 0x7c00;

template <class Convert>
int64_t narrow_16(std::span<const float> values, uint16_t infinity, std::byte* out, Convert convert) {
  int64_t overflow = -1;
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t bits = convert(values[i]);
    if ((bits & 0x7fff) == infinity && std::isfinite(values[i]) && overflow < 0) overflow = static_cast<int64_t>(i);
    std::memcpy(out + 2 * i, &bits, 2);
  }
  return overflow;
}

template <class Convert>
void widen_16(const std::byte* in, std::span<float> values, Convert convert) {
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, in + 2 * i, 2);
    values[i] = convert(bits);
  }
}

}  // namespace

uint16_t to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>((bits >> 16) | 0x40);  // A quiet NaN.
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float from_bf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

uint16_t to_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00 | ((magnitude >> 13) & 0x1ff));
  if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | infinity_f16);  // 65520 and more round to infinity.
  if (magnitude >= 0x38800000) {                                                   // 2^-14 and more are normal in f16.
    const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
    return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
  }
  // Values up to 2^-25, which is half the smallest f16, round to zero.
  if (magnitude <= 0x33000000) return static_cast<uint16_t>(sign);
  // Other values are subnormal in f16. The significand, hidden bit included, is rounded to units of 2^-24.
  const uint32_t significand = (magnitude & 0x7fffff) | 0x800000;
  const uint32_t shift = 126 - (magnitude >> 23);
  const uint32_t whole = significand >> shift;
  const uint32_t rest = significand & ((1u << shift) - 1);
  const uint32_t half = 1u << (shift - 1);
  return static_cast<uint16_t>(sign | (whole + (rest > half || (rest == half && (whole & 1) != 0) ? 1 : 0)));
}

float from_f16(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000u} << 16;
  const uint32_t exponent = (bits >> 10) & 0x1f;
  const uint32_t significand = bits & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | (significand << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(significand) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (significand << 13));
}

int64_t narrow(std::span<const float> values, ElementType type, std::byte* out) {
  if (type == ElementType::bf16) return narrow_16(values, infinity_bf16, out, to_bf16);
  if (type == ElementType::f16) return narrow_16(values, infinity_f16, out, to_f16);
  if (!values.empty()) std::memcpy(out, values.data(), values.size_bytes());
  return -1;
}

void widen(const std::byte* in, ElementType type, std::span<float> values) {
  if (type == ElementType::bf16) return widen_16(in, values, from_bf16);
  if (type == ElementType::f16) return widen_16(in, values, from_f16);
  if (!values.empty()) std::memcpy(values.data(), in, values.size_bytes());
}

}  // namespace linformer::writer
