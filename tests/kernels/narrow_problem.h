// A product in bf16 or int8 with random operands.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>

#include "base/checked.h"
#include "base/cpu.h"
#include "kernels/carried.h"
#include "kernels/kernel_support.h"
#include "kernels/tables.h"

namespace linformer_test {

using namespace linformer;

// A[M, K] and B[K, N] in bf16 or int8, with the scales, sums, bias and residual of a product.
struct LowPrecisionProblem {
  ElementType type;
  int64_t m, n, k, a_ld, c_ld;
  Epilogue epilogue;
  GuardedArray<char> a, b;
  GuardedArray<float> bias, residual, scales;
  GuardedArray<int32_t> sums;
  std::vector<RowScale> rows;

  LowPrecisionProblem(Random& random, ElementType element, int64_t row_count, int64_t col_count, int64_t depth)
      : type(element),
        m(row_count),
        n(col_count),
        k(depth),
        a_ld(round_up(k, 64) + 64 * random_size(random, 0, 1)),
        c_ld(n + random_size(random, 0, 5)),
        a(((m - 1) * a_ld + round_up(k, panel_k_multiple(type))) * element_bytes(type)),
        b(panel_elements(type, k, n) * element_bytes(type)),
        bias(n),
        residual(m * c_ld),
        scales(round_up(n, 16)),
        sums(round_up(n, 16) * int8_slices(k)),
        rows(static_cast<size_t>(m * int8_slices(k))) {
    fill_random(random, bias.data(), n);
    fill_random(random, residual.data(), residual.size());
    fill_random(random, scales.data(), scales.size());
    sums.fill(0);
    std::memset(a.data(), 0x3f, static_cast<size_t>(a.size()));  // Gaps between rows have finite values.
    std::memset(b.data(), 0, static_cast<size_t>(b.size()));
    std::uniform_real_distribution<float> values(-1.f, 1.f);
    for (RowScale& row : rows) row = {values(random), static_cast<int32_t>(random() % 256)};
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < k; ++j) store_element(a.data(), i * a_ld + j, values(random), random() % 256);
      for (int64_t j = k; j < round_up(k, 4); ++j) store_element(a.data(), i * a_ld + j, 0.f, 0);
    }
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const int32_t code = static_cast<int32_t>(random() % 255) - 127;
        store_element(b.data(), panel_index(type, k, i, j), values(random), static_cast<uint32_t>(code));
        sums[i / int8_slice * round_up(n, 16) + j] += code;
      }
    }
  }

  void store_element(char* to, int64_t index, float value, uint32_t code) const {
    if (type == ElementType::bf16) {
      const uint16_t bits = truncate_to(ElementType::bf16, value);
      std::memcpy(to + index * 2, &bits, 2);
    } else {
      to[index] = static_cast<char>(code);
    }
  }

  // Returns the arguments for rows [begin, end) and for `panels` panels that begin with panel number `panel`.
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
    g.b.sums_ld = round_up(n, 16);
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

inline bool has_gemm(const Kernels& kernels, ElementType type) {
  return (type == ElementType::bf16 ? kernels.gemm_bf16 : kernels.gemm_int8) != nullptr;
}

inline void check_equal(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  REQUIRE(same_bits(a.data(), b.data(), static_cast<int64_t>(a.size())));
}

// Returns whether bf16 is multiplied by AMX, which adds in another order than the other kernels (tiles_test.cc).
inline bool uses_amx([[maybe_unused]] const Kernels& kernels) {
  if constexpr (build_has_kernels(Extension::amx)) return kernels.gemm_bf16 == amx_gemm_bf16;
  return false;
}

// Returns whether GELU is computed from AVX-512's tables. Without VNNI, int8 products use the kernels of AVX2.
inline bool has_gelu_tables([[maybe_unused]] const Kernels& kernels, [[maybe_unused]] ElementType type) {
  if constexpr (build_has_kernels("avx512")) {
    return kernels.isa == Isa::avx512 &&
           (type == ElementType::bf16 || kernels.gemm_int8 != kernels_for(Isa::avx2)->gemm_int8);
  }
  return false;
}

// Returns all_kernels(), and also the tables that this machine would have without some extensions of AVX-512 or NEON.
inline std::vector<const Kernels*> all_kernel_variants() {
  std::vector<const Kernels*> tables = all_kernels();
  if constexpr (build_has_kernels("avx512")) {
    if (const Kernels* avx512 = kernels_for(Isa::avx512); avx512 != nullptr) {
      static Kernels without_vnni = *avx512;
      without_vnni.gemm_int8 = kernels_for(Isa::avx2)->gemm_int8;
      tables.push_back(&without_vnni);
    }
  }
  if constexpr (build_has_kernels(Extension::amx)) {
    if (machine_has(Extension::amx)) {
      static Kernels plain = *kernels_for(Isa::avx512);
      plain.gemm_int8 = avx512_gemm_int8;
      plain.gemm_bf16 = avx512_bf16_kernels.gemm;
      tables.push_back(&plain);
    }
  }
  if constexpr (build_has_kernels("neon")) tables.push_back(&neon_kernels);
  if constexpr (build_has_kernels(Extension::neon_dotprod)) {
    if (machine_has(Extension::neon_dotprod)) {
      static Kernels dotprod = neon_kernels;
      dotprod.gemm_int8 = neon_dotprod_gemm_int8;
      tables.push_back(&dotprod);
    }
  }
  return tables;
}

}  // namespace linformer_test
