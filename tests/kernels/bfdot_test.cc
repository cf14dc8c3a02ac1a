// Compares NEON's bf16 products with BFDOT as Arm's manual defines it (BFDotAdd): the products, their sum and its
// addition to the accumulator are rounded to odd, and subnormals count as zero.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>

#include "kernels/narrow_problem.h"

namespace linformer_test::bfdot_test {

using namespace linformer;

namespace {

float flushed(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.f, x) : x; }

// Returns a + b rounded to odd: truncated to a float, with the last bit set if the truncation changed the value.
float odd_sum(float a, float b) {
  const double x = static_cast<double>(a), y = static_cast<double>(b), sum = x + y;
  const double part = sum - x, error = (x - (sum - part)) + (y - part);  // The exact x + y minus the rounded sum.
  uint64_t bits = std::bit_cast<uint64_t>(sum);
  if (error != 0) {
    if ((error < 0) != (sum < 0)) --bits;  // The sum was rounded away from zero.
    bits |= 1;
  }
  constexpr uint64_t cut = (uint64_t{1} << 29) - 1;  // The bits of a double that a float doesn't have.
  const float whole = static_cast<float>(std::bit_cast<double>(bits & ~cut));
  return flushed((bits & cut) == 0 ? whole : std::bit_cast<float>(std::bit_cast<uint32_t>(whole) | 1u));
}

float of_bf16(const char* p) {
  uint16_t bits;
  std::memcpy(&bits, p, sizeof bits);
  return flushed(static_cast<float>(half_to_double(ElementType::bf16, bits)));
}

std::vector<float> bfdot_result(const LowPrecisionProblem& problem) {
  std::vector<float> c(static_cast<size_t>((problem.m - 1) * problem.c_ld + problem.n), quiet_nan);
  for (int64_t i = 0; i < problem.m; ++i) {
    for (int64_t j = 0; j < problem.n; ++j) {
      float sum = problem.epilogue.accumulate ? 0.25f : 0.f;
      const auto product = [&](int64_t k) {  // Exact, because a product has at most 16 bits.
        return k >= problem.k ? 0.f
                              : flushed(of_bf16(problem.a.data() + 2 * (i * problem.a_ld + k)) *
                                        of_bf16(problem.b.data() + 2 * panel_index(problem.type, problem.k, k, j)));
      };
      for (int64_t k = 0; k < problem.k; k += 2) sum = odd_sum(sum, odd_sum(product(k), product(k + 1)));
      const Epilogue& epilogue = problem.epilogue;
      if (epilogue.bias != nullptr) sum += epilogue.bias[j];
      if (epilogue.activation == Activation::relu && sum <= 0) sum = 0;
      if (epilogue.residual.data != nullptr) sum += epilogue.residual.row(i)[j];
      c[static_cast<size_t>(i * problem.c_ld + j)] = sum;
    }
  }
  return c;
}

}  // namespace

TEST_CASE("odd_sum() rounds to odd") {
  CHECK(odd_sum(1.f, 0x1p-20f) == 1.f + 0x1p-20f);
  CHECK(odd_sum(1.f, 0x1p-30f) == 1.f + 0x1p-23f);
  CHECK(odd_sum(1.f, -0x1p-30f) == 1.f - 0x1p-24f);
  CHECK(odd_sum(1.f, 0x1p-90f) == 1.f + 0x1p-23f);
  CHECK(odd_sum(-1.f, 0x1p-90f) == -1.f + 0x1p-24f);
  CHECK(odd_sum(1.f + 0x1p-23f, 0x1p-30f) == 1.f + 0x1p-23f);
  CHECK(odd_sum(1.f + 0x1p-22f, -0x1p-90f) == 1.f + 0x1p-23f);
  CHECK(odd_sum(0x1.8p-126f, -0x1p-126f) == 0.f);
}

TEST_CASE("NEON's bf16 products have the bits that BFDOT computes") {
  for (const Kernels* kernels : all_kernel_variants()) {
    if (kernels->isa != Isa::neon || kernels->gemm_bf16 == nullptr) continue;
    Random random(18);
    for (int round = 0; round < 150; ++round) {
      const int64_t m = random_size(random, 1, round % 10 == 0 ? 150 : 20);
      const int64_t k = random_size(random, 1, round % 7 == 0 ? 2000 : 300);
      LowPrecisionProblem problem(random, ElementType::bf16, m, random_size(random, 1, 130), k);
      problem.epilogue.accumulate = random() % 4 == 0;
      if (!problem.epilogue.accumulate) {
        if (random() % 2 == 0) problem.epilogue.bias = problem.bias.data();
        if (random() % 2 == 0) {
          problem.epilogue.residual = ConstMatrix{problem.residual.data(), m, problem.n, problem.c_ld};
        }
        if (random() % 2 == 0) problem.epilogue.activation = Activation::relu;
      }
      if (round % 5 == 0) {  // Products and sums are below the smallest normal float.
        for (int64_t i = 0; i < problem.a.size() / 2; ++i) {
          const float x = of_bf16(problem.a.data() + 2 * i) * 0x1p-125f;
          const uint16_t bits = truncate_to(ElementType::bf16, x);
          std::memcpy(problem.a.data() + 2 * i, &bits, sizeof bits);
        }
      }
      CAPTURE(m);
      CAPTURE(problem.n);
      CAPTURE(k);
      const std::vector<float> expected = bfdot_result(problem), found = problem.result(*kernels);
      REQUIRE(expected.size() == found.size());
      for (int64_t i = 0; i < m; ++i) {
        const int64_t at = i * problem.c_ld;
        REQUIRE(same_bits(expected.data() + at, found.data() + at, problem.n));
      }
    }
  }
}

}  // namespace linformer_test::bfdot_test
