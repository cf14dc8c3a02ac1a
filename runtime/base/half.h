// Converts single f16 and bf16 numbers to f32; Kernels::widen converts many at once. The results are exact, and NaNs
// keep their payload. __builtin_bit_cast (GCC 11, clang 9 and later) is used because the standard library of Debian's
// Emscripten has no std::bit_cast.
#pragma once

#include <cstdint>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

inline float f16_to_f32(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000u} << 16;
  const uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00) return __builtin_bit_cast(float, sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude >= 0x400) return __builtin_bit_cast(float, sign | ((magnitude << 13) + (112u << 23)));
  const float subnormal = static_cast<float>(magnitude) * 0x1p-24f;
  return sign != 0 ? -subnormal : subnormal;
}

inline float bf16_to_f32(uint16_t brain) { return __builtin_bit_cast(float, uint32_t{brain} << 16); }

}  // namespace LINFORMER_NAMESPACE
