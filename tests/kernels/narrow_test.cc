#include <doctest/doctest.h>

#include <algorithm>
#include <bit>

#include "kernels/narrow_problem.h"

namespace linformer_test::narrow_test {

using namespace linformer;

namespace {

const Kernels& scalar_table() { return *kernels_for(Isa::scalar); }

}  // namespace

TEST_CASE("products have the same bits in every instruction set, except bf16 products of NEON and AMX") {
  for (ElementType type : {ElementType::int8, ElementType::bf16}) {
    Random random(11);
    for (int round = 0; round < 150; ++round) {
      const int64_t m = random_size(random, 1, round % 10 == 0 ? 150 : 20);
      const int64_t k = random_size(random, 1, round % 7 == 0 ? 4000 : 300);
      LowPrecisionProblem problem(random, type, m, random_size(random, 1, 130), k);
      problem.epilogue.accumulate = random() % 4 == 0;
      if (!problem.epilogue.accumulate) {
        if (random() % 2 == 0) problem.epilogue.bias = problem.bias.data();
        if (random() % 2 == 0) {
          problem.epilogue.residual = ConstMatrix{problem.residual.data(), m, problem.n, problem.c_ld};
        }
        if (random() % 2 == 0) problem.epilogue.activation = Activation::relu;
      }
      const std::vector<float> reference = problem.result(scalar_table());
      for (const Kernels* kernels : all_kernel_variants()) {
        CAPTURE(std::string(name_of(kernels->isa)));
        CAPTURE(m);
        CAPTURE(problem.n);
        CAPTURE(k);
        // bfdot_test.cc and tiles_test.cc test these products.
        if (type == ElementType::bf16 && (kernels->isa == Isa::neon || uses_amx(*kernels))) continue;
        if (has_gemm(*kernels, type)) check_equal(reference, problem.result(*kernels));
      }
    }
  }
}

TEST_CASE("int8 sums are exact at the largest K and the largest elements") {
  Random random(12);
  LowPrecisionProblem problem(random, ElementType::int8, 3, 17, 1 << 16);
  for (const int sign : {127, -127}) {
    std::memset(problem.a.data(), 0xff, static_cast<size_t>(problem.a.size()));
    std::memset(problem.b.data(), sign, static_cast<size_t>(problem.b.size()));
    for (int64_t i = 0; i < problem.sums.size(); ++i) {
      const int64_t begin = i / round_up(problem.n, 16) * int8_slice;
      problem.sums[i] = sign * static_cast<int32_t>(std::min(int8_slice, problem.k - begin));
    }
    problem.scales.fill(1.f);
    for (size_t i = 0; i < problem.rows.size(); ++i) {
      constexpr int32_t zeros[] = {0, 255, 1};
      problem.rows[i] = {1.f, zeros[i / static_cast<size_t>(int8_slices(problem.k))]};
    }
    for (const Kernels* kernels : all_kernel_variants()) {
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

TEST_CASE("the bits of int8 and bf16 products don't depend on which rows and columns are computed together") {
  for (ElementType type : {ElementType::int8, ElementType::bf16}) {
    for (const Kernels* kernels : all_kernel_variants()) {
      if (!has_gemm(*kernels, type)) continue;
      CAPTURE(std::string(name_of(kernels->isa)));
      Random random(13);
      for (int round = 0; round < 30; ++round) {
        const int64_t m = random_size(random, 1, round % 6 == 0 ? 300 : 40);
        LowPrecisionProblem problem(random, type, m, random_size(random, 1, 200), random_size(random, 1, 900));
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

TEST_CASE("GELU of a low-precision product is near the exact one, and keeps infinity and NaN") {
  std::vector<float> values = {INFINITY, 1e-40f, -1e-40f, -10.f, -1e4f,  -1e8f,  -1e30f, -3e38f,   10.f,
                               1e8f,     3e38f,  1e-3f,   1e-6f, -1e-3f, -1e-6f, 0.f,    quiet_nan};
  for (float x = -6.f; x < 6.f; x += 0.0171f) values.push_back(x);
  const int64_t count = static_cast<int64_t>(values.size());
  for (ElementType type : {ElementType::int8, ElementType::bf16}) {
    for (const Kernels* kernels : all_kernel_variants()) {
      if (!has_gemm(*kernels, type)) continue;
      CAPTURE(std::string(name_of(kernels->isa)));
      const bool tables = has_gelu_tables(*kernels, type);
      Random random(15);
      LowPrecisionProblem problem(random, type, 33, count, 64);
      std::memset(problem.b.data(), 0, static_cast<size_t>(problem.b.size()));
      problem.sums.fill(0);
      for (int64_t j = 0; j < count; ++j) problem.bias[j] = values[static_cast<size_t>(j)];
      problem.epilogue.activation = Activation::gelu;
      problem.epilogue.bias = problem.bias.data();
      const std::vector<float> c = problem.result(*kernels);
      for (int64_t i = 0; i < problem.m; ++i) {
        for (int64_t j = 0; j < count; ++j) {
          const float x = problem.bias[j], y = c[static_cast<size_t>(i * problem.c_ld + j)];
          CAPTURE(x);
          if (!std::isfinite(x)) {
            CHECK((std::isnan(x) ? std::isnan(y) : y == x));
            continue;
          }
          const double exact = 0.5 * x * std::erfc(-x * std::sqrt(0.5)), error = std::fabs(y - exact);
          CHECK(error <= std::max(tables ? 1.5e-5 : 5e-5, 2e-6 * std::max(x, 0.f)));
          if (std::fabs(x) < 1.f) CHECK(error <= (tables ? 1.3e-4 : 5e-4) * std::fabs(exact) + 1e-44);
        }
      }
    }
  }
}

TEST_CASE("a product stored in bf16 is the rounded f32 product") {
  for (const Kernels* kernels : all_kernel_variants()) {
    if (kernels->gemm_bf16 == nullptr) continue;
    CAPTURE(std::string(name_of(kernels->isa)));
    Random random(14);
    LowPrecisionProblem problem(random, ElementType::bf16, 37, 83, 129);
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

TEST_CASE("round_rows rounds to nearest, ties to even, and pads with zeros") {
  const float inf = std::numeric_limits<float>::infinity();
  const float values[] = {1.f,    -2.f, 0x1.01p0f, 0x1.03p0f, 0x1.010002p0f, 3.4028235e38f, inf,  -inf,
                          1e-40f, 0.f,  -0.f,      0x1p-126f, 0x1.fep0f,     0x1.ffp0f,     0.1f, -1e-30f};
  const uint16_t expected[] = {0x3f80, 0xc000, 0x3f80, 0x3f82, 0x3f81, 0x7f80, 0x7f80, 0xff80,
                               0x0000, 0x0000, 0x8000, 0x0080, 0x3fff, 0x4000, 0x3dcd, 0x8da2};
  for (const Kernels* kernels : all_kernel_variants()) {
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

TEST_CASE("round_rows and pack_panel_bf16 give the bits of the scalar table") {
  Random random(17);
  for (int round = 0; round < 200; ++round) {
    const int64_t k = random_size(random, 1, 100), n = random_size(random, 1, 80);
    const bool transposed = round % 2 == 0;
    const int64_t rows = transposed ? n : k, cols = transposed ? k : n, ld = cols + random_size(random, 0, 5);
    GuardedArray<float> src((rows - 1) * ld + cols);
    for (int64_t i = 0; i < src.size(); ++i) {
      // The bits are random but no NaN. Subnormals, infinities and ties are frequent.
      uint32_t bits = static_cast<uint32_t>(random());
      if (random() % 4 == 0) bits &= 0xffff8000u;
      if (random() % 8 == 0) bits &= 0x807fffffu;
      std::memcpy(&src[i], &bits, sizeof bits);
      if (src[i] != src[i]) src[i] = -1.f;
    }
    const int64_t panel_size = panel_elements(ElementType::bf16, k, n), row_size = rows * round_up(cols, 32);
    std::vector<uint16_t> panels, rounded;
    for (const Kernels* kernels : all_kernel_variants()) {
      if (kernels->gemm_bf16 == nullptr) continue;
      CAPTURE(std::string(name_of(kernels->isa)));
      GuardedArray<uint16_t> packed(panel_size), row(row_size);
      packed.fill(0xffff);
      row.fill(0xffff);
      kernels->pack_panel_bf16({src.data(), rows, cols, ld}, transposed, packed.data());
      kernels->round_rows({src.data(), rows, cols, ld}, {row.data(), rows, cols, round_up(cols, 32)});
      REQUIRE(packed.front_intact());
      REQUIRE(row.front_intact());
      if (panels.empty()) {  // The first table is the scalar one.
        panels.assign(packed.data(), packed.data() + panel_size);
        rounded.assign(row.data(), row.data() + row_size);
        for (int64_t i = 0; i < k; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            const uint16_t want = transposed ? row[j * round_up(cols, 32) + i] : row[i * round_up(cols, 32) + j];
            REQUIRE(packed[panel_index(ElementType::bf16, k, i, j)] == want);
          }
        }
      }
      REQUIRE(std::equal(panels.begin(), panels.end(), packed.data()));
      REQUIRE(std::equal(rounded.begin(), rounded.end(), row.data()));
    }
  }
}

TEST_CASE("quantize_rows gives the same codes in every instruction set, with errors of at most half a step") {
  Random random(15);
  for (int round = 0; round < 200; ++round) {
    const int64_t cols = random_size(random, 1, round % 4 == 0 ? 2000 : 300), ld = round_up(cols, 64);
    const size_t slices = static_cast<size_t>(int8_slices(cols));
    const float scale = std::pow(10.f, static_cast<float>(random_size(random, -30, 30)));
    const float shift = round % 3 == 0 ? scale * static_cast<float>(random_size(random, -3, 3)) : 0.f;
    GuardedArray<float> x(cols);
    fill_random(random, x.data(), cols, scale);
    for (int64_t j = 0; j < cols; ++j) x[j] += shift;
    std::vector<uint8_t> reference;
    std::vector<RowScale> row(slices);
    for (const Kernels* kernels : all_kernel_variants()) {
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

TEST_CASE("quantize_rows gives the same codes for a row alone and with other rows") {
  Random random(18);
  for (const Kernels* kernels : all_kernel_variants()) {
    CAPTURE(std::string(name_of(kernels->isa)));
    for (int round = 0; round < 30; ++round) {
      const int64_t rows = random_size(random, 1, 20), cols = random_size(random, 1, round % 3 == 0 ? 2000 : 100);
      const int64_t src_ld = cols + random_size(random, 0, 5), ld = round_up(cols, 64) + 64 * random_size(random, 0, 1);
      const int64_t slices = int8_slices(cols), scales_ld = slices + random_size(random, 0, 2);
      GuardedArray<float> x((rows - 1) * src_ld + cols);
      fill_random(random, x.data(), x.size(), 3.f);
      x[random_size(random, 0, rows - 1) * src_ld] = quiet_nan;
      GuardedArray<uint8_t> codes((rows - 1) * ld + round_up(cols, 64)), alone(round_up(cols, 64));
      std::vector<RowScale> scales(static_cast<size_t>(rows * scales_ld)), scales_alone(static_cast<size_t>(slices));
      kernels->quantize_rows({x.data(), rows, cols, src_ld}, {codes.data(), ld, scales.data(), scales_ld});
      REQUIRE(codes.front_intact());
      for (int64_t r = 0; r < rows; ++r) {
        kernels->quantize_rows({x.data() + r * src_ld, 1, cols, cols}, {alone.data(), ld, scales_alone.data(), slices});
        REQUIRE(std::memcmp(codes.data() + r * ld, alone.data(), static_cast<size_t>(alone.size())) == 0);
        REQUIRE(std::memcmp(&scales[static_cast<size_t>(r * scales_ld)], scales_alone.data(),
                            scales_alone.size() * sizeof(RowScale)) == 0);
      }
    }
  }
}

TEST_CASE("quantize_rows handles rows of zeros, of tiny values and of non-finite values") {
  const float inf = std::numeric_limits<float>::infinity();
  for (const Kernels* kernels : all_kernel_variants()) {
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

TEST_CASE("widen_panel returns the elements of a panel of every type") {
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
            expected = static_cast<float>(half_to_double(type, half));
          }
          if (bytes == 1) {
            expected =
                static_cast<float>(static_cast<int8_t>(b[at(i, j)])) * scales[static_cast<size_t>(panel * 16 + j)];
          }
          REQUIRE(reference[static_cast<size_t>(i * 16 + j)] == expected);
        }
      }
      for (const Kernels* kernels : all_kernel_variants()) {
        CAPTURE(std::string(name_of(kernels->isa)));
        std::vector<float> wide(reference.size());
        kernels->widen_panel(right, panel, first, k - first, wide.data());
        REQUIRE(same_bits(wide.data(), reference.data(), (k - first) * 16));
      }
    }
  }
}

TEST_CASE("softmax_step_bf16 gives exactly 0 for masked scores and scores far below the maximum") {
  for (const Kernels* kernels : all_kernels()) {
    if (kernels->softmax_step_bf16 == nullptr) continue;
    CAPTURE(std::string(name_of(kernels->isa)));
    for (int64_t cols : {3, 16, 37, 64}) {
      GuardedArray<float> x(round_up(cols, 32));
      float row_max = -INFINITY, row_sum = 0, rescale = 0;
      x.fill(0.f);
      for (int64_t j = 0; j < cols; ++j) x[j] = j % 3 == 0 ? 1.f : j % 3 == 1 ? -INFINITY : -1e30f;
      kernels->softmax_step_bf16({x.data(), 1, cols, cols}, 0.5f, {&row_max, &row_sum, &rescale});
      const auto* codes = reinterpret_cast<const uint16_t*>(x.data());
      for (int64_t j = 0; j < cols; ++j) CHECK(codes[j] == (j % 3 == 0 ? 0x3f80 : 0));
    }
  }
}

TEST_CASE("softmax_step_bf16 agrees with softmax_step, in place and padded with zeros") {
  for (const Kernels* kernels : all_kernels()) {
    if (kernels->softmax_step_bf16 == nullptr) continue;
    CAPTURE(std::string(name_of(kernels->isa)));
    Random random(8);
    for (int64_t cols = 1; cols < 80; ++cols) {
      CAPTURE(cols);
      const int64_t rows = random_size(random, 1, 5), ld = (cols + 15) / 16 * 16 + 16 * random_size(random, 0, 1);
      GuardedArray<float> wide(rows * ld), narrow(rows * ld), state(3 * rows), narrow_state(3 * rows);
      for (GuardedArray<float>* each : {&state, &narrow_state}) {
        each->fill(0.f);
        std::fill_n(each->data(), rows, -std::numeric_limits<float>::infinity());
      }
      const auto state_of = [&](GuardedArray<float>& of) -> linformer::OnlineSoftmax {
        return {of.data(), of.data() + rows, of.data() + 2 * rows};
      };
      for (int block = 0; block < 2; ++block) {
        fill_random(random, wide.data(), wide.size(), 6);
        if (block == 1 && cols % 7 == 0) wide[cols / 2] = quiet_nan;
        std::memcpy(narrow.data(), wide.data(), static_cast<size_t>(wide.size()) * sizeof(float));
        kernels->softmax_step({wide.data(), rows, cols, ld}, 0.5f, state_of(state));
        kernels->softmax_step_bf16({narrow.data(), rows, cols, ld}, 0.5f, state_of(narrow_state));
      }
      REQUIRE((narrow.front_intact() && narrow_state.front_intact()));
      const int64_t padded = (cols + 31) / 32 * 32;
      std::vector<uint16_t> row(static_cast<size_t>(padded));
      for (int64_t r = 0; r < rows; ++r) {
        CAPTURE(r);
        for (int64_t part : {1, 2}) {  // Part 1 is row_sum, and part 2 is rescale.
          const float expected = state[part * rows + r], value = narrow_state[part * rows + r];
          CHECK(((std::isnan(expected) && std::isnan(value)) ||
                 std::fabs(value - expected) <= 1e-5f * std::fabs(expected)));
        }
        std::memcpy(row.data(), narrow.data() + r * ld, row.size() * sizeof(uint16_t));
        for (int64_t j = 0; j < padded; ++j) {
          const float expected = j < cols ? wide[r * ld + j] : 0.f;
          const float value = std::bit_cast<float>(uint32_t{row[static_cast<size_t>(j)]} << 16);
          CAPTURE(j);
          CHECK(((std::isnan(expected) && std::isnan(value)) || std::fabs(value - expected) <= 0.00392f * expected));
        }
      }
    }
  }
}

}  // namespace linformer_test::narrow_test
