#include "converter/dialects/hugging_face/alibi.h"

#include <bit>
#include <cmath>

namespace linformer::convert::hugging_face {

namespace {

// Returns the slope of a head if `heads` is a power of two: 2^(-8 / heads) for the first head, and for each further
// head the slope before it times that factor.
double slope_of_power(uint64_t head, uint64_t heads) {
  return std::exp2(-8. * static_cast<double>(head + 1) / static_cast<double>(heads));
}

// Returns the slope of a head. If `heads` is not a power of two, the first heads have the slopes for the next lower
// power of two, and the remaining heads have every second slope for the next higher one.
double slope(uint64_t head, uint64_t heads) {
  const uint64_t power = std::bit_floor(heads);
  return head < power ? slope_of_power(head, power) : slope_of_power(2 * (head - power), 2 * power);
}

}  // namespace

void fill_alibi(uint64_t heads, std::span<float> bias) {
  const uint64_t columns = bias.size() / heads;
  const auto middle = static_cast<int64_t>(columns / 2);
  for (uint64_t head = 0; head < heads; ++head) {
    const double each = slope(head, heads);
    for (uint64_t column = 0; column < columns; ++column) {
      const auto distance = static_cast<double>(std::abs(static_cast<int64_t>(column) - middle));
      bias[head * columns + column] = static_cast<float>(-each * distance);
    }
  }
}

}  // namespace linformer::convert::hugging_face
