// The FLOPs that `linformer bench` divides by its times: closed formulas beside the program's sum.
#include <doctest/doctest.h>

#include "bench/measure.h"
#include "support/random_model.h"

namespace linformer_test::flop_test {
namespace {

constexpr double d = 768, k = 128, ffn = 3072;

RandomModel small_base() {  // RoBERTa-base but for few layers and a small vocabulary
  RandomModel shape;
  shape.n = 512;
  shape.k = 128;
  shape.d_model = 768;
  shape.heads = 12;
  shape.ffn = 3072;
  shape.layers = 2;
  shape.vocabulary = 20;
  shape.shared_key_value = shape.shared_layers = true;
  return shape;
}

double flop_of(const RandomModel& shape, int64_t n) {
  linformer::SessionOptions options;
  options.memory.max_tokens = shape.n;
  return linformer::bench::encoder_flop(*random_model(shape), options, n).all;
}

// Multiply-adds of a layer but for its keys and values.
double rest(double n) { return 2 * n * d * d + 2 * n * d * ffn + 2 * n * k * d; }

TEST_CASE("FLOPs of layers with E = F") {
  for (const int64_t n : {512, 300}) {
    const double rows = static_cast<double>(n);
    // (E Z) W: E Z once for both sides.
    const double layer = rest(rows) + rows * k * d + 2 * k * d * d;
    CHECK(flop_of(small_base(), n) == 2 * 2 * layer);
  }
}

TEST_CASE("E and F apart cost one more projection") {
  RandomModel shape = small_base();
  shape.shared_key_value = false;
  const double layer = rest(512) + 2 * 512 * k * d + 2 * k * d * d;
  CHECK(flop_of(shape, 512) == 2 * 2 * layer);
}

TEST_CASE("a short text takes E (Z W), or has its scores compressed") {
  // Scores: 2 n n (d + 12 k) is less than 4 n k d up to n = 2 k d / (d + 12 k) = 85.3.
  for (const int64_t n : {1, 60, 85}) {
    const double rows = static_cast<double>(n), keys = 2 * rows * d * d + 2 * rows * rows * (d + 12 * k);
    CHECK(flop_of(small_base(), n) == 2 * 2 * (2 * rows * d * d + 2 * rows * d * ffn + keys));
  }
  // E = F: 2 n d^2 + 2 n k d is less than n k d + 2 k d^2 up to n = 2 k d / (2 d + k) = 118.2.
  for (const int64_t n : {86, 118}) {
    const double rows = static_cast<double>(n);
    CHECK(flop_of(small_base(), n) == 2 * 2 * (rest(rows) + 2 * rows * d * d + 2 * rows * k * d));
  }
  CHECK(flop_of(small_base(), 119) == 2 * 2 * (rest(119) + 119 * k * d + 2 * k * d * d));
}

TEST_CASE("heads are not counted") {
  RandomModel shape = small_base();
  const double with = flop_of(shape, 512);
  shape.head_classes = {};
  shape.masked_lm = false;
  CHECK(flop_of(shape, 512) == with);
}

}  // namespace
}  // namespace linformer_test::flop_test
