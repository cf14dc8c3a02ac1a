#include <doctest/doctest.h>

#include <algorithm>

#include "kernels/kernel_support.h"

namespace linformer_test::rows_test {

using namespace linformer;

namespace {

void check_softmax(const Kernels& kernels, Random& random, int64_t rows, int64_t cols, float spread) {
  const int64_t ld = cols + random_size(random, 0, 5);
  const float scale = random() % 2 == 0 ? 1.f : 0.125f;
  GuardedArray<float> x((rows - 1) * ld + cols), before(x.size());
  fill_random(random, before.data(), before.size(), spread);
  // Values far from 0 show whether the row's own maximum is subtracted.
  const float offset = std::vector<float>{0.f, -2000.f, 500.f}[random() % 3];
  for (int64_t i = 0; i < before.size(); ++i) before[i] += offset;
  std::memcpy(x.data(), before.data(), static_cast<size_t>(x.size()) * sizeof(float));
  kernels.softmax_rows({x.data(), rows, cols, ld}, scale);
  REQUIRE(x.front_intact());
  for (int64_t r = 0; r < rows; ++r) {
    double highest = -INFINITY, sum = 0, worst = 0;
    for (int64_t j = 0; j < cols; ++j) highest = std::fmax(highest, static_cast<double>(before[r * ld + j] * scale));
    for (int64_t j = 0; j < cols; ++j) sum += std::exp(static_cast<double>(before[r * ld + j] * scale) - highest);
    for (int64_t j = 0; j < cols; ++j) {
      const double want = std::exp(static_cast<double>(before[r * ld + j] * scale) - highest) / sum;
      const double error = std::abs(want - static_cast<double>(x[r * ld + j])) / (want + 1e-37);
      if (!(error <= worst)) worst = error;
    }
    // The bound has the error of exp (1.2e-7), half an ulp of the difference (up to 88), and the rounding of the sum.
    REQUIRE(worst <= 3e-7 + 6e-8 * static_cast<double>(std::fmin(2.f * spread * scale, 88.f)) +
                         1e-9 * static_cast<double>(cols));
    for (int64_t j = r * ld + cols; j < (r + 1) * ld && j < x.size(); ++j) REQUIRE(x[j] == before[j]);
  }
}

// Checks a softmax over the columns of `blocks` blocks. Each element is masked with probability 1/4. If there are
// several blocks, all of row 0 is masked in the first one.
void check_softmax_steps(const Kernels& kernels, Random& random, int64_t rows, int64_t most_cols, int64_t blocks,
                         float spread) {
  const float scale = random() % 2 == 0 ? 1.f : 0.125f, masked = -1e30f;
  const float offset = std::vector<float>{0.f, -2000.f, 500.f}[random() % 3];
  GuardedArray<float> row_max(rows), row_sum(rows), rescale(rows);
  row_max.fill(-INFINITY);
  row_sum.fill(0.f);
  rescale.fill(quiet_nan);
  std::vector<std::vector<double>> inputs(static_cast<size_t>(rows)), results(inputs.size());
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t cols = random_size(random, 1, most_cols), ld = cols + random_size(random, 0, 5);
    GuardedArray<float> x((rows - 1) * ld + cols), before(x.size());
    fill_random(random, before.data(), before.size(), spread);
    for (int64_t i = 0; i < before.size(); ++i) {
      before[i] = random() % 4 == 0 || (block == 0 && i < cols && blocks > 1) ? masked : before[i] + offset;
    }
    for (int64_t r = 0; block + 1 == blocks && r < rows; ++r) before[r * ld] = offset;  // No row is completely masked.
    std::memcpy(x.data(), before.data(), static_cast<size_t>(x.size()) * sizeof(float));
    kernels.softmax_step({x.data(), rows, cols, ld}, scale, {row_max.data(), row_sum.data(), rescale.data()});
    REQUIRE((x.front_intact() && row_max.front_intact() && row_sum.front_intact() && rescale.front_intact()));
    for (int64_t r = 0; r < rows; ++r) {
      std::vector<double>& result = results[static_cast<size_t>(r)];
      for (double& value : result) value *= static_cast<double>(rescale[r]);
      for (int64_t j = 0; j < cols; ++j) {
        inputs[static_cast<size_t>(r)].push_back(static_cast<double>(before[r * ld + j]));
        result.push_back(static_cast<double>(x[r * ld + j]));
      }
      for (int64_t j = r * ld + cols; j < (r + 1) * ld && j < x.size(); ++j) REQUIRE(x[j] == before[j]);
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    const std::vector<double>& input = inputs[static_cast<size_t>(r)];
    const double top = *std::max_element(input.begin(), input.end());
    REQUIRE(static_cast<double>(row_max[r]) == top * static_cast<double>(scale));
    double sum = 0, worst = 0;
    for (double value : input) sum += std::exp((value - top) * static_cast<double>(scale));
    for (size_t j = 0; j < input.size(); ++j) {
      const double got = results[static_cast<size_t>(r)][j] / static_cast<double>(row_sum[r]);
      if (input[j] == static_cast<double>(masked)) REQUIRE(got == 0);
      const double want = std::exp((input[j] - top) * static_cast<double>(scale)) / sum;
      const double error = std::abs(want - got) / (want + 1e-37);
      if (!(error <= worst)) worst = error;
    }
    // The bound is that of softmax_rows, multiplied by the number of blocks, because each block rescales sums.
    REQUIRE(worst <=
            static_cast<double>(blocks) * (3e-7 + 6e-8 * static_cast<double>(std::fmin(2.f * spread * scale, 88.f)) +
                                           1e-9 * static_cast<double>(most_cols)));
  }
}

}  // namespace

TEST_CASE("softmax_step in several blocks agrees with double arithmetic over all columns") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(std::string(name_of(kernels->isa)));
    Random random(5);
    for (int round = 0; round < 200; ++round) {
      check_softmax_steps(*kernels, random, random_size(random, 1, 9), random_size(random, 1, 150),
                          random_size(random, 1, 6), round % 2 == 0 ? 5.f : 40.f);
    }
    for (int64_t cols : {1, 15, 16, 17, 128}) check_softmax_steps(*kernels, random, 3, cols, 3, 10.f);
  }
}

TEST_CASE("softmax_step keeps NaN, and a completely masked block doesn't change the result") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(std::string(name_of(kernels->isa)));
    for (int64_t cols : {1, 7, 16, 37}) {
      GuardedArray<float> x(cols);
      float row_max = -INFINITY, row_sum = 0, rescale = 7;
      const MutableMatrix row{x.data(), 1, cols, cols};
      x.fill(-1e30f);
      kernels->softmax_step(row, 0.5f, {&row_max, &row_sum, &rescale});
      CHECK(rescale == 0);
      CHECK(std::isfinite(row_sum));
      x.fill(-3.f);
      kernels->softmax_step(row, 0.5f, {&row_max, &row_sum, &rescale});
      CHECK(rescale == 0);
      CHECK(row_max == -1.5f);
      CHECK(row_sum == doctest::Approx(static_cast<double>(cols)).epsilon(1e-6));
      x.fill(1.f);
      x[cols / 2] = quiet_nan;
      kernels->softmax_step(row, 0.5f, {&row_max, &row_sum, &rescale});
      CHECK(std::isnan(row_sum));
    }
  }
}

TEST_CASE("scale_rows multiplies each row, tails included") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(std::string(name_of(kernels->isa)));
    Random random(6);
    for (int64_t cols = 0; cols < 70; ++cols) {
      const int64_t rows = random_size(random, 1, 5), ld = cols + random_size(random, 0, 5);
      GuardedArray<float> x((rows - 1) * ld + cols), factors(rows);
      fill_random(random, x.data(), x.size());
      fill_random(random, factors.data(), rows);
      factors[0] = 0.f;
      std::vector<float> want(x.data(), x.data() + x.size());
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t j = 0; j < cols; ++j) want[static_cast<size_t>(r * ld + j)] *= factors[r];
      }
      kernels->scale_rows({x.data(), rows, cols, ld}, factors.data());
      REQUIRE(same_bits(x.data(), want.data(), x.size()));
      REQUIRE((x.front_intact() && factors.front_intact()));
    }
  }
}

TEST_CASE("softmax_rows agrees with double arithmetic") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(std::string(name_of(kernels->isa)));
    Random random(1);
    for (int round = 0; round < 200; ++round) {
      check_softmax(*kernels, random, random_size(random, 1, 9), random_size(random, 1, 300),
                    round % 2 == 0 ? 5.f : 40.f);
    }
    for (int64_t cols : {1, 15, 16, 17, 127, 128, 129, 4096}) check_softmax(*kernels, random, 3, cols, 10.f);
  }
}

TEST_CASE("softmax_rows handles rows with infinities, subnormals and NaN") {
  const float inf = INFINITY;
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(std::string(name_of(kernels->isa)));
    for (int64_t cols : {2, 7, 16, 37}) {
      GuardedArray<float> x(cols);
      // A masked position is -inf, and its result is exactly 0.
      for (int64_t j = 0; j < cols; ++j) x[j] = j == 1 ? 3.f : -inf;
      kernels->softmax_rows({x.data(), 1, cols, cols}, 0.5f);
      for (int64_t j = 0; j < cols; ++j) CHECK(x[j] == (j == 1 ? 1.f : 0.f));
      // Subnormals give the same result as 0 within the tolerance.
      for (int64_t j = 0; j < cols; ++j) x[j] = static_cast<float>(j) * 1e-42f;
      kernels->softmax_rows({x.data(), 1, cols, cols}, 1.f);
      for (int64_t j = 0; j < cols; ++j) CHECK(x[j] == doctest::Approx(1. / static_cast<double>(cols)).epsilon(1e-6));
      // Values far below the maximum underflow to 0.
      for (int64_t j = 0; j < cols; ++j) x[j] = j == cols - 1 ? 1000.f : -1e30f;
      kernels->softmax_rows({x.data(), 1, cols, cols}, 1.f);
      for (int64_t j = 0; j < cols; ++j) CHECK(x[j] == (j == cols - 1 ? 1.f : 0.f));
      // A NaN makes the whole row NaN.
      x.fill(1.f);
      x[cols / 2] = quiet_nan;
      kernels->softmax_rows({x.data(), 1, cols, cols}, 1.f);
      for (int64_t j = 0; j < cols; ++j) CHECK(std::isnan(x[j]));
      x.fill(-inf);
      kernels->softmax_rows({x.data(), 1, cols, cols}, 1.f);
      for (int64_t j = 0; j < cols; ++j) CHECK(std::isnan(x[j]));
    }
  }
}

TEST_CASE("norm_rows agrees with double arithmetic for each kind of norm, with and without bias, also in place") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(std::string(name_of(kernels->isa)));
    Random random(2);
    for (int round = 0; round < 200; ++round) {
      const int64_t rows = random_size(random, 1, 20), cols = random_size(random, 2, 300);
      const int64_t x_ld = cols + random_size(random, 0, 5);
      const bool in_place = random() % 2 == 0;
      const int64_t y_ld = in_place ? x_ld : cols + random_size(random, 0, 5);
      GuardedArray<float> x((rows - 1) * x_ld + cols), y((rows - 1) * y_ld + cols), scale(cols), bias(cols);
      fill_random(random, x.data(), x.size(), 3.f);
      fill_random(random, scale.data(), cols);
      fill_random(random, bias.data(), cols);
      const float offset = random() % 2 == 0 ? 0.f : 20.f;
      const NormKind kind = random() % 2 == 0 ? NormKind::layer : NormKind::rms;
      const bool has_bias = random() % 3 != 0;
      for (int64_t i = 0; i < x.size(); ++i) x[i] += offset;
      y.fill(quiet_nan);
      if (in_place) std::memcpy(y.data(), x.data(), static_cast<size_t>(x.size()) * sizeof(float));
      kernels->norm_rows({in_place ? y.data() : x.data(), rows, cols, x_ld},
                         {scale.data(), has_bias ? bias.data() : nullptr, 1e-5f, kind}, {y.data(), rows, cols, y_ld});
      REQUIRE(y.front_intact());
      for (int64_t r = 0; r < rows; ++r) {
        double mean = 0, variance = 0, worst = 0;
        for (int64_t j = 0; j < cols; ++j) mean += static_cast<double>(x[r * x_ld + j]);
        mean = kind == NormKind::rms ? 0 : mean / static_cast<double>(cols);
        for (int64_t j = 0; j < cols; ++j) variance += std::pow(static_cast<double>(x[r * x_ld + j]) - mean, 2);
        const double inverse = 1 / std::sqrt(variance / static_cast<double>(cols) + 1e-5);
        for (int64_t j = 0; j < cols; ++j) {
          const double want = (static_cast<double>(x[r * x_ld + j]) - mean) * inverse * static_cast<double>(scale[j]) +
                              (has_bias ? static_cast<double>(bias[j]) : 0);
          const double error = std::abs(want - static_cast<double>(y[r * y_ld + j]));
          if (!(error <= worst)) worst = error;
        }
        // The mean of values up to 23 has an error of a few ulps of 23. A row of nearly equal values magnifies this
        // error by up to 1/sqrt(eps).
        REQUIRE(worst <= (1e-6 + 2e-6 * static_cast<double>(offset)) * (1 + inverse));
      }
    }
  }
}

TEST_CASE("rotate_rows gives the same bits as a scalar loop, also at widths with tails") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(std::string(name_of(kernels->isa)));
    Random random(11);
    for (int round = 0; round < 100; ++round) {
      const int64_t rows = random_size(random, 1, 9), heads = random_size(random, 1, 5);
      const int64_t half = random_size(random, 1, 40), cols = heads * 2 * half;
      const int64_t x_ld = cols + random_size(random, 0, 5), table_ld = 2 * half + random_size(random, 0, 3);
      GuardedArray<float> x((rows - 1) * x_ld + cols), table((rows - 1) * table_ld + 2 * half);
      fill_random(random, x.data(), x.size(), 3.f);
      fill_random(random, table.data(), table.size());
      std::vector<float> want(x.data(), x.data() + x.size());
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t i = 0; i < heads * half; ++i) {
          const int64_t channel = i % half, first = r * x_ld + i / half * 2 * half + channel;
          const float cosine = table[r * table_ld + channel], sine = table[r * table_ld + half + channel];
          const volatile float products[] = {x[first] * cosine, x[first + half] * sine, x[first + half] * cosine,
                                             x[first] * sine};
          want[static_cast<size_t>(first)] = products[0] - products[1];
          want[static_cast<size_t>(first + half)] = products[2] + products[3];
        }
      }
      kernels->rotate_rows({x.data(), rows, cols, x_ld}, {table.data(), rows, 2 * half, table_ld});
      REQUIRE(x.front_intact());
      REQUIRE(std::memcmp(x.data(), want.data(), want.size() * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("norms and softmax give a row the same bits alone and with other rows") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(std::string(name_of(kernels->isa)));
    Random random(8);
    for (int round = 0; round < 50; ++round) {
      const int64_t rows = random_size(random, 1, 20), cols = random_size(random, 1, 100);
      std::vector<float> x(static_cast<size_t>(rows * cols)), scale(static_cast<size_t>(cols), 1.f), bias(scale);
      fill_random(random, x.data(), rows * cols, 3.f);
      const NormWeights weights{scale.data(), bias.data(), 1e-5f};
      std::vector<float> norms = x, each_norm = x, softmax = x, each_softmax = x;
      kernels->norm_rows({norms.data(), rows, cols, cols}, weights, {norms.data(), rows, cols, cols});
      kernels->softmax_rows({softmax.data(), rows, cols, cols}, 0.5f);
      for (int64_t r = 0; r < rows; ++r) {
        const MutableMatrix norm{each_norm.data() + r * cols, 1, cols, cols};
        kernels->norm_rows(norm, weights, norm);
        kernels->softmax_rows({each_softmax.data() + r * cols, 1, cols, cols}, 0.5f);
      }
      CHECK(same_bits(norms.data(), each_norm.data(), rows * cols));
      CHECK(same_bits(softmax.data(), each_softmax.data(), rows * cols));
    }
  }
}

TEST_CASE("activations agree with double arithmetic over their whole range") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(std::string(name_of(kernels->isa)));
    std::vector<float> xs;
    for (int i = -40000; i <= 40000; ++i) xs.push_back(static_cast<float>(i) * 0.0005f);
    for (float x : {0.f, -0.f, 1e-40f, -1e-40f, 1e-20f, 50.f, -50.f, 88.5f, -88.5f, 1e4f, -1e4f, 1e30f, -1e30f})
      xs.push_back(x);
    const int64_t count = static_cast<int64_t>(xs.size());
    for (Activation activation : all_activations) {
      CAPTURE(std::string(name_of(activation)));
      GuardedArray<float> y(count);
      std::memcpy(y.data(), xs.data(), xs.size() * sizeof(float));
      kernels->activate(activation, {y.data(), 1, count, count});
      double worst = 0;
      for (int64_t i = 0; i < count; ++i) {
        const double x = static_cast<double>(xs[static_cast<size_t>(i)]);
        const double error =
            std::abs(apply_activation(activation, x) - static_cast<double>(y[i])) / std::fmax(1., std::abs(x));
        if (!(error <= worst)) worst = error;
      }
      CHECK(worst <= 1.2e-7);
    }
  }
}

TEST_CASE("activations of infinity are their limits, and activations of NaN are NaN") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(std::string(name_of(kernels->isa)));
    for (Activation activation : all_activations) {
      CAPTURE(std::string(name_of(activation)));
      GuardedArray<float> y(2);
      y[0] = INFINITY;
      y[1] = quiet_nan;
      kernels->activate(activation, {y.data(), 1, 2, 2});
      const bool bounded = activation == Activation::tanh || activation == Activation::sigmoid;
      CHECK(y[0] == (bounded ? 1.f : INFINITY));
      CHECK(std::isnan(y[1]));
    }
  }
}

TEST_CASE("an activation's bits don't depend on the position in the array") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(std::string(name_of(kernels->isa)));
    Random random(3);
    for (Activation activation : all_activations) {
      std::vector<float> whole(400);
      fill_random(random, whole.data(), 400, 6.f);
      std::vector<float> parts = whole;
      kernels->activate(activation, {whole.data(), 1, 400, 400});
      for (int64_t i = 0; i < 400;) {
        const int64_t count = std::min<int64_t>(random_size(random, 1, 21), 400 - i);
        kernels->activate(activation, {parts.data() + i, 1, count, count});
        i += count;
      }
      CHECK(same_bits(whole.data(), parts.data(), 400));
    }
  }
}

TEST_CASE("activate leaves elements between rows unchanged") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(std::string(name_of(kernels->isa)));
    Random random(7);
    for (Activation activation : all_activations) {
      for (int64_t cols : {0, 1, 7, 16, 37}) {
        const int64_t rows = 3, ld = cols + 3;
        GuardedArray<float> x((rows - 1) * ld + cols);
        fill_random(random, x.data(), x.size(), 6.f);
        std::vector<float> want(x.data(), x.data() + x.size());
        for (int64_t r = 0; r < rows; ++r) kernels->activate(activation, {want.data() + r * ld, 1, cols, cols});
        kernels->activate(activation, {x.data(), rows, cols, ld});
        REQUIRE(same_bits(x.data(), want.data(), x.size()));
        REQUIRE(x.front_intact());
      }
    }
  }
}

TEST_CASE("add, multiply and widen give the same bits as scalar loops, tails included") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(std::string(name_of(kernels->isa)));
    Random random(4);
    for (int64_t count = 0; count < 70; ++count) {
      GuardedArray<float> x(count), y(count);
      fill_random(random, x.data(), count);
      fill_random(random, y.data(), count);
      std::vector<float> want(x.data(), x.data() + count);
      for (int64_t i = 0; i < count; ++i) want[static_cast<size_t>(i)] += y[i];
      kernels->add(x.data(), y.data(), count);
      REQUIRE(same_bits(x.data(), want.data(), count));
      REQUIRE(x.front_intact());
      for (int64_t i = 0; i < count; ++i) want[static_cast<size_t>(i)] *= y[i];
      kernels->multiply(x.data(), y.data(), count);
      REQUIRE(same_bits(x.data(), want.data(), count));
      REQUIRE((x.front_intact() && y.front_intact()));
      kernels->widen(ElementType::f32, y.data(), x.data(), count);
      REQUIRE(same_bits(x.data(), y.data(), count));
      GuardedArray<uint16_t> halves(count);
      for (ElementType type : {ElementType::bf16, ElementType::f16}) {
        for (int64_t i = 0; i < count; ++i) halves[i] = truncate_to(type, y[i]);
        x.fill(quiet_nan);
        kernels->widen(type, halves.data(), x.data(), count);
        for (int64_t i = 0; i < count; ++i) REQUIRE(static_cast<double>(x[i]) == half_to_double(type, halves[i]));
      }
    }
  }
}

TEST_CASE("every 16-bit pattern widens exactly") {
  std::vector<uint16_t> halves(65536);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  std::vector<float> wide(halves.size());
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(std::string(name_of(kernels->isa)));
    for (ElementType type : {ElementType::bf16, ElementType::f16}) {
      kernels->widen(type, halves.data(), wide.data(), 65536);
      int64_t wrong = 0;
      for (size_t i = 0; i < halves.size(); ++i) {
        const double want = half_to_double(type, halves[i]);
        const double got = static_cast<double>(wide[i]);
        if (std::isnan(want) ? !std::isnan(got) : want != got || std::signbit(want) != std::signbit(got)) ++wrong;
      }
      CHECK(wrong == 0);
    }
  }
}

}  // namespace linformer_test::rows_test
