// Matrices as kernels and GEMM providers see them: where they lie, how large they are, how their rows follow each
// other.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/checked.h"
#include "base/types.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// A row-major matrix in memory, what kernels read and write: small, passed by value, owns nothing.
template <class T>
struct Matrix {
  T* data = nullptr;
  int64_t rows = 0, cols = 0;
  int64_t ld = 0;  // leading dimension: elements from one row to the next

  // Always inlined: a call from a kernel unit could be linked to the copy of a unit for another instruction set.
  [[gnu::always_inline]] T* row(int64_t i) const { return data + i * ld; }
  // Rows [first_row, first_row + row_count) by columns [first_col, first_col + col_count).
  [[gnu::always_inline]] Matrix part(int64_t first_row, int64_t first_col, int64_t row_count, int64_t col_count) const {
    return {row(first_row) + first_col, row_count, col_count, ld};
  }
  [[gnu::always_inline]] operator Matrix<const T>() const requires(!std::is_const_v<T>) {
    return {data, rows, cols, ld};
  }
};
using MutableMatrix = Matrix<float>;
using ConstMatrix = Matrix<const float>;

// int8 activations: x = scale (u - zero), u in [0, 255], for each row and slice of its columns. One scale for thousands
// of columns would be decided by the largest of them all.
struct RowScale {
  float scale = 0;  // NaN: the slice had an element that is not finite, and so has the product
  int32_t zero = 0;
};
inline constexpr int64_t int8_slice = 768;
[[gnu::always_inline]] constexpr int64_t int8_slices(int64_t cols) { return (cols + int8_slice - 1) / int8_slice; }

// Bytes of a row of `cols` activations in 16 bits, or in int8 with the scales of its slices behind: an odd number of
// cache lines. An even one would lay the rows of a tile into a part of a cache's sets: bf16 products by AMX, whose
// tiles have 16 rows, are up to a tenth faster with one line more.
[[gnu::always_inline]] constexpr int64_t narrow_codes_bytes(int64_t cols) { return round_up(cols, 64); }
[[gnu::always_inline]] constexpr int64_t narrow_row_bytes(ElementType type, int64_t cols) {
  const int64_t bytes = type == ElementType::int8
                            ? narrow_codes_bytes(cols) + int8_slices(cols) * static_cast<int64_t>(sizeof(RowScale))
                            : cols * 2;
  return round_up(bytes, 64) | 64;
}

// The left side A[M, K] of a product, row-major. Narrower than f32: each row is readable up to the next multiple of 64
// bytes; up to the next multiple of 4 it is zero, and then finite (it meets zeros of the right side's padding).
struct LeftMatrix {
  const void* data = nullptr;
  ElementType type = ElementType::f32;  // int8: u8
  int64_t rows = 0, cols = 0;
  int64_t ld = 0;                    // elements
  const RowScale* scales = nullptr;  // int8 only: [M, int8_slices(K)]
  int64_t scales_ld = 0;

  LeftMatrix() = default;
  [[gnu::always_inline]] LeftMatrix(ConstMatrix m) : data(m.data), rows(m.rows), cols(m.cols), ld(m.ld) {}
  [[gnu::always_inline]] LeftMatrix(MutableMatrix m) : LeftMatrix(ConstMatrix(m)) {}
  LeftMatrix(const void* from, ElementType element, int64_t row_count, int64_t col_count, int64_t stride)
      : data(from), type(element), rows(row_count), cols(col_count), ld(stride) {}
  [[gnu::always_inline]] ConstMatrix floats() const { return {static_cast<const float*>(data), rows, cols, ld}; }
};

// What a product writes, row-major: f32 or bf16.
struct OutMatrix {
  void* data = nullptr;
  ElementType type = ElementType::f32;
  int64_t rows = 0, cols = 0;
  int64_t ld = 0;  // elements

  OutMatrix() = default;
  [[gnu::always_inline]] OutMatrix(MutableMatrix m) : data(m.data), rows(m.rows), cols(m.cols), ld(m.ld) {}
  [[gnu::always_inline]] OutMatrix(Matrix<uint16_t> m)
      : data(m.data), type(ElementType::bf16), rows(m.rows), cols(m.cols), ld(m.ld) {}
  [[gnu::always_inline]] MutableMatrix floats() const { return {static_cast<float*>(data), rows, cols, ld}; }
  [[gnu::always_inline]] Matrix<uint16_t> halves() const { return {static_cast<uint16_t*>(data), rows, cols, ld}; }
};

// How the right side B[K, N] of a product lies in memory.
enum class RightLayout : uint8_t {
  panel16,     // prepared: a weight from the file, or an activation through pack_panel
  row_major,   // [K, N] f32
  transposed,  // [N, K] f32 (or bf16/f16 weights: a tied embedding): B = src^T
};

// panel16: panels of 16 columns, one after the other. In a panel of f32 or f16 each k is a row of 16 elements; of bf16
// two k lie side by side in each column (64 bytes: 16 pairs), of int8 four. So 4 bytes of a row of A meet 64 bytes of
// a panel, whatever the type (f16 is only ever widened).
inline constexpr int64_t panel_width = 16;
// K that lie side by side in a column.
[[gnu::always_inline]] constexpr int64_t panel_interleave(ElementType type) {
  return type == ElementType::int8 ? 4 : type == ElementType::bf16 ? 2 : 1;
}
// K is padded with zeros to a multiple of this: 16 rows of a panel.
[[gnu::always_inline]] constexpr int64_t panel_depth(ElementType type) { return 16 * panel_interleave(type); }
// Elements of a panel16 matrix B[K, N].
[[gnu::always_inline]] constexpr int64_t panel_elements(ElementType type, int64_t k, int64_t n) {
  return round_up(n, panel_width) * round_up(k, panel_depth(type));
}

// The right side B[K, N] of a product.
struct RightMatrix {
  const void* data = nullptr;  // panel16: 64-byte aligned
  ElementType type = ElementType::f32;
  RightLayout layout = RightLayout::panel16;
  int64_t k = 0, n = 0;
  int64_t ld = 0;                 // elements; ignored for panel16
  int64_t depth = 0;              // panel16: K of the matrix whose rows [0, k) these are; 0: k
  const float* scales = nullptr;  // int8: [N, padded], value = scale s
  const int32_t* sums = nullptr;  // int8: [int8_slices(K), sums_ld], of each column's s in each slice of K
  int64_t sums_ld = 0;            // N, padded

  // From one panel to the next.
  [[gnu::always_inline]] int64_t panel_bytes() const {
    return panel_elements(type, depth > 0 ? depth : k, panel_width) * element_bytes(type);
  }
  // panel16: rows [first_k, first_k + k_count) by columns [first_n, first_n + n_count). first_n is a multiple of 16,
  // first_k of panel_depth(type), for int8 of int8_slice.
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
