// C = epilogue(A B) with B in panel16, read in place.
//
// Loops, outer to inner: `row_chunk` rows of A; a slab of up to three panels of B (48 columns); blocks of K, so
// that the slab's block stays in a near cache while all rows of the chunk pass over it; register tiles. A tile's sums
// live in `partial` (24 KB, on the stack) between blocks of K, unrounded, so blocking never changes the contraction
// order or a bit; the epilogue runs on a tile right after its last block.
#pragma once

#include <utility>

#include "kernels/generic/pack.h"
#include "kernels/generic/rows.h"

namespace linformer {
namespace {

inline constexpr int64_t row_chunk = 128;
inline constexpr int64_t slab_panels = 3;
inline constexpr int64_t cache_line = 64;  // bytes
inline constexpr int64_t slab_width = slab_panels * panel_width;
// K rows between two visits to `partial`; 16-bit weights are widened into a buffer on the stack, so fewer at a time.
template <class L, ElementType type>
inline constexpr int64_t k_block = type == ElementType::f32 ? L::k_block : 256;

// partial[Rows][Panels * 16] (+)= A[Rows, k] B[k, Panels * 16]: one accumulator for each element, K in order.
// Meanwhile k / 4 cache lines from `ahead` on are prefetched into L2: weights come from L3 or memory, and without this
// every slab begins with waiting.
template <class L, int Rows, int Panels>
void multiply_tile(const float* a, int64_t a_ld, const float* b, int64_t panel_stride, int64_t k, bool first,
                   float* partial, uintptr_t ahead) {
  using B = typename L::Batch;
  constexpr int per_panel = panel_width / L::width;
  constexpr int columns = Panels * per_panel;
  B sum[Rows][columns];
  LINFORMER_UNROLL for (int i = 0; i < Rows; ++i) {
    LINFORMER_UNROLL for (int j = 0; j < columns; ++j) {
      sum[i][j] = first ? B(0.f) : B::load_unaligned(partial + i * slab_width + j * L::width);
    }
  }
  const auto multiply_step = [&](int64_t kk) __attribute__((always_inline)) {
    B right[columns];
    LINFORMER_UNROLL for (int j = 0; j < columns; ++j) {
      right[j] = B::load_unaligned(b + (j / per_panel) * panel_stride + kk * panel_width + (j % per_panel) * L::width);
    }
    LINFORMER_UNROLL for (int i = 0; i < Rows; ++i) {
      const B left(a[i * a_ld + kk]);
      LINFORMER_UNROLL for (int j = 0; j < columns; ++j) sum[i][j] = L::fma(left, right[j], sum[i][j]);
    }
  };
  int64_t kk = 0;
  for (; kk + 4 <= k; kk += 4, ahead += cache_line) {
    __builtin_prefetch(reinterpret_cast<const void*>(ahead), 0, 2);
    multiply_step(kk);
    multiply_step(kk + 1);
    multiply_step(kk + 2);
    multiply_step(kk + 3);
  }
  for (; kk < k; ++kk) multiply_step(kk);
  LINFORMER_UNROLL for (int i = 0; i < Rows; ++i) {
    LINFORMER_UNROLL for (int j = 0; j < columns; ++j) {
      sum[i][j].store_unaligned(partial + i * slab_width + j * L::width);
    }
  }
}

using MultiplyTile = void (*)(const float*, int64_t, const float*, int64_t, int64_t, bool, float*, uintptr_t);

template <class L, int Panels, int... Rows>
constexpr MultiplyTile tile_for(int64_t rows, std::integer_sequence<int, Rows...>) {
  constexpr MultiplyTile tiles[] = {&multiply_tile<L, Rows + 1, Panels>...};
  return tiles[rows - 1];
}

template <class L>
MultiplyTile tile_for(int64_t rows, int64_t panels) {
  constexpr auto all_rows = std::make_integer_sequence<int, L::tile_rows>();
  static_assert(L::tile_panels == 1 || L::tile_panels == 3);
  if constexpr (L::tile_panels == 3) {
    if (panels == 3) return tile_for<L, 3>(rows, all_rows);
    if (panels == 2) return tile_for<L, 2>(rows, all_rows);
  }
  return tile_for<L, 1>(rows, all_rows);
}

// Rows [row, row + rows) by columns [col, col + cols) of C from their finished sums.
template <class L, Activation activation>
void finish_tile(const GemmArgs& gemm, const float* partial, int64_t row, int64_t rows, int64_t col, int64_t cols) {
  using B = typename L::Batch;
  const Epilogue& epilogue = gemm.epilogue;
  for (int64_t i = 0; i < rows; ++i, partial += slab_width) {
    float* c = gemm.c.row(row + i) + col;
    const float* residual = epilogue.residual.data == nullptr ? nullptr : epilogue.residual.row(row + i) + col;
    const B row_bias(epilogue.row_bias == nullptr ? 0.f : epilogue.row_bias[row + i]);
    for_each_batch<L>(cols, [&](int64_t j, int64_t count) {
      const B sum = B::load_unaligned(partial + j);
      if (epilogue.accumulate) {
        store_lanes<L>(c + j, count, sum + load_lanes<L>(c + j, count, B(0.f)));
        return;
      }
      B x = sum + row_bias;
      if (epilogue.bias != nullptr) x += load_lanes<L>(epilogue.bias + col + j, count, B(0.f));
      x = activated<L, activation>(x);
      if (residual != nullptr) x += load_lanes<L>(residual + j, count, B(0.f));
      store_lanes<L>(c + j, count, x);
    });
  }
}

template <class L, ElementType type>
void widen_panels(const void* b, int64_t panel_stride, int64_t panels, int64_t rows, float* wide) {
  const char* bytes = static_cast<const char*>(b);
  for (int64_t p = 0; p < panels; ++p) {
    const char* src = bytes + p * panel_stride * element_bytes(type);
    float* dst = wide + p * k_block<L, type> * panel_width;
    for (int64_t i = 0; i < rows * panel_width; i += L::width) {
      load_widened<L, type>(src + i * element_bytes(type)).store_unaligned(dst + i);
    }
  }
}

// The i-th of `parts` near-equal parts of [0, count) begins here.
constexpr int64_t part_begin(int64_t count, int64_t parts, int64_t i) { return count * i / parts; }

// One chunk of rows [m0, m0 + rows) by one slab of panels, all of K.
template <class L, ElementType type>
void multiply_slab(const GemmArgs& gemm, int64_t m0, int64_t rows, int64_t panel0, int64_t panels) {
  constexpr int64_t block_rows = k_block<L, type>;
  alignas(64) float partial[row_chunk * slab_width];
  alignas(64) float wide[type == ElementType::f32 ? 1 : slab_panels * block_rows * panel_width];
  const int64_t panel_stride = (gemm.a.cols + panel_width - 1) / panel_width * panel_width * panel_width;
  const int64_t tiles = (rows + L::tile_rows - 1) / L::tile_rows;
  int64_t k0 = 0;
  do {
    const int64_t k_left = gemm.a.cols - k0;
    const bool last = k_left <= block_rows;
    const int64_t k = last ? k_left : block_rows;
    const void* b =
        static_cast<const char*>(gemm.b.data) + (panel0 * panel_stride + k0 * panel_width) * element_bytes(type);
    const float* block = static_cast<const float*>(b);
    int64_t block_stride = panel_stride;
    if constexpr (type != ElementType::f32) {
      widen_panels<L, type>(b, panel_stride, panels, k, wide);
      block = wide;
      block_stride = block_rows * panel_width;
    }
    // What comes after this block; at the end of B the block itself. An address past the end does no harm: a
    // prefetch never faults.
    const bool more_slabs = (panel0 + panels) * panel_width < gemm.c.cols;
    const int64_t next = !last        ? panel0 * panel_stride + (k0 + k) * panel_width
                         : more_slabs ? (panel0 + panels) * panel_stride
                                      : panel0 * panel_stride + k0 * panel_width;
    for (int64_t t = 0; t < tiles; ++t) {
      // Twelve tiles between them cover three panels; with fewer tiles the rest comes when it is needed.
      const int64_t tile_next = next + t / 4 % panels * panel_stride + t % 4 * (k / 4) * panel_width;
      const uintptr_t ahead =
          reinterpret_cast<uintptr_t>(gemm.b.data) + static_cast<uintptr_t>(tile_next * element_bytes(type));
      const int64_t row = part_begin(rows, tiles, t);
      const int64_t tile_rows = part_begin(rows, tiles, t + 1) - row;
      float* sums = partial + row * slab_width;
      const float* a = gemm.a.row(m0 + row) + k0;
      for (int64_t p = 0; p < panels; p += L::tile_panels) {
        const int64_t tile_panels = panels - p < L::tile_panels ? panels - p : L::tile_panels;
        tile_for<L>(tile_rows, tile_panels)(a, gemm.a.ld, block + p * block_stride, block_stride, k, k0 == 0,
                                            sums + p * panel_width, ahead);
      }
      if (last) {
        const int64_t col = panel0 * panel_width;
        const int64_t cols = gemm.c.cols - col < panels * panel_width ? gemm.c.cols - col : panels * panel_width;
        with_activation(gemm.epilogue.activation, [&]<Activation activation>() {
          finish_tile<L, activation>(gemm, sums, m0 + row, tile_rows, col, cols);
        });
      }
    }
    k0 += block_rows;
  } while (k0 < gemm.a.cols);
}

template <class L>
void gemm_panel(const GemmArgs& gemm) {
  const int64_t panels = (gemm.c.cols + panel_width - 1) / panel_width;
  const int64_t slabs = (panels + slab_panels - 1) / slab_panels;
  const auto run_slab = gemm.b.type == ElementType::bf16  ? multiply_slab<L, ElementType::bf16>
                        : gemm.b.type == ElementType::f16 ? multiply_slab<L, ElementType::f16>
                                                          : multiply_slab<L, ElementType::f32>;
  for (int64_t m0 = 0; m0 < gemm.c.rows; m0 += row_chunk) {
    const int64_t rows = gemm.c.rows - m0 < row_chunk ? gemm.c.rows - m0 : row_chunk;
    for (int64_t s = 0; s < slabs; ++s) {
      const int64_t panel = part_begin(panels, slabs, s);
      run_slab(gemm, m0, rows, panel, part_begin(panels, slabs, s + 1) - panel);
    }
  }
}

template <class L>
constexpr Kernels make_kernels(Isa isa) {
  return {isa,
          &gemm_panel<L>,
          &pack_panel<L>,
          &softmax_rows<L>,
          &softmax_step<L>,
          &scale_rows<L>,
          &layer_norm_rows<L>,
          &activate<L>,
          &add<L>,
          &multiply<L>,
          &widen<L>};
}

}  // namespace
}  // namespace linformer
