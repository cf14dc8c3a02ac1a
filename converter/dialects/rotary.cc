#include "converter/dialects/rotary.h"

#include <cmath>
#include <cstdio>

#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

// The relative error that powers in single precision may have. Most of it is the exponent's rounding error times the
// logarithm of the base.
constexpr double single_tolerance = 2e-6;
// The relative rounding errors of bf16 and f16. f16 numbers below 2^-14 are spaced evenly, so their rounding error is
// absolute (f16_least).
constexpr double bf16_tolerance = 0x1p-8, f16_tolerance = 0x1p-11, f16_least = 0x1p-25;

double power(double base, size_t pair, uint32_t head_dim) {
  return std::pow(base, -2.0 * static_cast<double>(pair) / head_dim);
}

bool are_powers(std::span<const float> values, double base, uint32_t head_dim, double relative, double least = 0) {
  if (values.size() != head_dim / 2) return false;
  for (size_t j = 0; j < values.size(); ++j) {
    const double wanted = power(base, j, head_dim);
    if (!(std::abs(static_cast<double>(values[j]) - wanted) <= relative * wanted + least)) return false;
  }
  return true;
}

[[noreturn]] void refuse(const Tensor& tensor, uint32_t head_dim, const std::string& base) {
  fail("the tensor ", quote(tensor.name), " ", shape_text(tensor), " does not hold the ", head_dim / 2, " powers ",
       base, "^(-2j/", head_dim, "), from 1 down: such rotary positions are not supported");
}

}  // namespace

std::string base_text(float base) {
  char text[32];
  std::snprintf(text, sizeof text, "base %.9g", static_cast<double>(base));
  return text;
}

float rotary_base(const Tensor& tensor, std::span<const float> values, uint32_t head_dim) {
  // If the base is not the usual one, it is computed from the last power, which determines it most precisely. A single
  // pair can't determine a base, because its power is 1 for every base.
  if (are_powers(values, usual_rotary_base, head_dim, single_tolerance)) return usual_rotary_base;
  if (values.size() < 2 || !(values.back() > 0)) refuse(tensor, head_dim, "base");
  const double exponent = -2.0 * static_cast<double>(values.size() - 1) / head_dim;
  const double base = std::pow(static_cast<double>(values.back()), 1 / exponent);
  for (const double likely : {std::round(base), base}) {
    if (are_powers(values, likely, head_dim, single_tolerance)) return static_cast<float>(likely);
  }
  refuse(tensor, head_dim, "base");
}

bool is_16_bit(const Tensor& tensor) { return tensor.type == DataType::f16 || tensor.type == DataType::bf16; }

void check_rounded_frequencies(const Tensor& tensor, std::span<const float> values, uint32_t head_dim) {
  const bool bf16 = tensor.type == DataType::bf16;
  if (!are_powers(values, usual_rotary_base, head_dim, bf16 ? bf16_tolerance : f16_tolerance, bf16 ? 0 : f16_least)) {
    refuse(tensor, head_dim, "10000");
  }
}

}  // namespace linformer::convert
