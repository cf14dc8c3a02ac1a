#include "converter/writer/tensor_data.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "base/description.h"
#include "converter/writer/model_builder.h"
#include "converter/writer/narrow.h"
#include "converter/writer/write_error.h"

namespace linformer_test::tensor_data_test {

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

TEST_CASE("panel16 puts every weight where the kernels read it, and zeros around") {
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

TEST_CASE("panels of bf16 keep two inputs together and panels of int8 four, and padded rows are whole cache lines") {
  std::mt19937 random(6);
  for (int round = 0; round < 40; ++round) {
    const uint64_t out = 1 + random() % 40, in = 1 + random() % (round % 5 == 0 ? 1700 : 140);
    const std::vector<float> weights = random_values(out * in, static_cast<uint32_t>(round));
    for (ElementType type : {ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::int8}) {
      for (TensorLayout layout : {TensorLayout::row_major, TensorLayout::panel16, TensorLayout::padded_rows}) {
        if (layout == TensorLayout::padded_rows && element_bytes(type) != 2) continue;
        CAPTURE(std::string(name_of(type)));
        CAPTURE(static_cast<int>(layout));
        CAPTURE(out);
        CAPTURE(in);
        const TensorDescription tensor = matrix(type, layout, out, in);
        RoundingError error;
        std::vector<std::byte> bytes;
        encode(
            tensor, copy_of(weights), [&](auto piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); },
            &error);
        REQUIRE(bytes.size() == encoded_bytes(tensor));
        const std::vector<float> back = decode(tensor, bytes.data());
        RoundingError expected;
        for (uint64_t i = 0; i < weights.size(); ++i) {
          if (type != ElementType::f32) expected.add(weights[i], back[i]);
          const float most = type == ElementType::f32    ? 0.f
                             : type == ElementType::int8 ? 3.f / 127 / 2 * 1.001f
                                                         : 3.f / 256;
          REQUIRE(std::abs(back[i] - weights[i]) <= most);
        }
        CHECK(error.relative() == doctest::Approx(expected.relative()));
        const uint64_t g = type == ElementType::int8 ? 4 : type == ElementType::bf16 ? 2 : 1;
        const uint64_t width = static_cast<uint64_t>(element_bytes(type)),
                       depth = (in + 16 * g - 1) / (16 * g) * 16 * g;
        if (layout == TensorLayout::panel16) {  // FORMAT.md's formula; bytes without an element are zero
          std::vector<bool> taken(bytes.size());
          for (uint64_t r = 0; r < out; ++r) {
            for (uint64_t c = 0; c < in; ++c) {
              const uint64_t at = r / 16 * depth * 16 + c / g * g * 16 + r % 16 * g + c % g;
              if (type == ElementType::f32) REQUIRE(std::memcmp(&bytes[at * 4], &weights[r * in + c], 4) == 0);
              for (uint64_t b = 0; b < width; ++b) taken[at * width + b] = true;
            }
          }
          for (uint64_t b = 0; b < (out + 15) / 16 * 16 * depth * width; ++b) {
            REQUIRE((taken[b] || bytes[b] == std::byte{0}));
          }
        }
        if (layout == TensorLayout::padded_rows) {
          CHECK(bytes.size() == out * ((in + 31) / 32 * 32) * 2);
        }
      }
    }
  }
}

TEST_CASE("int8: a table of 250,000 tokens takes a quarter of its f32 size and a scale for each row") {
  const uint64_t rows = 250000, width = 24;
  std::vector<float> table = random_values(rows * width, 7);
  // The rows have very different magnitudes, which a single scale would lose.
  for (uint64_t r = 0; r < rows; ++r) {
    for (uint64_t c = 0; c < width; ++c) table[r * width + c] *= std::ldexp(1.f, static_cast<int>(r % 20) - 10);
  }
  ModelBuilder builder(ElementType::int8);
  const TensorIndex index = builder.add_table("embed_tokens.weight", {rows, width}, table);
  const TensorDescription& tensor = builder.description.tensors[static_cast<size_t>(index)];
  CHECK(tensor.type == ElementType::int8);
  CHECK(tensor.layout == TensorLayout::row_major);
  const std::vector<std::byte> bytes = encode_all(tensor, copy_of(table));
  CHECK(bytes.size() == rows * width + rows * sizeof(float));  // both are multiples of 64 here
  CHECK(encoded_bytes(tensor) == bytes.size());
  const std::vector<float> stored = decode(tensor, bytes.data());
  size_t beyond = 0;
  for (uint64_t r = 0; r < rows; ++r) {
    float largest = 0;
    for (uint64_t c = 0; c < width; ++c) largest = std::max(largest, std::abs(table[r * width + c]));
    for (uint64_t c = 0; c < width; ++c) {
      beyond += std::abs(stored[r * width + c] - table[r * width + c]) > largest / 127 / 2 * 1.001f;
    }
  }
  CHECK(beyond == 0);
  CHECK(builder.rounding_errors()[static_cast<size_t>(index)].relative() < 0.01);
}

TEST_CASE("int8: weights are symmetric for each output and never -128, with the sums of each slice of 768 inputs") {
  const uint64_t out = 19, in = 1600;
  std::vector<float> weights = random_values(out * in, 3);
  std::fill_n(weights.begin() + 5 * in, in, 0.f);     // a channel of zeros
  std::fill_n(weights.begin() + 6 * in, in, 1e-38f);  // a channel of tiny values
  std::fill_n(weights.begin() + 7 * in, in, -3e38f);  // a channel of the largest values
  const TensorDescription tensor = matrix(ElementType::int8, TensorLayout::panel16, out, in);
  const std::vector<std::byte> bytes = encode_all(tensor, copy_of(weights));
  const uint64_t elements = 32 * 1600;
  REQUIRE(bytes.size() == elements + 32 * 4 + 3 * 32 * 4);
  std::vector<float> scales(32);
  std::vector<int32_t> sums(3 * 32), expected(sums);
  std::memcpy(scales.data(), &bytes[elements], scales.size() * 4);
  std::memcpy(sums.data(), &bytes[elements + 128], sums.size() * 4);
  for (uint64_t r = 0; r < out; ++r) {
    float largest = 0;
    int most = 0;
    for (uint64_t c = 0; c < in; ++c) {
      largest = std::max(largest, std::abs(weights[r * in + c]));
      const int code = static_cast<int8_t>(bytes[r / 16 * in * 16 + c / 4 * 64 + r % 16 * 4 + c % 4]);
      most = std::max(most, std::abs(code));
      expected[c / 768 * 32 + r] += code;
    }
    CHECK(most == (r == 5 || r == 6 ? 0 : 127));
    CHECK(scales[r] == (r == 5 || r == 6 ? 0.f : largest / 127));
  }
  CHECK(sums == expected);
  // Decoded values are encoded to the same bytes again.
  CHECK(encode_all(tensor, copy_of(decode(tensor, bytes.data()))) == bytes);

  // The largest numbers of f32 decode to finite values.
  std::vector<float> extreme = weights;
  extreme[40] = std::numeric_limits<float>::max();
  for (const float value : decode(tensor, encode_all(tensor, copy_of(extreme)).data())) CHECK(std::isfinite(value));

  weights[40] = std::numeric_limits<float>::infinity();
  CHECK_THROWS_WITH_AS(encode_all(tensor, copy_of(weights)),
                       "matrix holds inf, which int8 can't: keep this weight in f32", WriteError);
  const TensorDescription wide = matrix(ElementType::int8, TensorLayout::panel16, 1, 65537);
  CHECK_THROWS_WITH_AS(encode_all(wide, copy_of(std::vector<float>(65537))),
                       "matrix has 65537 inputs: int8 takes at most 65536, keep this weight in f32", WriteError);
}

TEST_CASE("every type and layout decodes to the values rounded to the type") {
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

TEST_CASE("sources are read in several ranges, each of which begins at the end of the last one") {
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
                         "matrix holds 1e+06, which f16 can't: keep this weight in f32, or convert all weights to bf16",
                         WriteError);
  }
}

TEST_CASE("a shape that can't be stored is an error that says which limit it exceeds") {
  TensorDescription tensor = matrix(ElementType::f32, TensorLayout::row_major, 0, 4);
  CHECK_THROWS_WITH_AS(encoded_bytes(tensor), "matrix has a dimension of 0: 1 to 16777216 are possible", WriteError);
  tensor.shape = {1 << 24, 1 << 24, 1 << 24};
  CHECK_THROWS_WITH_AS(encoded_bytes(tensor), "matrix has more elements than 64 bits can count", WriteError);
  tensor.shape = {1 << 22, 1 << 20, 1 << 21};
  CHECK_THROWS_WITH_AS(encoded_bytes(tensor), "matrix takes more bytes than 64 bits can count", WriteError);
}

TEST_CASE("equal_values compares values as they are stored") {
  const TensorDescription tensor = matrix(ElementType::bf16, TensorLayout::row_major, 1, 2);
  const float a[] = {1.f, 2.f}, near[] = {1.f, 2.0001f}, far[] = {1.f, 2.1f};
  CHECK(equal_values(tensor, copy_of(a), copy_of(near)));
  CHECK_FALSE(equal_values(tensor, copy_of(a), copy_of(far)));
}

}  // namespace linformer_test::tensor_data_test
