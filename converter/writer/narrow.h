// float32 to the storage types, in software: the same bits on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "linformer/types.h"

namespace linformer::writer {

// Round to nearest, ties to even. NaN stays a (quiet) NaN; values beyond the type's range become infinities.
uint16_t to_bf16(float value);
uint16_t to_f16(float value);
float from_bf16(uint16_t bits);
float from_f16(uint16_t bits);

// Stores `values` as `type` (f32, bf16 or f16) at `out`, which has room for them. Returns the index of the first
// finite value that the type can't hold, or -1.
int64_t narrow(std::span<const float> values, ElementType type, std::byte* out);
// The other way.
void widen(const std::byte* in, ElementType type, std::span<float> values);

}  // namespace linformer::writer
