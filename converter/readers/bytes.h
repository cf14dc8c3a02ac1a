// Reads little-endian numbers from the bytes of a file, where they may have any alignment.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "converter/readers/checkpoint.h"

namespace linformer::convert {

static_assert(std::endian::native == std::endian::little, "checkpoints are little-endian and are used in place");

template <class Number>
Number load(const std::byte* from) {
  Number number;
  std::memcpy(&number, from, sizeof(number));
  return number;
}

// Reads values.size() consecutive elements of a floating-point type. Returns false for any other type.
bool convert_to_f32(DataType type, const std::byte* from, std::span<float> values);
// Reads values.size() consecutive elements of any type. Integers are rounded to the nearest float.
bool convert_numbers(DataType type, const std::byte* from, std::span<float> values);

}  // namespace linformer::convert
