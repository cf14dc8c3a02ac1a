#include "converter/writer/narrow.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace linformer_test::narrow_test {

using namespace linformer;
using namespace linformer::writer;

namespace {

// Returns the 16-bit value that is nearest to `value`. The finite magnitudes of a 16-bit type ascend with their bits,
// so a binary search finds the two neighbours of `value`. This function takes the nearer one, computed exactly in
// double, or the even one at equal distance.
template <class From>
uint16_t nearest(float value, uint16_t infinity, double beyond, From from) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(static_cast<double>(value));
  uint32_t low = 0, high = infinity;
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    (static_cast<double>(from(static_cast<uint16_t>(middle))) <= magnitude ? low : high) = middle;
  }
  const double below = static_cast<double>(from(static_cast<uint16_t>(low)));
  const double above = high == infinity ? beyond : static_cast<double>(from(static_cast<uint16_t>(high)));
  const bool up = magnitude - below > above - magnitude || (magnitude - below == above - magnitude && (low & 1) != 0);
  return static_cast<uint16_t>(sign | (up ? high : low));
}

uint16_t nearest_f16(float value) { return nearest(value, 0x7c00, 65536.0, from_f16); }
uint16_t nearest_bf16(float value) { return nearest(value, 0x7f80, 0x1p128, from_bf16); }

bool is_nan_16(uint16_t bits, uint16_t infinity) { return (bits & 0x7fff) > infinity; }

}  // namespace

TEST_CASE("every 16-bit value is the same after conversion to float32 and back") {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const uint16_t half = static_cast<uint16_t>(bits);
    if (is_nan_16(half, 0x7c00)) {
      REQUIRE(std::isnan(from_f16(half)));
      REQUIRE(is_nan_16(to_f16(from_f16(half)), 0x7c00));
    } else {
      REQUIRE(to_f16(from_f16(half)) == half);
    }
    if (is_nan_16(half, 0x7f80)) {
      REQUIRE(is_nan_16(to_bf16(from_bf16(half)), 0x7f80));
    } else {
      REQUIRE(to_bf16(from_bf16(half)) == half);
    }
  }
  CHECK(from_f16(0x3c00) == 1.f);
  CHECK(from_f16(0x0001) == 0x1p-24f);
  CHECK(from_f16(0x7bff) == 65504.f);
  CHECK(from_bf16(0x3f80) == 1.f);
}

TEST_CASE("rounding is to nearest, ties to even") {
  std::mt19937 random(3);
  const auto check = [](float value) {
    CAPTURE(value);
    REQUIRE(to_f16(value) == nearest_f16(value));
    REQUIRE(to_bf16(value) == nearest_bf16(value));
  };
  for (int i = 0; i < 300000; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isfinite(value)) check(value);
  }
  // These are the midpoints between adjacent f16 numbers, subnormals included, and the floats next to the midpoints.
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const float low = from_f16(static_cast<uint16_t>(bits)), high = from_f16(static_cast<uint16_t>(bits + 1));
    const float middle = static_cast<float>((static_cast<double>(low) + static_cast<double>(high)) / 2);
    for (float value : {middle, std::nextafterf(middle, 0.f), std::nextafterf(middle, 1e9f), -middle}) check(value);
  }
  for (float value : {65519.996f, 65520.f, 0x1p-25f, 0x1.000002p-25f, std::numeric_limits<float>::max()}) check(value);
}

TEST_CASE("narrow reports the first finite value that a type can't hold") {
  const float values[] = {1.f, std::numeric_limits<float>::infinity(), -70000.f, 3e38f, 3.4e38f};
  std::byte out[sizeof values];
  CHECK(narrow(values, ElementType::f16, out) == 2);
  CHECK(narrow(values, ElementType::bf16, out) == 4);
  CHECK(narrow(std::span(values).first(4), ElementType::bf16, out) == -1);
  CHECK(narrow(values, ElementType::f32, out) == -1);
  float back[5];
  widen(out, ElementType::f32, back);
  CHECK(back[2] == -70000.f);
}

}  // namespace linformer_test::narrow_test
