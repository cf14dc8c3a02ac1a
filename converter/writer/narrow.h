// Converts float32 values to the low-precision types of model files, and back. It does so in software, so that every
// machine writes the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "linformer/types.h"

namespace linformer::writer {

// Round a value to nearest, ties to even. A NaN becomes a quiet NaN, and a value beyond the range of the type becomes
// an infinity.
uint16_t to_bf16(float value);
uint16_t to_f16(float value);
// Convert back. The result is exact.
float from_bf16(uint16_t bits);
float from_f16(uint16_t bits);

// Stores `values` as `type` (f32, bf16 or f16) at `out`, which must have room for them. Returns the index of the first
// finite value that is beyond the range of the type, or -1.
int64_t narrow(std::span<const float> values, ElementType type, std::byte* out);
// Reads values.size() values of `type` (f32, bf16 or f16) from `in`.
void widen(const std::byte* in, ElementType type, std::span<float> values);

}  // namespace linformer::writer
