#include "converter/dialects/hugging_face/relative_bias.h"

#include <algorithm>
#include <cmath>

#include "converter/readers/error.h"

namespace linformer::convert::hugging_face {

namespace {

constexpr int64_t bucket_count = 32, sides = bucket_count / 2, exact = sides / 2, largest_distance = 128;

// Returns the bucket of `distance`, which is j - i for query i and key j. The logarithm is computed in single
// precision, as in the original.
int64_t bucket_of(int64_t distance) {
  const int64_t side = distance > 0 ? sides : 0, far = std::abs(distance);
  if (far < exact) return side + far;
  const float share = std::log(static_cast<float>(far) / static_cast<float>(exact)) /
                      static_cast<float>(std::log(static_cast<double>(largest_distance) / static_cast<double>(exact)));
  const auto large = exact + static_cast<int64_t>(share * static_cast<float>(sides - exact));
  return side + std::min(large, sides - 1);
}

}  // namespace

void fill_relative_bias(std::span<const float> buckets, uint64_t rows, uint64_t heads, std::span<float> bias) {
  if (rows < static_cast<uint64_t>(bucket_count)) {
    fail("the bias by relative position has ", rows, " buckets; the model reads ", bucket_count);
  }
  const uint64_t columns = bias.size() / heads;
  const auto middle = static_cast<int64_t>(columns / 2);
  for (uint64_t column = 0; column < columns; ++column) {
    const auto bucket = static_cast<uint64_t>(bucket_of(static_cast<int64_t>(column) - middle));
    for (uint64_t head = 0; head < heads; ++head) bias[head * columns + column] = buckets[bucket * heads + head];
  }
}

}  // namespace linformer::convert::hugging_face
