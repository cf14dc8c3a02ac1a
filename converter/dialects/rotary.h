// Rotary positions in checkpoints. The tensor `inv_freq` has a frequency for each pair of a head's channels; the angle
// of the pair is the frequency times the row's position.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "converter/readers/checkpoint.h"

namespace linformer::convert {

inline constexpr float usual_rotary_base = 10000.f;

// Returns a text such as "base 10000", for reports.
std::string base_text(float base);

// Returns the base for which the values, one for each of head_dim / 2 pairs j, are the powers base^(-2j / head_dim).
// Throws Error that names the tensor if there is no such base.
float rotary_base(const Tensor& tensor, std::span<const float> values, uint32_t head_dim);

// Returns whether the tensor's type is f16 or bf16, whose precision is too low to tell one base from another.
bool is_16_bit(const Tensor& tensor);
// Throws Error that names the tensor if its values are not the powers of usual_rotary_base, rounded to the tensor's
// type.
void check_rounded_frequencies(const Tensor& tensor, std::span<const float> values, uint32_t head_dim);

}  // namespace linformer::convert
