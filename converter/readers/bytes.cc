#include "converter/readers/bytes.h"

#include <limits>

#include "base/half.h"

namespace linformer::convert {

bool convert_to_f32(DataType type, const std::byte* from, std::span<float> values) {
  switch (type) {
    case DataType::f32:
      std::memcpy(values.data(), from, values.size_bytes());
      return true;
    case DataType::f64:
      for (size_t i = 0; i < values.size(); ++i) {
        const double wide = load<double>(from + 8 * i);
        // A cast of a value beyond the range of f32 would be undefined behaviour. `limit` is halfway between the
        // largest f32 and the next power of two: from there on, a value rounds to infinity.
        constexpr double limit = 0x1.ffffffp+127;
        values[i] = wide >= limit    ? std::numeric_limits<float>::infinity()
                    : wide <= -limit ? -std::numeric_limits<float>::infinity()
                                     : static_cast<float>(wide);
      }
      return true;
    case DataType::f16:
      for (size_t i = 0; i < values.size(); ++i) values[i] = f16_to_f32(load<uint16_t>(from + 2 * i));
      return true;
    case DataType::bf16:
      for (size_t i = 0; i < values.size(); ++i) values[i] = bf16_to_f32(load<uint16_t>(from + 2 * i));
      return true;
    default:
      return false;
  }
}

namespace {

template <class Number>
bool convert_integers(const std::byte* from, std::span<float> values) {
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(load<Number>(from + sizeof(Number) * i));
  return true;
}

}  // namespace

bool convert_numbers(DataType type, const std::byte* from, std::span<float> values) {
  switch (type) {
    case DataType::i64:
      return convert_integers<int64_t>(from, values);
    case DataType::i32:
      return convert_integers<int32_t>(from, values);
    case DataType::i16:
      return convert_integers<int16_t>(from, values);
    case DataType::i8:
      return convert_integers<int8_t>(from, values);
    case DataType::u8:
    case DataType::boolean:
      return convert_integers<uint8_t>(from, values);
    default:
      return convert_to_f32(type, from, values);
  }
}

}  // namespace linformer::convert
