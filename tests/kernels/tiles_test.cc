// Tests the loops of AMX (generic/tiles.h) with tiles that are emulated as Intel's manual defines TDPBF16PS and
// TDPBUSD.
#include "kernels/generic/tiles.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/cpu.h"
#include "kernels/carried.h"
#include "kernels/kernel_support.h"
#include "kernels/tables.h"

namespace linformer_test::tiles_test {

using namespace linformer;

namespace {

float of_bf16(uint16_t bits) { return static_cast<float>(half_to_double(ElementType::bf16, bits)); }

// An epilogue that works element by element. Its only activation is ReLU.
template <ElementType type>
struct ScalarEpilogue {
  static void add_scaled_slice(const GemmArgs& gemm, const TileSums& tile) {
    for (int64_t i = 0; i < tile.rows; ++i) {
      for (int64_t j = 0; j < tile.cols; ++j) tile.folded[i * slab_width + j] = folded(gemm, tile, i, j);
    }
  }
  static void finish(const GemmArgs& gemm, const TileSums& tile) {
    for (int64_t i = 0; i < tile.rows; ++i) {
      for (int64_t j = 0; j < tile.cols; ++j) {
        const int64_t col = tile.col + j;
        const float x = type == ElementType::int8 ? folded(gemm, tile, i, j) : tile.sums[i * slab_width + j];
        const float addend = gemm.epilogue.bias == nullptr ? 0.f : gemm.epilogue.bias[col];
        float& out = gemm.c.floats().row(tile.row + i)[col];
        float y = type == ElementType::int8 ? std::fma(x, gemm.b.scales[col], addend) : x + addend;
        if (gemm.epilogue.activation == Activation::relu) y = std::max(y, 0.f);
        // In bf16 the old value of C was already added when the sum began.
        out = y + (type == ElementType::int8 && gemm.epilogue.accumulate ? out : 0);
      }
    }
  }

  static float folded(const GemmArgs& gemm, const TileSums& tile, int64_t i, int64_t j) {
    const RowFactors& factor = tile.factors[i];
    int32_t sum;
    std::memcpy(&sum, tile.sums + i * slab_width + j, sizeof sum);
    const float of_column = static_cast<float>(gemm.b.sums[tile.slice * gemm.b.sums_ld + tile.col + j]);
    const float x = std::fma(factor.zero, -of_column, static_cast<float>(sum));
    return tile.slice == 0 ? x * factor.scale : std::fma(x, factor.scale, tile.folded[i * slab_width + j]);
  }
};

// The epilogue that AVX-512 uses for blocks that are not finished row by row.
template <ElementType type>
struct Avx512Epilogue {
  static void add_scaled_slice(const GemmArgs& gemm, const TileSums& tile) {
    avx512_int8_epilogue.add_scaled_slice(gemm, tile);
  }
  static void finish(const GemmArgs& gemm, const TileSums& tile) {
    (type == ElementType::int8 ? avx512_int8_epilogue.finish : avx512_bf16_kernels.finish)(gemm, tile);
  }
};

template <ElementType element, class Epilogue = ScalarEpilogue<element>>
class EmulatedTiles {
 public:
  static constexpr ElementType type = element;
  int configured = 0;

  void configure(int64_t first, int64_t second) {
    REQUIRE(first >= 1);
    REQUIRE(first <= 16);
    REQUIRE(second >= 1);
    REQUIRE(second <= 16);
    rows_[0] = first;
    rows_[1] = second;
    ++configured;
  }
  template <int C>
  void zero() {
    std::memset(sums_[C], 0, sizeof sums_[C]);
  }
  template <int R>
  void load_rows(const char* a, int64_t stride) {
    std::memset(left_[R], 0xee, sizeof left_[R]);
    for (int64_t i = 0; i < rows_[R]; ++i) std::memcpy(left_[R][i], a + i * stride, 64);
    widen(&left_[R][0][0], sizeof left_[R], &wide_left_[R][0][0]);
  }
  template <int P>
  void load_panel(const char* b) {
    std::memcpy(right_[P], b, sizeof right_[P]);
    widen(right_[P], sizeof right_[P], wide_right_[P]);
  }
  template <int C>
  void multiply() {
    for (int64_t i = 0; i < rows_[C / 2]; ++i) {
      for (int64_t j = 0; j < 16; ++j) {
        uint32_t* sum = &sums_[C][i * 16 + j];
        if (element == ElementType::int8) dot_int8(left_[C / 2][i], right_[C % 2], j, sum);
        if (element == ElementType::bf16) dot_bf16(wide_left_[C / 2][i], wide_right_[C % 2] + 2 * j, sum);
      }
    }
  }
  template <int C>
  void load(const PartialSum* sums, int64_t stride) {
    const char* from = reinterpret_cast<const char*>(sums);
    for (int64_t i = 0; i < rows_[C / 2]; ++i) std::memcpy(&sums_[C][i * 16], from + i * stride, 64);
  }
  template <int C>
  void store(PartialSum* sums, int64_t stride) {
    char* to = reinterpret_cast<char*>(sums);
    for (int64_t i = 0; i < rows_[C / 2]; ++i) std::memcpy(to + i * stride, &sums_[C][i * 16], 64);
  }
  void prefetch(const char*) {}

  void add_scaled_slice(const GemmArgs& gemm, const TileSums& tile) { Epilogue::add_scaled_slice(gemm, tile); }
  void finish(const GemmArgs& gemm, const TileSums& tile) { Epilogue::finish(gemm, tile); }
  // Runs the epilogue of one row at each call of finish_row().
  template <bool>
  class Rows {
   public:
    void begin(const GemmArgs& gemm, const TileSums& tile) {
      gemm_ = gemm;
      tile_ = tile;
      tile_.rows = 1;
    }
    void finish_row() {
      Epilogue::finish(gemm_, tile_);
      tile_.sums += slab_width;
      ++tile_.factors;
      ++tile_.row;
    }

   private:
    GemmArgs gemm_;
    TileSums tile_;
  };

 private:
  static void dot_int8(const char* a, const char* panel, int64_t j, uint32_t* sum) {
    int32_t total = static_cast<int32_t>(*sum);
    for (int64_t k = 0; k < 64; ++k) {
      total += static_cast<uint8_t>(a[k]) * static_cast<int8_t>(panel[k / 4 * 64 + 4 * j + k % 4]);
    }
    *sum = static_cast<uint32_t>(total);
  }

  // The product of two bf16 numbers is exact in float, so an addition rounds once, as the instruction does.
  static void dot_bf16(const float* left, const float* right, uint32_t* sum) {
    float even = 0, odd = 0, before;  // Both are summed in the order of k and then added to the accumulator.
    for (int64_t k = 0; k < 16; ++k) {
      even += left[2 * k] * right[32 * k];
      odd += left[2 * k + 1] * right[32 * k + 1];
    }
    std::memcpy(&before, sum, sizeof before);
    before += even + odd;
    std::memcpy(sum, &before, sizeof before);
  }

  // Widens a whole tile once, because widening in each dot product took half of the test's time.
  static void widen(const char* from, size_t bytes, float* to) {
    if (element != ElementType::bf16) return;
    for (size_t at = 0; at < bytes; at += 2) {
      uint16_t bits;
      std::memcpy(&bits, from + at, sizeof bits);
      *to++ = of_bf16(bits);
    }
  }

  int64_t rows_[2] = {};
  uint32_t sums_[4][256];
  char left_[2][16][64], right_[2][1024];
  float wide_left_[2][16][32], wide_right_[2][512];  // Used for bf16 only.
};

constexpr int64_t padded(int64_t count, int64_t to) { return (count + to - 1) / to * to; }

struct Problem {
  ElementType type;
  int64_t m, n, k, a_ld;
  GuardedArray<char> a, b;
  std::vector<float> scales, bias;
  std::vector<int32_t> sums;
  std::vector<RowScale> rows;
  bool accumulate = false, relu = false;

  Problem(Random& random, ElementType element, int64_t row_count, int64_t col_count, int64_t depth)
      : type(element),
        m(row_count),
        n(col_count),
        k(depth),
        a_ld(padded(k, 64 / element_bytes(type))),
        a(m * a_ld * element_bytes(type)),
        b(panel_elements(type, k, n) * element_bytes(type)),
        scales(static_cast<size_t>(padded(n, 16))),
        sums(static_cast<size_t>(padded(n, 16) * int8_slices(k))),
        rows(static_cast<size_t>(m * int8_slices(k))) {
    std::memset(a.data(), 0, static_cast<size_t>(a.size()));
    std::memset(b.data(), 0, static_cast<size_t>(b.size()));
    std::uniform_real_distribution<float> values(-1.f, 1.f);
    for (float& scale : scales) scale = values(random);
    for (RowScale& row : rows) row = {values(random), static_cast<int32_t>(random() % 256)};
    const auto store = [&](char* to, int64_t at, int32_t code) {
      const uint16_t bits = truncate_to(ElementType::bf16, values(random));
      if (type == ElementType::bf16) std::memcpy(to + at * 2, &bits, 2);
      if (type == ElementType::int8) to[at] = static_cast<char>(code);
    };
    for (int64_t i = 0; i < m * k; ++i) store(a.data(), i / k * a_ld + i % k, static_cast<int32_t>(random() % 256));
    for (int64_t i = 0; i < k * n; ++i) {
      const int32_t code = static_cast<int32_t>(random() % 255) - 127;
      store(b.data(), panel_index(type, k, i / n, i % n), code);
      sums[static_cast<size_t>(i / n / int8_slice * padded(n, 16) + i % n)] += code;
    }
  }
  // Returns the arguments for rows [row, row + count).
  GemmArgs args(float* c, int64_t row, int64_t count) const {
    GemmArgs args;
    args.a = {a.data() + row * a_ld * element_bytes(type), type, count, k, a_ld};
    args.a.scales_ld = int8_slices(k);
    args.a.scales = rows.data() + row * args.a.scales_ld;
    args.b = {b.data(), type, RightLayout::panel16, k, n};
    args.b.scales = scales.data();
    args.b.sums = sums.data();
    args.b.sums_ld = padded(n, 16);
    args.c = MutableMatrix{c + row * n, count, n, n};
    if (!bias.empty()) args.epilogue.bias = bias.data();
    args.epilogue.accumulate = accumulate;
    if (relu) args.epilogue.activation = Activation::relu;
    return args;
  }
  template <ElementType element>
  std::vector<float> by_tiles(int64_t rows_at_once) const {
    std::vector<float> c(static_cast<size_t>(m * n), accumulate ? 0.25f : quiet_nan);
    EmulatedTiles<element> tiles;
    for (int64_t row = 0; row < m; row += rows_at_once) {
      multiply_by_tiles(tiles, args(c.data(), row, std::min(rows_at_once, m - row)));
    }
    return c;
  }
};

}  // namespace

TEST_CASE("int8 products by tiles have the bits of the scalar table, whatever rows are computed together") {
  Random random(21);
  for (int round = 0; round < 60; ++round) {
    const int64_t m = random_size(random, 1, round % 10 == 0 ? 300 : 70);
    const int64_t k = random_size(random, 1, round % 5 == 0 ? 2500 : 300);
    Problem problem(random, ElementType::int8, m, random_size(random, 1, 90), k);
    problem.accumulate = random() % 3 == 0;
    problem.relu = !problem.accumulate && random() % 2 == 0;  // ReLU makes the epilogue run on fewer rows at once.
    CAPTURE(m);
    CAPTURE(problem.n);
    CAPTURE(k);
    std::vector<float> expected(static_cast<size_t>(m * problem.n), 0.25f);
    kernels_for(Isa::scalar)->gemm_int8(problem.args(expected.data(), 0, m));
    for (int64_t at_once : {m, int64_t{1}, int64_t{17}, int64_t{33}}) {
      const std::vector<float> c = problem.by_tiles<ElementType::int8>(at_once);
      REQUIRE(same_bits(c.data(), expected.data(), m * problem.n));
    }
  }
}

TEST_CASE("bf16 products by tiles are near double precision, with the same bits whatever rows are computed together") {
  Random random(22);
  for (int round = 0; round < 60; ++round) {
    const int64_t m = random_size(random, 1, round % 10 == 0 ? 200 : 70), n = random_size(random, 1, 90);
    const int64_t k = random_size(random, 1, round % 5 == 0 ? 1500 : 300);
    Problem problem(random, ElementType::bf16, m, n, k);
    problem.accumulate = random() % 3 == 0;
    problem.relu = !problem.accumulate && random() % 2 == 0;
    const std::vector<float> c = problem.by_tiles<ElementType::bf16>(m);
    const auto widened = [](const GuardedArray<char>& from) {
      std::vector<double> values(static_cast<size_t>(from.size() / 2));
      for (size_t at = 0; at < values.size(); ++at) {
        uint16_t bits;
        std::memcpy(&bits, from.data() + at * 2, 2);
        values[at] = half_to_double(ElementType::bf16, bits);
      }
      return values;
    };
    const std::vector<double> left = widened(problem.a), right = widened(problem.b);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = problem.accumulate ? 0.25 : 0.;
        for (int64_t q = 0; q < k; ++q) {
          sum += left[static_cast<size_t>(i * problem.a_ld + q)] *
                 right[static_cast<size_t>(panel_index(problem.type, k, q, j))];
        }
        if (problem.relu) sum = std::max(sum, 0.);
        REQUIRE(std::abs(static_cast<double>(c[static_cast<size_t>(i * n + j)]) - sum) <
                1e-6 * std::sqrt(static_cast<double>(k)) + 1e-6);
      }
    }
    for (int64_t at_once : {int64_t{1}, int64_t{17}, int64_t{33}}) {
      REQUIRE(same_bits(problem.by_tiles<ElementType::bf16>(at_once).data(), c.data(), m * n));
    }
    // Nor do the bits depend on the columns of a call. Threads share a product by its columns, so otherwise the bits
    // would depend on the number of threads.
    std::vector<float> by_columns(static_cast<size_t>(m * n), 0.25f);
    for (int64_t col = 0; col < n; col += panel_width) {
      GemmArgs args = problem.args(by_columns.data(), 0, m);
      const int64_t cols = std::min(panel_width, n - col);
      args.b = args.b.part(0, k, col, cols);
      args.c = args.c.floats().part(0, col, m, cols);
      EmulatedTiles<ElementType::bf16> tiles;
      multiply_by_tiles(tiles, args);
    }
    REQUIRE(same_bits(by_columns.data(), c.data(), m * n));
  }
}

// A short sequence multiplies by only as many rows of E^T as it has tokens.
TEST_CASE("bf16 products by the first rows of deeper panels ignore the other rows") {
  Random random(24);
  for (int round = 0; round < 60; ++round) {
    const int64_t m = random_size(random, 1, 70), n = random_size(random, 1, 90), depth = random_size(random, 1, 200);
    const int64_t k = random_size(random, 1, depth);
    Problem whole(random, ElementType::bf16, m, n, depth);
    for (int64_t i = 0; i < m; ++i) {
      std::memset(whole.a.data() + (i * whole.a_ld + k) * 2, 0, static_cast<size_t>(whole.a_ld - k) * 2);
    }
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    CAPTURE(depth);
    const auto check = [&](auto&& multiply) {
      std::vector<float> expected(static_cast<size_t>(m * n)), c(expected.size(), quiet_nan);
      GemmArgs args = whole.args(expected.data(), 0, m);
      multiply(args);
      args.a.cols = k;
      args.b = args.b.part(0, k, 0, n);
      args.c.data = c.data();
      multiply(args);
      REQUIRE(same_bits(c.data(), expected.data(), m * n));
    };
    EmulatedTiles<ElementType::bf16> tiles;
    check([&](const GemmArgs& args) { multiply_by_tiles(tiles, args); });
    for (const Kernels* kernels : all_kernels()) {
      if (kernels->gemm_bf16 != nullptr) check(kernels->gemm_bf16);
    }
  }
}

TEST_CASE("the machine's tiles give the same bits as emulated tiles") {
  if (!build_has_kernels(Extension::amx) || !machine_has(Extension::amx)) return;  // This machine has no AMX.
  Random random(23);
  for (int round = 0; round < 120; ++round) {
    const ElementType type = round % 2 == 0 ? ElementType::bf16 : ElementType::int8;
    const int64_t m = random_size(random, 1, round % 10 < 2 ? 300 : 70), n = random_size(random, 1, 90);
    Problem problem(random, type, m, n, random_size(random, 1, round % 6 < 2 ? 2500 : 300));
    problem.accumulate = random() % 3 == 0;
    if (!problem.accumulate && random() % 2 == 0) {
      problem.bias.resize(static_cast<size_t>(n));
      fill_random(random, problem.bias.data(), n);
    }
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(problem.k);
    const bool bf16 = type == ElementType::bf16;
    const std::vector<float> expected =
        bf16 ? problem.by_tiles<ElementType::bf16>(m) : problem.by_tiles<ElementType::int8>(m);
    std::vector<float> c(static_cast<size_t>(m * n), problem.accumulate ? 0.25f : quiet_nan);
    if constexpr (build_has_kernels(Extension::amx)) {
      (bf16 ? amx_gemm_bf16 : amx_gemm_int8)(problem.args(c.data(), 0, m));
    }
    REQUIRE(same_bits(c.data(), expected.data(), m * n));
  }
}

TEST_CASE("AMX products have the same bits with an epilogue for each row and one for each block") {
  if (!build_has_kernels(Extension::amx) || !machine_has(Extension::amx)) return;  // This machine has no AMX.
  if constexpr (build_has_kernels(Extension::amx)) {
    Random random(25);
    for (int round = 0; round < 200; ++round) {
      const bool bf16 = round % 2 == 0;
      const int64_t m = random_size(random, 1, round % 10 < 2 ? 300 : 70),
                    n = random_size(random, 1, 6) * 32 - round % 7 / 6;
      Problem problem(random, bf16 ? ElementType::bf16 : ElementType::int8, m, n, random_size(random, 1, 900));
      std::vector<float> residual(static_cast<size_t>(m * n)), bias(static_cast<size_t>(n));
      fill_random(random, residual.data(), m * n);
      fill_random(random, bias.data(), n);
      const bool narrow = bf16 && random() % 2 == 0, adds = random() % 2 == 0, gelu = random() % 2 == 0;
      CAPTURE(m);
      CAPTURE(n);
      CAPTURE(problem.k);
      CAPTURE(narrow);
      CAPTURE(adds);
      CAPTURE(gelu);
      std::vector<float> expected(static_cast<size_t>(m * n), quiet_nan), c = expected;
      const auto args = [&](float* out) {
        GemmArgs gemm = problem.args(out, 0, m);
        if (narrow) gemm.c = Matrix<uint16_t>{reinterpret_cast<uint16_t*>(out), m, n, n};
        gemm.epilogue.bias = bias.data();
        if (gelu) gemm.epilogue.activation = Activation::gelu;
        if (adds) gemm.epilogue.residual = {residual.data(), m, n, n};
        return gemm;
      };
      if (bf16) {
        EmulatedTiles<ElementType::bf16, Avx512Epilogue<ElementType::bf16>> tiles;
        multiply_by_tiles(tiles, args(expected.data()));
        amx_gemm_bf16(args(c.data()));
      } else {
        EmulatedTiles<ElementType::int8, Avx512Epilogue<ElementType::int8>> tiles;
        multiply_by_tiles(tiles, args(expected.data()));
        amx_gemm_int8(args(c.data()));
      }
      REQUIRE(std::memcmp(c.data(), expected.data(), static_cast<size_t>(m * n) * (narrow ? 2 : 4)) == 0);
    }
  }
}

}  // namespace linformer_test::tiles_test
