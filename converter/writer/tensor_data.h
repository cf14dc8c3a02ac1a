// One tensor on its way into the file: where its float32 values come from, and its bytes in storage order.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/description.h"

namespace linformer::writer {

// Fills `out` with the logical elements [first, first + out.size()) of the tensor in row-major order, widened to
// float32. Called at least twice for each tensor and must give the same values each time. Ranges ascend, but for rows
// of more than 2^16 elements, of which a panel's are read by turns. So a tensor of a mapped checkpoint is never in
// memory as a whole.
using FloatSource = std::function<void(uint64_t first, std::span<float> out)>;
// A source with its own copy of the values.
FloatSource copy_of(std::span<const float> values);

// What rounding to a tensor's type changes: sums of squares over its elements.
struct RoundingError {
  double changed = 0, all = 0;
  void add(float original, float stored) {
    const double difference = static_cast<double>(original) - static_cast<double>(stored);
    changed += difference * difference;
    all += static_cast<double>(original) * static_cast<double>(original);
  }
  // |original - stored| / |original|, of the tensor as a vector.
  double relative() const { return all > 0 ? std::sqrt(changed / all) : 0; }
};

using ByteSink = std::function<void(std::span<const std::byte>)>;

// The bytes of the tensor in the file's order, in pieces. `tensor` needs name, type, layout and shape.
// Throws WriteError naming the tensor when a finite value is beyond its type's range, or int8's scale would not be
// finite. `error`: is added to.
void encode(const TensorDescription& tensor, const FloatSource& source, const ByteSink& sink,
            RoundingError* error = nullptr);
// The bytes that encode() will give.
uint64_t encoded_bytes(const TensorDescription& tensor);
// Whether two sources give the same stored values for `tensor`'s type and shape.
bool equal_values(const TensorDescription& tensor, const FloatSource& a, const FloatSource& b);

// A tensor's stored bytes back to its logical shape, row-major: [out, in] for panel16.
std::vector<float> decode(const TensorDescription& tensor, const std::byte* data);

}  // namespace linformer::writer
