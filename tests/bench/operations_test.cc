#include "bench/operations.h"

#include <doctest/doctest.h>

#include "support/random_model.h"

namespace linformer_test {
namespace {

RandomModel small_base() {  // RoBERTa-base but for one layer and a small vocabulary
  RandomModel shape;
  shape.n = 512;
  shape.k = 128;
  shape.d_model = 768;
  shape.heads = 12;
  shape.ffn = 3072;
  shape.layers = 1;
  shape.shared_key_value = shape.shared_layers = true;
  shape.masked_lm = false;
  return shape;
}

TEST_CASE("operations of a layer with E = F") {
  const auto model = random_model(small_base());
  for (const int64_t n : {512, 300}) {
    const double d = 768, k = 128, rows = static_cast<double>(n);
    const double multiply_adds = 2 * rows * d * d + 8 * rows * d * d + rows * k * d + 2 * k * d * d + 2 * rows * k * d;
    CHECK(linformer::bench::encoder_operations(model->description(), n) == doctest::Approx(2 * multiply_adds));
  }
}

TEST_CASE("E and F apart cost one more projection") {
  RandomModel shape = small_base();
  const double shared = linformer::bench::encoder_operations(random_model(shape)->description(), 512);
  shape.shared_key_value = false;
  const double apart = linformer::bench::encoder_operations(random_model(shape)->description(), 512);
  CHECK(apart - shared == doctest::Approx(2.0 * 512 * 128 * 768));
}

}  // namespace
}  // namespace linformer_test
