// Encodes tensors: it reads the float32 values of a tensor from a source and returns the bytes that the model file
// stores.
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

// A function that fills `out` with the logical elements [first, first + out.size()) of the tensor in row-major order,
// as float32. The writer calls it at least twice for each tensor, and it must return the same values each time. The
// ranges of the calls ascend, with one exception: if the rows of a panel16 tensor have more than 2^16 elements, each
// group of 16 rows is read in parts: the first 2^16 elements of each of these rows, then the next 2^16 of each, and so
// on. So a tensor of a mapped checkpoint is never in memory as a whole.
using FloatSource = std::function<void(uint64_t first, std::span<float> out)>;
// Returns a source with its own copy of the values.
FloatSource copy_of(std::span<const float> values);

// The error of rounding a tensor to its type.
struct RoundingError {
  double changed = 0, all = 0;  // The sums of the squares of (original - stored) and of the originals.
  void add(float original, float stored) {
    const double difference = static_cast<double>(original) - static_cast<double>(stored);
    changed += difference * difference;
    all += static_cast<double>(original) * static_cast<double>(original);
  }
  // Returns |original - stored| / |original| for the tensor as a vector.
  double relative() const { return all > 0 ? std::sqrt(changed / all) : 0; }
};

using ByteSink = std::function<void(std::span<const std::byte>)>;

// Passes the bytes of the tensor to `sink` in pieces, in the order of the file. `tensor` must have its name, type,
// layout and shape. If `error` is not null, the rounding error is added to it. Throws WriteError, which names the
// tensor, if a finite value is beyond the range of the type, or if a value of an int8 tensor is not finite.
void encode(const TensorDescription& tensor, const FloatSource& source, const ByteSink& sink,
            RoundingError* error = nullptr);
// Returns the number of bytes that encode() writes.
uint64_t encoded_bytes(const TensorDescription& tensor);
// Returns whether two sources give the same stored values for the type and shape of `tensor`. For int8, the float32
// values are compared.
bool equal_values(const TensorDescription& tensor, const FloatSource& a, const FloatSource& b);

// Returns the values of a stored tensor in row-major order of its logical shape, which is [out, in] for panel16.
std::vector<float> decode(const TensorDescription& tensor, const std::byte* data);

}  // namespace linformer::writer
