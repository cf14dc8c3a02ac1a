#include "converter/writer/tensor_data.h"

#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include "converter/writer/narrow.h"
#include "converter/writer/write_error.h"

using namespace linformer;
using namespace linformer::writer;

namespace {

std::vector<float> random_values(uint64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-3, 3);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(random);
  return values;
}

TensorDescription matrix(ElementType type, TensorLayout layout, uint64_t out, uint64_t in) {
  TensorDescription tensor;
  tensor.name = "matrix";
  tensor.type = type;
  tensor.layout = layout;
  tensor.shape = {out, in};
  return tensor;
}

std::vector<std::byte> encode_all(const TensorDescription& tensor, const FloatSource& source) {
  std::vector<std::byte> bytes;
  encode(tensor, source,
         [&](std::span<const std::byte> piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); });
  return bytes;
}

}  // namespace

TEST_CASE("panel16 puts every weight where the kernels look, and zeros around") {
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    const uint64_t out = 1 + random() % 70, in = 1 + random() % 70;
    CAPTURE(out);
    CAPTURE(in);
    const std::vector<float> weights = random_values(out * in, static_cast<uint32_t>(round));
    const TensorDescription tensor = matrix(ElementType::f32, TensorLayout::panel16, out, in);
    const std::vector<std::byte> bytes = encode_all(tensor, copy_of(weights));
    REQUIRE(bytes.size() == encoded_bytes(tensor));
    const uint64_t rows = (in + 15) / 16 * 16, columns = (out + 15) / 16 * 16;
    REQUIRE(bytes.size() == rows * columns * 4);
    std::vector<float> stored(rows * columns);
    std::memcpy(stored.data(), bytes.data(), bytes.size());
    for (uint64_t k = 0; k < rows; ++k) {
      for (uint64_t n = 0; n < columns; ++n) {
        const float expected = k < in && n < out ? weights[n * in + k] : 0.f;
        REQUIRE(stored[(n / 16) * rows * 16 + k * 16 + n % 16] == expected);
      }
    }
    CHECK(decode(tensor, bytes.data()) == weights);
  }
}

TEST_CASE("every type and layout decodes to the narrowed values") {
  for (ElementType type : {ElementType::f32, ElementType::bf16, ElementType::f16}) {
    for (TensorLayout layout : {TensorLayout::row_major, TensorLayout::panel16}) {
      const std::vector<float> values = random_values(19 * 37, 8);
      const TensorDescription tensor = matrix(type, layout, 19, 37);
      const std::vector<float> back = decode(tensor, encode_all(tensor, copy_of(values)).data());
      for (size_t i = 0; i < values.size(); ++i) {
        const float expected = type == ElementType::f32    ? values[i]
                               : type == ElementType::bf16 ? from_bf16(to_bf16(values[i]))
                                                           : from_f16(to_f16(values[i]));
        REQUIRE(back[i] == expected);
      }
    }
  }
}

TEST_CASE("sources are read in ascending ranges that fit, piece by piece") {
  for (TensorLayout layout : {TensorLayout::row_major, TensorLayout::panel16}) {
    const uint64_t out = 1000, in = 611;
    uint64_t next = 0, largest = 0;
    const FloatSource source = [&](uint64_t first, std::span<float> values) {
      REQUIRE(first == next);
      next = first + values.size();
      REQUIRE(next <= out * in);
      largest = std::max<uint64_t>(largest, values.size());
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(first + i);
    };
    const TensorDescription tensor = matrix(ElementType::f32, layout, out, in);
    const std::vector<float> back = decode(tensor, encode_all(tensor, source).data());
    CHECK(next == out * in);
    CHECK(largest < out * in);
    for (size_t i = 0; i < back.size(); ++i) REQUIRE(back[i] == static_cast<float>(i));
  }
}

TEST_CASE("values beyond half precision are an error that names the tensor") {
  for (TensorLayout layout : {TensorLayout::row_major, TensorLayout::panel16}) {
    const TensorDescription tensor = matrix(ElementType::f16, layout, 1, 2);
    const float values[] = {1.f, 1e6f};
    CHECK_THROWS_WITH_AS(encode_all(tensor, copy_of(values)),
                         "matrix holds 1000000.000000, which f16 can't: convert with --dtype f32 or bf16", WriteError);
  }
}

TEST_CASE("equal_values compares what is stored") {
  const TensorDescription tensor = matrix(ElementType::bf16, TensorLayout::row_major, 1, 2);
  const float a[] = {1.f, 2.f}, near[] = {1.f, 2.0001f}, far[] = {1.f, 2.1f};
  CHECK(equal_values(tensor, copy_of(a), copy_of(near)));
  CHECK_FALSE(equal_values(tensor, copy_of(a), copy_of(far)));
}
