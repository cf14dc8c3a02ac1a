// Views of matrices for kernels and GEMM providers: where a matrix lies, its size, its leading dimension and its
// layout.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/checked.h"
#include "base/types.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// A view of a row-major matrix that kernels read or write. It is small and passed by value, and owns nothing.
template <class T>
struct Matrix {
  T* data = nullptr;
  int64_t rows = 0, cols = 0;
  int64_t ld = 0;  // Leading dimension: the number of elements from one row to the next.

  // These functions are always inlined. If a call of one remained, the linker could resolve it to a copy that was
  // compiled for another instruction set.
  [[gnu::always_inline]] T* row(int64_t i) const { return data + i * ld; }
  // Returns the rows [first_row, first_row + row_count) of the columns [first_col, first_col + col_count).
  [[gnu::always_inline]] Matrix part(int64_t first_row, int64_t first_col, int64_t row_count, int64_t col_count) const {
    return {row(first_row) + first_col, row_count, col_count, ld};
  }
  [[gnu::always_inline]] operator Matrix<const T>() const requires(!std::is_const_v<T>) {
    return {data, rows, cols, ld};
  }
};
using MutableMatrix = Matrix<float>;
using ConstMatrix = Matrix<const float>;

// How a slice of a row of activations is stored in int8: x = scale (u - zero), with u in [0, 255]. A row is cut into
// slices of int8_slice columns, since otherwise the largest element of the row would set the scale for thousands of
// columns.
struct RowScale {
  // NaN if an element of the slice isn't finite. The row of the product then isn't finite either.
  float scale = 0;
  int32_t zero = 0;
};
inline constexpr int64_t int8_slice = 768;
[[gnu::always_inline]] constexpr int64_t int8_slices(int64_t cols) { return (cols + int8_slice - 1) / int8_slice; }

// The bytes of a row's int8 codes, without the scales that follow them.
[[gnu::always_inline]] constexpr int64_t int8_codes_bytes(int64_t cols) { return round_up(cols, 64); }
// Returns the bytes of a row of `cols` activations in 16 bits, or in int8 followed by the scales of its slices. The
// result is an odd number of cache lines. With an even number, the rows of a tile would compete for few of the cache's
// sets: bf16 products by AMX, whose tiles have 16 rows, are up to a tenth faster with an odd number.
[[gnu::always_inline]] constexpr int64_t low_precision_row_bytes(ElementType type, int64_t cols) {
  const int64_t bytes = type == ElementType::int8
                            ? int8_codes_bytes(cols) + int8_slices(cols) * static_cast<int64_t>(sizeof(RowScale))
                            : cols * 2;
  return round_up(bytes, 64) | 64;
}

// The left side A[M, K] of a product, row-major. In bf16 and int8, kernels may read the bytes behind the end of a row,
// up to the next multiple of 64. The bytes up to the next multiple of 4 are zero. The bytes after these hold any finite
// numbers, because they are multiplied by the zeros that pad the right side.
struct LeftMatrix {
  const void* data = nullptr;
  ElementType type = ElementType::f32;  // int8 means codes of type u8.
  int64_t rows = 0, cols = 0;
  int64_t ld = 0;                    // In elements.
  const RowScale* scales = nullptr;  // int8 only: [M, int8_slices(K)].
  int64_t scales_ld = 0;

  LeftMatrix() = default;
  [[gnu::always_inline]] LeftMatrix(ConstMatrix m) : data(m.data), rows(m.rows), cols(m.cols), ld(m.ld) {}
  [[gnu::always_inline]] LeftMatrix(MutableMatrix m) : LeftMatrix(ConstMatrix(m)) {}
  LeftMatrix(const void* from, ElementType element, int64_t row_count, int64_t col_count, int64_t stride)
      : data(from), type(element), rows(row_count), cols(col_count), ld(stride) {}
  [[gnu::always_inline]] ConstMatrix floats() const { return {static_cast<const float*>(data), rows, cols, ld}; }
};

// The matrix that a product writes, row-major, in f32 or bf16.
struct OutMatrix {
  void* data = nullptr;
  ElementType type = ElementType::f32;
  int64_t rows = 0, cols = 0;
  int64_t ld = 0;  // In elements.

  OutMatrix() = default;
  [[gnu::always_inline]] OutMatrix(MutableMatrix m) : data(m.data), rows(m.rows), cols(m.cols), ld(m.ld) {}
  [[gnu::always_inline]] OutMatrix(Matrix<uint16_t> m)
      : data(m.data), type(ElementType::bf16), rows(m.rows), cols(m.cols), ld(m.ld) {}
  [[gnu::always_inline]] MutableMatrix floats() const { return {static_cast<float*>(data), rows, cols, ld}; }
  [[gnu::always_inline]] Matrix<uint16_t> halves() const { return {static_cast<uint16_t*>(data), rows, cols, ld}; }
};

// How the right side B[K, N] of a product lies in memory.
enum class RightLayout : uint8_t {
  panel16,     // Prepared panels: a weight from the file, or an activation that pack_panel packed.
  row_major,   // [K, N] in f32.
  transposed,  // [N, K], in f32; a tied embedding also in bf16 or f16.
};

// A panel16 matrix B[K, N] consists of panels of 16 columns, one after the other. In a panel of f32 or f16, each k is a
// row of 16 elements. In bf16, two successive k lie side by side for each column (64 bytes are 16 pairs), and in int8
// four. So 4 bytes of a row of A are multiplied by 64 bytes of a panel, whatever the dtype. (f16 is always widened to
// f32 first.)
inline constexpr int64_t panel_width = 16;
// Returns the number of successive k that lie side by side for each column.
[[gnu::always_inline]] constexpr int64_t panel_interleave(ElementType type) {
  return type == ElementType::int8 ? 4 : type == ElementType::bf16 ? 2 : 1;
}
// Returns the multiple to which K is padded with zeros: 16 rows of a panel.
[[gnu::always_inline]] constexpr int64_t panel_k_multiple(ElementType type) { return 16 * panel_interleave(type); }
// Returns the number of elements of a panel16 matrix B[K, N], padding included.
[[gnu::always_inline]] constexpr int64_t panel_elements(ElementType type, int64_t k, int64_t n) {
  return round_up(n, panel_width) * round_up(k, panel_k_multiple(type));
}

// The right side B[K, N] of a product.
struct RightMatrix {
  const void* data = nullptr;  // panel16: aligned to 64 bytes.
  ElementType type = ElementType::f32;
  RightLayout layout = RightLayout::panel16;
  int64_t k = 0, n = 0;
  int64_t ld = 0;                 // In elements; ignored for panel16.
  int64_t depth = 0;              // panel16: K of the matrix that this is a part of; 0 if this is the whole matrix.
  const float* scales = nullptr;  // int8: one for each column, N padded; the code s means scale * s.
  const int32_t* sums = nullptr;  // int8: [int8_slices(K), sums_ld]; sums of each column's codes in each slice of K.
  int64_t sums_ld = 0;            // N, padded.

  // Returns the bytes from one panel to the next.
  [[gnu::always_inline]] int64_t panel_bytes() const {
    return panel_elements(type, depth > 0 ? depth : k, panel_width) * element_bytes(type);
  }
  // For panel16 only: returns the rows [first_k, first_k + k_count) of the columns [first_n, first_n + n_count).
  // first_n is a multiple of 16, and first_k of panel_k_multiple(type) or, for int8, of int8_slice.
  RightMatrix part(int64_t first_k, int64_t k_count, int64_t first_n, int64_t n_count) const {
    RightMatrix b = *this;
    b.data = static_cast<const char*>(data) + first_n / panel_width * panel_bytes() +
             first_k * panel_width * element_bytes(type);
    b.depth = depth > 0 ? depth : k;
    b.k = k_count;
    b.n = n_count;
    if (type == ElementType::int8) {
      b.scales += first_n;
      b.sums += first_k / int8_slice * sums_ld + first_n;
    }
    return b;
  }
};

}  // namespace LINFORMER_NAMESPACE
