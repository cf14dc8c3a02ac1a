// Little-endian numbers in mapped bytes, which may lie at any alignment.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "converter/readers/checkpoint.h"

namespace linformer::convert {

static_assert(std::endian::native == std::endian::little, "checkpoints are little-endian and are used in place");

template <class Number>
Number load(const std::byte* from) {
  Number number;
  std::memcpy(&number, from, sizeof(number));
  return number;
}

inline float f16_to_f32(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000u} << 16;
  const uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude >= 0x400) return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
  const float subnormal = static_cast<float>(magnitude) * 0x1p-24f;
  return sign ? -subnormal : subnormal;
}

inline float bf16_to_f32(uint16_t brain) { return std::bit_cast<float>(uint32_t{brain} << 16); }

// Reads values.size() consecutive elements of a floating-point type; false for any other type.
bool convert_to_f32(DataType type, const std::byte* from, std::span<float> values);

}  // namespace linformer::convert
