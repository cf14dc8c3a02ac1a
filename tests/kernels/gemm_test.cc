#include <doctest/doctest.h>

#include <algorithm>

#include "kernels/kernel_support.h"

namespace linformer_test::gemm_test {

using namespace linformer;

namespace {

// A product with random operands.
struct Problem {
  int64_t m, n, k, a_ld, c_ld, residual_ld;
  ElementType type;
  bool bias, row_bias, residual, residual_is_c, accumulate;
  Activation activation;
  GuardedArray<float> a, bias_values, row_bias_values, residual_values, c_before;
  GuardedArray<char> b;          // In the layout panel16.
  std::vector<double> b_values;  // [K, N]

  Problem(Random& random, int64_t rows, int64_t cols, int64_t depth, ElementType b_type)
      : m(rows),
        n(cols),
        k(depth),
        a_ld(k + random_size(random, 0, 5)),
        c_ld(n + random_size(random, 0, 5)),
        residual_ld(n + random_size(random, 0, 5)),
        type(b_type),
        bias(random() % 2 == 0),
        row_bias(random() % 4 == 0),
        residual(random() % 3 == 0),
        residual_is_c(random() % 2 == 0),
        accumulate(random() % 4 == 0),
        activation(all_activations[random() % std::size(all_activations)]),
        a((m - 1) * a_ld + k),
        bias_values(n),
        row_bias_values(m),
        residual_values((m - 1) * residual_ld + n),
        c_before((m - 1) * c_ld + n),
        b(panel_elements(type, k, n) * element_bytes(type)),
        b_values(static_cast<size_t>(k * n)) {
    if (accumulate) {
      bias = row_bias = residual = false;
      activation = Activation::none;
    }
    fill_random(random, a.data(), a.size());
    fill_random(random, bias_values.data(), n);
    fill_random(random, row_bias_values.data(), m);
    fill_random(random, residual_values.data(), residual_values.size());
    // C may be read only if the product is added to it or if it is the residual. Otherwise NaN shows that it was read.
    c_before.fill(quiet_nan);
    if (accumulate || (residual && residual_is_c)) fill_random(random, c_before.data(), c_before.size());
    std::vector<float> plain(static_cast<size_t>(k * n));
    fill_random(random, plain.data(), k * n);
    std::memset(b.data(), 0, static_cast<size_t>(b.size()));
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const int64_t at = panel_index(type, k, i, j);
        const float value = plain[static_cast<size_t>(i * n + j)];
        double kept = static_cast<double>(value);
        if (type == ElementType::f32) {
          std::memcpy(b.data() + at * 4, &value, 4);
        } else {
          const uint16_t half = truncate_to(type, value);
          std::memcpy(b.data() + at * 2, &half, 2);
          kept = half_to_double(type, half);
        }
        b_values[static_cast<size_t>(i * n + j)] = kept;
      }
    }
  }

  // Returns the arguments for rows [begin, end) and for `panels` panels that begin with panel number `panel`. `c`
  // points to the whole of C.
  GemmArgs gemm(float* c, int64_t begin, int64_t end, int64_t panel = 0, int64_t panels = 1 << 20) const {
    const int64_t col = panel * panel_width, rows = end - begin, cols = std::min(n - col, panels * panel_width);
    GemmArgs g;
    g.a = ConstMatrix{a.data(), m, k, a_ld}.part(begin, 0, rows, k);
    g.b = {b.data() + panel_index(type, k, 0, col) * element_bytes(type), type, RightLayout::panel16, k, cols, 0};
    g.c = MutableMatrix{c, m, n, c_ld}.part(begin, col, rows, cols);
    g.epilogue.accumulate = accumulate;
    g.epilogue.activation = activation;
    if (bias) g.epilogue.bias = bias_values.data() + col;
    if (row_bias) g.epilogue.row_bias = row_bias_values.data() + begin;
    if (residual && residual_is_c) g.epilogue.residual = g.c.floats();
    if (residual && !residual_is_c) {
      g.epilogue.residual = ConstMatrix{residual_values.data(), m, n, residual_ld}.part(begin, col, rows, cols);
    }
    return g;
  }

  // Returns C[i, j] in double precision. *slack gets the largest rounding error that a float result may have.
  double reference(int64_t i, int64_t j, double* slack) const {
    double sum = 0, magnitude = 0;
    for (int64_t kk = 0; kk < k; ++kk) {
      const double term = static_cast<double>(a[i * a_ld + kk]) * b_values[static_cast<size_t>(kk * n + j)];
      sum += term;
      magnitude += std::abs(term);
    }
    double x = sum;
    *slack = 6e-8 * (4. + 0.5 * std::sqrt(static_cast<double>(k))) * (magnitude + 4.);
    if (accumulate) return x + static_cast<double>(c_before[i * c_ld + j]);
    if (row_bias) x += static_cast<double>(row_bias_values[i]);
    if (bias) x += static_cast<double>(bias_values[j]);
    x = apply_activation(activation, x);
    if (residual) {
      x += static_cast<double>(residual_is_c ? c_before[i * c_ld + j] : residual_values[i * residual_ld + j]);
    }
    return x;
  }

  // Computes C into `c`. Elements between the rows keep their old values.
  void run(const Kernels& kernels, GuardedArray<float>& c) const {
    std::memcpy(c.data(), c_before.data(), static_cast<size_t>(c.size()) * sizeof(float));
    kernels.gemm_f32(gemm(c.data(), 0, m));
  }
};

void check_against_double(const Kernels& kernels, const Problem& problem) {
  GuardedArray<float> c(problem.c_before.size());
  problem.run(kernels, c);
  REQUIRE(c.front_intact());
  double worst = 0;
  for (int64_t i = 0; i < problem.m; ++i) {
    for (int64_t j = 0; j < problem.n; ++j) {
      double slack = 0;
      const double want = problem.reference(i, j, &slack);
      const double error = std::abs(want - static_cast<double>(c[i * problem.c_ld + j])) / slack;
      if (!(error <= worst)) worst = error;
    }
    const int64_t gap = i * problem.c_ld + problem.n;
    const int64_t gap_end = std::min(gap + problem.c_ld - problem.n, c.size());
    REQUIRE(same_bits(c.data() + gap, problem.c_before.data() + gap, std::max<int64_t>(gap_end - gap, 0)));
  }
  CAPTURE(problem.m);
  CAPTURE(problem.n);
  CAPTURE(problem.k);
  CAPTURE(std::string(name_of(problem.type)));
  CAPTURE(std::string(name_of(problem.activation)));
  REQUIRE(worst <= 1.);
}

// Checks that the bits don't depend on which rows and columns are computed in one call.
void check_split(const Kernels& kernels, const Problem& problem, Random& random) {
  GuardedArray<float> whole(problem.c_before.size()), parts(problem.c_before.size());
  problem.run(kernels, whole);
  std::memcpy(parts.data(), problem.c_before.data(), static_cast<size_t>(parts.size()) * sizeof(float));
  const int64_t panels = (problem.n + 15) / 16;
  for (int64_t row = 0; row < problem.m;) {
    const int64_t rows = std::min(random_size(random, 1, 40), problem.m - row);
    for (int64_t panel = 0; panel < panels;) {
      const int64_t width = std::min(random_size(random, 1, 5), panels - panel);
      kernels.gemm_f32(problem.gemm(parts.data(), row, row + rows, panel, width));
      panel += width;
    }
    row += rows;
  }
  REQUIRE(same_bits(whole.data(), parts.data(), whole.size()));
}

constexpr ElementType all_types[] = {ElementType::f32, ElementType::bf16, ElementType::f16};

}  // namespace

TEST_CASE("gemm_f32 agrees with double arithmetic on random shapes") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(std::string(name_of(kernels->isa)));
    Random random(1);
    for (int round = 0; round < 250; ++round) {
      const int64_t m = random_size(random, 1, round % 10 == 0 ? 150 : 20);
      const int64_t k = random_size(random, 1, round % 7 == 0 ? 700 : 70);
      check_against_double(*kernels, Problem(random, m, random_size(random, 1, 130), k, all_types[random() % 3]));
    }
  }
}

TEST_CASE("gemm_f32 agrees with double arithmetic at all edges of its tiles and blocks") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(std::string(name_of(kernels->isa)));
    Random random(2);
    for (int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 127, 128, 129, 257}) {
      for (int64_t n : {1, 15, 16, 17, 47, 48, 49, 64}) {
        check_against_double(*kernels, Problem(random, m, n, random_size(random, 1, 20), all_types[random() % 3]));
      }
    }
    for (int64_t k : {255, 256, 257, 511, 512, 513, 3072}) {
      for (ElementType type : all_types) check_against_double(*kernels, Problem(random, 11, 33, k, type));
    }
  }
}

TEST_CASE("a row's bits don't depend on other rows or columns") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(std::string(name_of(kernels->isa)));
    Random random(3);
    for (int round = 0; round < 60; ++round) {
      const int64_t m = random_size(random, 1, round % 6 == 0 ? 300 : 40);
      const int64_t k = random_size(random, 1, round % 5 == 0 ? 900 : 100);
      check_split(*kernels, Problem(random, m, random_size(random, 1, 200), k, all_types[random() % 3]), random);
    }
  }
}

TEST_CASE("equal rows give equal bits at every position") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(std::string(name_of(kernels->isa)));
    Random random(4);
    Problem problem(random, 140, 75, 333, ElementType::f32);
    problem.row_bias = problem.residual = problem.accumulate = false;
    problem.activation = Activation::gelu;
    for (int64_t i = 1; i < problem.m; ++i) {
      std::copy(problem.a.data(), problem.a.data() + problem.k, problem.a.data() + i * problem.a_ld);
    }
    GuardedArray<float> c(problem.c_before.size());
    problem.run(*kernels, c);
    for (int64_t i = 1; i < problem.m; ++i) REQUIRE(same_bits(c.data(), c.data() + i * problem.c_ld, problem.n));
  }
}

TEST_CASE("pack_panel packs both orders and zeroes the padding") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(std::string(name_of(kernels->isa)));
    Random random(5);
    for (int round = 0; round < 300; ++round) {
      const int64_t k = random_size(random, 1, 80), n = random_size(random, 1, 80);
      const bool transposed = random() % 2 == 0;
      const int64_t rows = transposed ? n : k, cols = transposed ? k : n, ld = cols + random_size(random, 0, 5);
      GuardedArray<float> src((rows - 1) * ld + cols);
      fill_random(random, src.data(), src.size());
      GuardedArray<float> dst(panel_elements(ElementType::f32, k, n));
      dst.fill(quiet_nan);
      kernels->pack_panel({src.data(), rows, cols, ld}, transposed, dst.data());
      REQUIRE(dst.front_intact());
      const int64_t padded_k = (k + 15) / 16 * 16, padded_n = (n + 15) / 16 * 16;
      int64_t wrong = 0;
      for (int64_t i = 0; i < padded_k; ++i) {
        for (int64_t j = 0; j < padded_n; ++j) {
          const bool inside = i < k && j < n;
          const float want = !inside ? 0.f : transposed ? src[j * ld + i] : src[i * ld + j];
          if (dst[j / 16 * padded_k * 16 + i * 16 + j % 16] != want) ++wrong;
        }
      }
      REQUIRE(wrong == 0);
    }
  }
}

}  // namespace linformer_test::gemm_test
