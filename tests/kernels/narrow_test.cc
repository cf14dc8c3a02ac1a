#include <doctest/doctest.h>

#include <algorithm>

#include "kernels/kernel_support.h"

using namespace linformer;
using namespace linformer_test;

namespace {

const Kernels& scalar_table() { return *kernels_for(Isa::scalar); }

constexpr int64_t padded(int64_t count, int64_t to) { return (count + to - 1) / to * to; }

// A[M, K] and B[K, N] in bf16 or int8, with what a product needs beside them.
struct NarrowProblem {
  ElementType type;
  int64_t m, n, k, a_ld, c_ld;
  Epilogue epilogue;
  GuardedArray<char> a, b;
  GuardedArray<float> bias, residual, scales;
  GuardedArray<int32_t> sums;
  std::vector<RowScale> rows;

  NarrowProblem(Random& random, ElementType element, int64_t row_count, int64_t col_count, int64_t depth)
      : type(element),
        m(row_count),
        n(col_count),
        k(depth),
        a_ld(padded(k, 64) + 64 * random_size(random, 0, 1)),
        c_ld(n + random_size(random, 0, 5)),
        // The last row ends where its padding to 4 bytes does.
        a(((m - 1) * a_ld + padded(k, type == ElementType::bf16 ? 2 : 4)) * element_bytes(type)),
        b(panel_elements(type, k, n) * element_bytes(type)),
        bias(n),
        residual(m * c_ld),
        scales(padded(n, 16)),
        sums(padded(n, 16) * int8_slices(k)),
        rows(static_cast<size_t>(m * int8_slices(k))) {
    fill_random(random, bias.data(), n);
    fill_random(random, residual.data(), residual.size());
    fill_random(random, scales.data(), scales.size());
    sums.fill(0);
    std::memset(a.data(), 0, static_cast<size_t>(a.size()));
    std::memset(b.data(), 0, static_cast<size_t>(b.size()));
    std::uniform_real_distribution<float> values(-1.f, 1.f);
    for (RowScale& row : rows) row = {values(random), static_cast<int32_t>(random() % 256)};
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < k; ++j) store(a.data(), i * a_ld + j, values(random), random() % 256);
    }
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const int32_t code = static_cast<int32_t>(random() % 255) - 127;
        store(b.data(), panel_index(type, k, i, j), values(random), static_cast<uint32_t>(code));
        sums[i / int8_slice * padded(n, 16) + j] += code;
      }
    }
  }

  void store(char* to, int64_t index, float value, uint32_t code) const {
    if (type == ElementType::bf16) {
      const uint16_t bits = truncate_to(ElementType::bf16, value);
      std::memcpy(to + index * 2, &bits, 2);
    } else {
      to[index] = static_cast<char>(code);
    }
  }

  // Rows [begin, end) and `panels` panels from `panel` on.
  GemmArgs args(OutMatrix c, int64_t begin, int64_t end, int64_t panel = 0, int64_t panels = 1 << 20) const {
    const int64_t col = panel * panel_width, cols = std::min(n - col, panels * panel_width);
    const int64_t bytes = element_bytes(type);
    GemmArgs g;
    g.a = {a.data() + begin * a_ld * bytes, type, end - begin, k, a_ld};
    g.a.scales_ld = int8_slices(k);
    g.a.scales = rows.data() + begin * g.a.scales_ld;
    g.b = {b.data(), type, RightLayout::panel16, k, n};
    g.b.scales = scales.data();
    g.b.sums = sums.data();
    g.b.sums_ld = padded(n, 16);
    g.b = g.b.part(0, k, col, cols);
    const int64_t width = c.type == ElementType::f32 ? 4 : 2;
    c.data = static_cast<char*>(c.data) + (begin * c.ld + col) * width;
    c.rows = end - begin;
    c.cols = cols;
    g.c = c;
    g.epilogue = epilogue;
    if (epilogue.bias != nullptr) g.epilogue.bias += col;
    if (epilogue.residual.data != nullptr) {
      g.epilogue.residual = epilogue.residual.part(begin, col, end - begin, cols);
    }
    return g;
  }

  void run(const Kernels& kernels, const GemmArgs& args) const {
    (type == ElementType::bf16 ? kernels.gemm_bf16 : kernels.gemm_int8)(args);
  }

  std::vector<float> result(const Kernels& kernels) const {
    GuardedArray<float> c((m - 1) * c_ld + n);
    c.fill(epilogue.accumulate ? 0.25f : quiet_nan);
    run(kernels, args(MutableMatrix{c.data(), m, n, c_ld}, 0, m));
    REQUIRE(c.front_intact());
    return {c.data(), c.data() + c.size()};
  }
};

bool has(const Kernels& kernels, ElementType type) {
  return (type == ElementType::bf16 ? kernels.gemm_bf16 : kernels.gemm_int8) != nullptr;
}

void check_equal(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  REQUIRE(same_bits(a.data(), b.data(), static_cast<int64_t>(a.size())));
}

}  // namespace

TEST_CASE("int8 and bf16 products have the same bits under every instruction set") {
  for (ElementType type : {ElementType::int8, ElementType::bf16}) {
    Random random(11);
    for (int round = 0; round < 150; ++round) {
      const int64_t m = random_size(random, 1, round % 10 == 0 ? 150 : 20);
      const int64_t k = random_size(random, 1, round % 7 == 0 ? 4000 : 300);
      NarrowProblem problem(random, type, m, random_size(random, 1, 130), k);
      problem.epilogue.accumulate = random() % 4 == 0;
      if (!problem.epilogue.accumulate) {
        if (random() % 2 == 0) problem.epilogue.bias = problem.bias.data();
        if (random() % 2 == 0) {
          problem.epilogue.residual = ConstMatrix{problem.residual.data(), m, problem.n, problem.c_ld};
        }
        if (random() % 2 == 0) problem.epilogue.activation = Activation::relu;
      }
      const std::vector<float> reference = problem.result(scalar_table());
      for (const Kernels* kernels : all_kernels()) {
        CAPTURE(std::string(name_of(kernels->isa)));
        CAPTURE(m);
        CAPTURE(problem.n);
        CAPTURE(k);
        if (has(*kernels, type)) check_equal(reference, problem.result(*kernels));
      }
    }
  }
}

TEST_CASE("an int8 sum is exact at the largest K and the largest elements") {
  Random random(12);
  NarrowProblem problem(random, ElementType::int8, 3, 17, 1 << 16);
  for (const int sign : {127, -127}) {
    std::memset(problem.a.data(), 0xff, static_cast<size_t>(problem.a.size()));
    std::memset(problem.b.data(), sign, static_cast<size_t>(problem.b.size()));
    for (int64_t i = 0; i < problem.sums.size(); ++i) {
      const int64_t begin = i / padded(problem.n, 16) * int8_slice;
      problem.sums[i] = sign * static_cast<int32_t>(std::min(int8_slice, problem.k - begin));
    }
    problem.scales.fill(1.f);
    for (size_t i = 0; i < problem.rows.size(); ++i) {
      constexpr int32_t zeros[] = {0, 255, 1};
      problem.rows[i] = {1.f, zeros[i / static_cast<size_t>(int8_slices(problem.k))]};
    }
    for (const Kernels* kernels : all_kernels()) {
      CAPTURE(std::string(name_of(kernels->isa)));
      const std::vector<float> c = problem.result(*kernels);
      for (int64_t j = 0; j < problem.n; ++j) {
        CHECK(c[static_cast<size_t>(j)] == static_cast<float>(255. * sign * (1 << 16)));
        CHECK(c[static_cast<size_t>(problem.c_ld + j)] == 0.f);
        CHECK(c[static_cast<size_t>(2 * problem.c_ld + j)] == static_cast<float>(254. * sign * (1 << 16)));
      }
    }
  }
}

TEST_CASE("rows and columns that are computed together don't change a bit") {
  for (ElementType type : {ElementType::int8, ElementType::bf16}) {
    for (const Kernels* kernels : all_kernels()) {
      if (!has(*kernels, type)) continue;
      CAPTURE(std::string(name_of(kernels->isa)));
      Random random(13);
      for (int round = 0; round < 30; ++round) {
        const int64_t m = random_size(random, 1, round % 6 == 0 ? 300 : 40);
        NarrowProblem problem(random, type, m, random_size(random, 1, 200), random_size(random, 1, 900));
        problem.epilogue.activation = Activation::gelu;
        problem.epilogue.bias = problem.bias.data();
        const bool to_bf16 = type == ElementType::bf16 && round % 2 == 0;
        std::vector<float> whole(static_cast<size_t>(m * problem.c_ld)), parts(whole);
        const auto out = [&](std::vector<float>& c) -> OutMatrix {
          if (!to_bf16) return MutableMatrix{c.data(), m, problem.n, problem.c_ld};
          return Matrix<uint16_t>{reinterpret_cast<uint16_t*>(c.data()), m, problem.n, problem.c_ld};
        };
        problem.run(*kernels, problem.args(out(whole), 0, m));
        for (int64_t row = 0; row < m;) {
          const int64_t rows = std::min(random_size(random, 1, 40), m - row);
          for (int64_t panel = 0; panel * panel_width < problem.n;) {
            const int64_t width = random_size(random, 1, 5);
            problem.run(*kernels, problem.args(out(parts), row, row + rows, panel, width));
            panel += width;
          }
          row += rows;
        }
        check_equal(whole, parts);
      }
    }
  }
}

TEST_CASE("a product into bf16 is the product into f32, rounded") {
  for (const Kernels* kernels : all_kernels()) {
    if (kernels->gemm_bf16 == nullptr) continue;
    CAPTURE(std::string(name_of(kernels->isa)));
    Random random(14);
    NarrowProblem problem(random, ElementType::bf16, 37, 83, 129);
    problem.epilogue.activation = Activation::gelu;
    const std::vector<float> wide = problem.result(*kernels);
    GuardedArray<uint16_t> c((problem.m - 1) * problem.c_ld + problem.n), rounded(32 * 3);
    problem.run(*kernels, problem.args(Matrix<uint16_t>{c.data(), problem.m, problem.n, problem.c_ld}, 0, problem.m));
    REQUIRE(c.front_intact());
    for (int64_t i = 0; i < problem.m; ++i) {
      kernels->round_rows({wide.data() + i * problem.c_ld, 1, problem.n, 0}, {rounded.data(), 1, problem.n, 0});
      for (int64_t j = 0; j < problem.n; ++j) REQUIRE(c[i * problem.c_ld + j] == rounded[j]);
    }
  }
}

TEST_CASE("round_rows: to the nearest, ties to even, and zeros behind") {
  const float inf = std::numeric_limits<float>::infinity();
  const float values[] = {1.f,    -2.f, 0x1.01p0f, 0x1.03p0f, 0x1.010002p0f, 3.4028235e38f, inf,  -inf,
                          1e-40f, 0.f,  -0.f,      0x1p-126f, 0x1.fep0f,     0x1.ffp0f,     0.1f, -1e-30f};
  const uint16_t expected[] = {0x3f80, 0xc000, 0x3f80, 0x3f82, 0x3f81, 0x7f80, 0x7f80, 0xff80,
                               0x0000, 0x0000, 0x8000, 0x0080, 0x3fff, 0x4000, 0x3dcd, 0x8da2};
  for (const Kernels* kernels : all_kernels()) {
    if (kernels->round_rows == nullptr) continue;
    CAPTURE(std::string(name_of(kernels->isa)));
    uint16_t rounded[32];
    std::fill(std::begin(rounded), std::end(rounded), uint16_t{0xffff});
    kernels->round_rows({values, 1, 16, 16}, {rounded, 1, 16, 32});
    for (int i = 0; i < 16; ++i) {
      CAPTURE(i);
      CHECK(rounded[i] == expected[i]);
    }
    for (int i = 16; i < 32; ++i) CHECK(rounded[i] == 0);
    kernels->round_rows({&quiet_nan, 1, 1, 1}, {rounded, 1, 1, 32});
    CHECK((rounded[0] & 0x7fc0) == 0x7fc0);
  }
}

TEST_CASE("quantize_rows: the same codes under every instruction set, within half a step") {
  Random random(15);
  for (int round = 0; round < 200; ++round) {
    const int64_t cols = random_size(random, 1, round % 4 == 0 ? 2000 : 300), ld = padded(cols, 64);
    const size_t slices = static_cast<size_t>(int8_slices(cols));
    const float scale = std::pow(10.f, static_cast<float>(random_size(random, -30, 30)));
    const float shift = round % 3 == 0 ? scale * static_cast<float>(random_size(random, -3, 3)) : 0.f;
    GuardedArray<float> x(cols);
    fill_random(random, x.data(), cols, scale);
    for (int64_t j = 0; j < cols; ++j) x[j] += shift;
    std::vector<uint8_t> reference;
    std::vector<RowScale> row(slices);
    for (const Kernels* kernels : all_kernels()) {
      CAPTURE(std::string(name_of(kernels->isa)));
      GuardedArray<uint8_t> codes(ld);
      codes.fill(77);
      std::vector<RowScale> found(slices);
      kernels->quantize_rows({x.data(), 1, cols, cols}, {codes.data(), ld, found.data(), int8_slices(cols)});
      REQUIRE(codes.front_intact());
      std::vector<uint8_t> all(codes.data(), codes.data() + ld);
      if (reference.empty()) {
        reference = all;
        row = found;
        for (const RowScale& slice : row) {
          REQUIRE(slice.scale > 0.f);
          REQUIRE(slice.zero >= 0);
          REQUIRE(slice.zero <= 255);
        }
        for (int64_t j = 0; j < ld; ++j) {
          if (j >= cols) REQUIRE(all[static_cast<size_t>(j)] == 0);
          if (j >= cols) continue;
          const RowScale& slice = row[static_cast<size_t>(j / int8_slice)];
          const double back = static_cast<double>(slice.scale) * (all[static_cast<size_t>(j)] - slice.zero);
          REQUIRE(std::abs(back - static_cast<double>(x[j])) <= 0.501 * static_cast<double>(slice.scale) * (1 + 1e-5));
        }
      }
      REQUIRE(all == reference);
      for (size_t s = 0; s < slices; ++s) {
        REQUIRE(found[s].zero == row[s].zero);
        REQUIRE(same_bits(&found[s].scale, &row[s].scale, 1));
      }
    }
  }
}

TEST_CASE("quantize_rows: rows of zeros, of almost nothing, and with what is not finite") {
  const float inf = std::numeric_limits<float>::infinity();
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(std::string(name_of(kernels->isa)));
    for (int64_t cols : {1, 7, 16, 33}) {
      std::vector<float> x(static_cast<size_t>(cols), 0.f);
      std::vector<uint8_t> codes(64, 99);
      RowScale row{5.f, 5};
      const auto quantize = [&](float last) {
        x.back() = last;
        kernels->quantize_rows({x.data(), 1, cols, cols}, {codes.data(), 64, &row, 1});
      };
      quantize(0.f);
      CHECK(row.scale == 0.f);
      CHECK(row.zero == 0);
      quantize(1e-38f);
      CHECK(row.scale == 0.f);
      for (float bad : {quiet_nan, inf, -inf}) {
        quantize(bad);
        CHECK(row.scale != row.scale);
        CHECK(std::count(codes.begin(), codes.end(), 0) == 64);
      }
      quantize(3e38f);
      CHECK(row.scale > 1e36f);
      CHECK(codes[static_cast<size_t>(cols - 1)] == 255);
      quantize(-3e38f);
      CHECK(row.zero == 255);
      CHECK(codes[static_cast<size_t>(cols - 1)] == 0);
    }
  }
}

TEST_CASE("widen_panel gives the elements of a panel, of every type") {
  Random random(16);
  for (ElementType type : {ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::int8}) {
    for (int round = 0; round < 20; ++round) {
      const int64_t k = random_size(random, 1, 90), n = 40;
      const int64_t count = panel_elements(type, k, n), bytes = element_bytes(type);
      GuardedArray<char> b(count * bytes);
      std::vector<float> scales(48);
      fill_random(random, scales.data(), 48);
      for (int64_t i = 0; i < count; ++i) {
        const float value = static_cast<float>(i % 1000) * 0.01f;
        const uint16_t half = truncate_to(type == ElementType::f16 ? type : ElementType::bf16, value);
        if (type == ElementType::f32) std::memcpy(b.data() + i * 4, &value, 4);
        if (bytes == 2) std::memcpy(b.data() + i * 2, &half, 2);
        if (bytes == 1) b[i] = static_cast<char>(i % 255 - 127);
      }
      RightMatrix right{b.data(), type, RightLayout::panel16, k, n};
      right.scales = scales.data();
      const int64_t panel = random_size(random, 0, 2), first = random_size(random, 0, (k - 1) / 4) * 4;
      std::vector<float> reference(static_cast<size_t>((k - first + 3) * 16));
      scalar_table().widen_panel(right, panel, first, k - first, reference.data());
      const auto at = [&](int64_t i, int64_t j) { return panel_index(type, k, first + i, panel * 16 + j); };
      for (int64_t i = 0; i < k - first; ++i) {
        for (int64_t j = 0; j < 16; ++j) {
          float expected = 0;
          uint16_t half = 0;
          if (type == ElementType::f32) std::memcpy(&expected, b.data() + at(i, j) * 4, 4);
          if (bytes == 2) {
            std::memcpy(&half, b.data() + at(i, j) * 2, 2);
            expected = static_cast<float>(value_of(type, half));
          }
          if (bytes == 1) {
            expected = static_cast<float>(b[at(i, j)]) * scales[static_cast<size_t>(panel * 16 + j)];
          }
          REQUIRE(reference[static_cast<size_t>(i * 16 + j)] == expected);
        }
      }
      for (const Kernels* kernels : all_kernels()) {
        CAPTURE(std::string(name_of(kernels->isa)));
        std::vector<float> wide(reference.size());
        kernels->widen_panel(right, panel, first, k - first, wide.data());
        REQUIRE(same_bits(wide.data(), reference.data(), (k - first) * 16));
      }
    }
  }
}
