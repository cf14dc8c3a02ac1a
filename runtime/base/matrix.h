// Matrices as kernels and GEMM providers see them: where they lie, how large they are, how their rows follow each
// other.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/checked.h"
#include "linformer/types.h"

namespace linformer {

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

// How the right side B[K, N] of a product lies in memory.
enum class RightLayout : uint8_t {
  panel16,     // prepared: a weight from the file, or an activation through pack_panel
  row_major,   // [K, N] f32
  transposed,  // [N, K] f32 (or bf16/f16 weights: a tied embedding): B = src^T
};

// The right side B[K, N] of a product.
struct RightMatrix {
  const void* data = nullptr;  // panel16: 64-byte aligned
  ElementType type = ElementType::f32;
  RightLayout layout = RightLayout::panel16;
  int64_t k = 0, n = 0;
  int64_t ld = 0;  // elements; ignored for panel16
};

inline constexpr int64_t panel_width = 16;
// Elements of a panel16 matrix B[K, N].
constexpr int64_t panel_elements(int64_t k, int64_t n) { return round_up(n, panel_width) * round_up(k, panel_width); }

}  // namespace linformer
