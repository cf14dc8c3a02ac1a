// Packs row-major matrices into panel16, and widens panels to f32.
#pragma once

#include "kernels/generic/rows.h"
#include "kernels/kernels.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {
namespace {

inline constexpr int64_t pack_block_rows = 16;

// Copies the first `cols` floats of each of `rows` rows to rows of 16 floats, and fills these up with zeros.
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

// Sets dst[i][j] = src[j][i] for i < rows, along K, and j < cols, along N. `rows` and `cols` are at most 16, and the
// other elements of the 16 x 16 block of dst become zero.
template <class L>
void transpose_panel_rows(const float* src, int64_t ld, int64_t rows, int64_t cols, float* dst) {
  constexpr int w = L::transpose_width;
  for (int64_t i = 0; i < panel_width; i += w) {
    for (int64_t j = 0; j < panel_width; j += w) {
      L::transpose_block(src + j * ld + i, ld, rows - i, cols - j, dst + i * panel_width + j);
    }
  }
}

// Widens `k` rows of a panel at `src` to f32. In a panel of bf16, pairs of rows are interleaved, and in int8, groups of
// four. int8 elements are multiplied by the scales of their columns. Up to 3 rows after these `k` are overwritten, too.
template <class L, ElementType type>
void widen_panel_rows(const RightMatrix& b, int64_t panel, const char* src, int64_t k, float* dst) {
  using B = typename L::Batch;
  using I = IntegersOf<B>;
  if constexpr (type == ElementType::f32 || type == ElementType::f16) {
    for (int64_t i = 0; i < k * panel_width; i += L::width) {
      load_widened<L, type>(src + i * element_bytes(type)).store_unaligned(dst + i);
    }
    return;
  }
  constexpr int64_t together = panel_interleave(type);
  for (int64_t j = 0; j < panel_width; j += L::width) {
    const B scale = type == ElementType::int8 ? B::load_unaligned(b.scales + panel * panel_width + j) : B(1.f);
    for (int64_t i = 0; i < k; i += together) {
      const I bits =
          I::load_unaligned(reinterpret_cast<const int32_t*>(src + i * panel_width * element_bytes(type) + j * 4));
      float* to = dst + i * panel_width + j;
      if constexpr (type == ElementType::bf16) {
        bits_as<B>(bits << 16).store_unaligned(to);
        bits_as<B>(bits & I(static_cast<int32_t>(0xffff0000u))).store_unaligned(to + panel_width);
      } else {
        LINFORMER_UNROLL for (int q = 0; q < 4; ++q) {
          const I one = (bits << (24 - 8 * q)) >> 24;
          (xsimd::to_float(one) * scale).store_unaligned(to + q * panel_width);
        }
      }
    }
  }
}

template <class L>
void widen_panel(const RightMatrix& b, int64_t panel, int64_t first, int64_t k, float* dst) {
  const char* src =
      static_cast<const char*>(b.data) + panel * b.panel_bytes() + first * panel_width * element_bytes(b.type);
  switch (b.type) {
    case ElementType::f32:
      return widen_panel_rows<L, ElementType::f32>(b, panel, src, k, dst);
    case ElementType::bf16:
      return widen_panel_rows<L, ElementType::bf16>(b, panel, src, k, dst);
    case ElementType::f16:
      return widen_panel_rows<L, ElementType::f16>(b, panel, src, k, dst);
    case ElementType::int8:
      return widen_panel_rows<L, ElementType::int8>(b, panel, src, k, dst);
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

// Packs panels of bf16, in which two consecutive elements of K lie side by side for each column.
template <class L>
void pack_panel_bf16(ConstMatrix src, bool transposed, uint16_t* dst) {
  using B = typename L::Batch;
  constexpr int64_t depth = 32;
  const int64_t k = transposed ? src.cols : src.rows, n = transposed ? src.rows : src.cols;
  const int64_t panel = (k + depth - 1) / depth * depth * panel_width;
  // Each group of rows is packed into all panels before the next group, so that a row is read from beginning to end.
  for (int64_t k0 = 0; k0 < k; k0 += depth) {
    const int64_t rows = k - k0 < depth ? k - k0 : depth;
    for (int64_t n0 = 0; n0 < n; n0 += panel_width) {
      const int64_t cols = n - n0 < panel_width ? n - n0 : panel_width;
      uint16_t* const to = dst + n0 / panel_width * panel + k0 * panel_width;
      if (transposed) {
        // Rows of 32 elements are rounded to pairs in 16 words of 4 bytes, and the words are transposed like floats.
        alignas(64) uint16_t pairs[panel_width * depth];
        for (int64_t j = 0; j < cols; ++j) {
          const float* from = src.row(n0 + j) + k0;
          if (rows == depth) {
            LINFORMER_UNROLL for (int64_t i = 0; i < depth; i += L::width) {
              L::store_bf16(pairs + j * depth + i, L::width, B::load_unaligned(from + i));
            }
            continue;
          }
          for (int64_t i = 0; i < depth; i += L::width) {
            const int64_t left = rows - i;
            const B x = left >= L::width ? B::load_unaligned(from + i)
                        : left > 0       ? L::load_partial(from + i, left, B(0.f))
                                         : B(0.f);
            L::store_bf16(pairs + j * depth + i, L::width, x);
          }
        }
        transpose_panel_rows<L>(reinterpret_cast<const float*>(pairs), depth / 2, panel_width, cols,
                                reinterpret_cast<float*>(to));
        continue;
      }
      if (rows == depth && cols == panel_width) {
        const float* from = src.row(k0) + n0;
        for (int64_t i = 0; i < depth; i += 2, from += 2 * src.ld) {
          LINFORMER_UNROLL for (int64_t j = 0; j < panel_width; j += L::width) {
            L::store_pairs(to + i * panel_width + 2 * j, B::load_unaligned(from + j),
                           B::load_unaligned(from + src.ld + j));
          }
        }
        continue;
      }
      for (int64_t i = 0; i < depth; i += 2) {
        for (int64_t j = 0; j < panel_width; j += L::width) {
          const int64_t count = cols - j < L::width ? cols - j : L::width;
          const auto row = [&](int64_t at) {
            if (at >= rows || count <= 0) return B(0.f);
            return load_lanes<L>(src.row(k0 + at) + n0 + j, count, B(0.f));
          };
          L::store_pairs(to + i * panel_width + 2 * j, row(i), row(i + 1));
        }
      }
    }
  }
}

}  // namespace
}  // namespace LINFORMER_NAMESPACE
