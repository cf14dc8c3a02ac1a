// Rotary positions as checkpoints keep them: `inv_freq`, by which a row's position is multiplied to give the angle of
// each pair of a head's channels.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "converter/readers/checkpoint.h"

namespace linformer::convert {

inline constexpr float usual_rotary_base = 10000.f;

// "base 10000", for sentences.
std::string base_text(float base);

// The base of which the values, one for each of head_dim / 2 pairs, are the powers base^(-2j / head_dim). Throws Error
// naming the tensor when they are those of none.
float rotary_base(const Tensor& tensor, std::span<const float> values, uint32_t head_dim);

// Whether the tensor's type is too narrow to tell one base from another.
bool is_rounded(const Tensor& tensor);
// Throws Error naming the tensor unless its values are the powers of usual_rotary_base, rounded to its type.
void check_rounded_frequencies(const Tensor& tensor, std::span<const float> values, uint32_t head_dim);

}  // namespace linformer::convert
