// Compares the FLOPs that `linformer bench` sums over the ops of a model with closed formulas.
#include <doctest/doctest.h>

#include "bench/measure.h"
#include "support/random_model.h"

namespace linformer_test::flop_test {
namespace {

constexpr double d = 768, k = 128, ffn = 3072;

RandomModel small_base() {  // RoBERTa-base with fewer layers and a smaller vocabulary.
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

// Returns the multiply-adds of a layer for a text of n tokens, without those that compute its keys and values.
double multiply_adds_without_kv(double n) { return 2 * n * d * d + 2 * n * d * ffn + 2 * n * k * d; }

TEST_CASE("the FLOPs of layers with E = F follow the formula") {
  for (const int64_t n : {512, 300}) {
    const double rows = static_cast<double>(n);
    // The layer computes (E Z) W, and computes E Z once for keys and values.
    const double layer = multiply_adds_without_kv(rows) + rows * k * d + 2 * k * d * d;
    CHECK(flop_of(small_base(), n) == 2 * 2 * layer);
  }
}

TEST_CASE("separate E and F cost one more projection") {
  RandomModel shape = small_base();
  shape.shared_key_value = false;
  const double layer = multiply_adds_without_kv(512) + 2 * 512 * k * d + 2 * k * d * d;
  CHECK(flop_of(shape, 512) == 2 * 2 * layer);
}

TEST_CASE("a short text computes E (Z W), or compresses its scores") {
  // Compressing the scores costs 2 n n (d + 12 k), which is less than 4 n k d up to n = 2 k d / (d + 12 k) = 85.3.
  for (const int64_t n : {1, 60, 85}) {
    const double rows = static_cast<double>(n), keys = 2 * rows * d * d + 2 * rows * rows * (d + 12 * k);
    CHECK(flop_of(small_base(), n) == 2 * 2 * (2 * rows * d * d + 2 * rows * d * ffn + keys));
  }
  // With E = F, E (Z W) costs 2 n d^2 + 2 n k d, which is less than the n k d + 2 k d^2 of (E Z) W up to n = 2 k d / (2
  // d + k) = 118.2.
  for (const int64_t n : {86, 118}) {
    const double rows = static_cast<double>(n);
    CHECK(flop_of(small_base(), n) == 2 * 2 * (multiply_adds_without_kv(rows) + 2 * rows * d * d + 2 * rows * k * d));
  }
  CHECK(flop_of(small_base(), 119) == 2 * 2 * (multiply_adds_without_kv(119) + 119 * k * d + 2 * k * d * d));
}

TEST_CASE("the FLOPs of heads are not counted") {
  RandomModel shape = small_base();
  const double with = flop_of(shape, 512);
  shape.head_classes = {};
  shape.masked_lm = false;
  CHECK(flop_of(shape, 512) == with);
}

}  // namespace
}  // namespace linformer_test::flop_test
