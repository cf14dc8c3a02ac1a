// Row-major matrices into panel16.
#pragma once

#include "kernels/generic/lanes.h"
#include "kernels/kernels.h"

namespace linformer {
namespace {

inline constexpr int64_t pack_block_rows = 16;

// dst[0 .. k) rows of 16 floats = src rows' first `cols` floats, zero beyond.
template <class L>
void copy_panel_rows(const float* src, int64_t ld, int64_t rows, int64_t cols, float* dst) {
  using B = typename L::Batch;
  for (int64_t r = 0; r < rows; ++r, src += ld, dst += panel_width) {
    for (int64_t j = 0; j < panel_width; j += L::width) {
      const int64_t left = cols - j;
      B x(0.f);
      if (left >= L::width) {
        x = B::load_unaligned(src + j);
      } else if (left > 0) {
        x = L::load_partial(src + j, left, x);
      }
      x.store_unaligned(dst + j);
    }
  }
}

// dst[i][j] = src[j][i]: `rows` (k) by `cols` (n), both at most 16, zero beyond.
template <class L>
void transpose_panel_rows(const float* src, int64_t ld, int64_t rows, int64_t cols, float* dst) {
  constexpr int w = L::transpose_width;
  for (int64_t i = 0; i < panel_width; i += w) {
    for (int64_t j = 0; j < panel_width; j += w) {
      L::transpose_block(src + j * ld + i, ld, rows - i, cols - j, dst + i * panel_width + j);
    }
  }
}

template <class L>
void pack_panel(ConstMatrix src, bool transposed, float* dst) {
  const int64_t k = transposed ? src.cols : src.rows, n = transposed ? src.rows : src.cols;
  const int64_t padded_k = (k + panel_width - 1) / panel_width * panel_width;
  for (int64_t k0 = 0; k0 < k; k0 += pack_block_rows) {
    const int64_t rows = k - k0 < pack_block_rows ? k - k0 : pack_block_rows;
    for (int64_t n0 = 0; n0 < n; n0 += panel_width) {
      const int64_t cols = n - n0 < panel_width ? n - n0 : panel_width;
      float* block = dst + n0 * padded_k + k0 * panel_width;
      if (transposed) {
        transpose_panel_rows<L>(src.row(n0) + k0, src.ld, rows, cols, block);
      } else {
        copy_panel_rows<L>(src.row(k0) + n0, src.ld, rows, cols, block);
        const int64_t padding = pack_block_rows - rows;
        __builtin_memset(block + rows * panel_width, 0, static_cast<size_t>(padding * panel_width) * sizeof(float));
      }
    }
  }
}

}  // namespace
}  // namespace linformer
