// Tiles of 16 rows of f32 accumulators in the registers of a warp. Attention keeps its scores and its context in them.
// Products that are added to them run on tensor cores if the GPU has them for the type, and otherwise as FMA.
#pragma once

#include "cuda/element.h"
#include "linformer/version.h"

#if defined(__CUDACC__)
#include "cuda/tensor_core.h"
#endif

namespace LINFORMER_NAMESPACE::cuda {

inline constexpr int tile_rows = 16;
// The size of `scratch` (see below), in floats.
template <class T>
inline constexpr int staged_floats = 1;
template <>
inline constexpr int staged_floats<Half> = tile_rows* tile_rows;

// One of the 16 rows of a tile. `slot` is the index at which a lane keeps the row's value.
struct TileRow {
  int row, slot;
};

// RowValues is a number for each of the 16 rows:
//   each          calls f(value, TileRow)
// RowTile<cols> is a tile [16, cols], where cols is a multiple of 8:
//   each          calls f(value, TileRow, column)
//   max, sum      return the maximum and the sum of each row; max() ignores NaN and is at least `lowest`
//   multiply_transposed<T, depth>(warp, a, b, ld, scratch)
//                 adds A B^T to the tile; A [16, depth] and B [cols, depth] are in shared memory
//   multiply<T, inner>(warp, a, b, ld, scratch)
//                 adds A B to the tile; A is a RowTile, which is rounded to T; B [inner, cols] is in shared memory
// `ld` elements are a multiple of 16 bytes. `scratch` is shared memory of staged_floats<T> floats for each warp. Only
// sm_70 uses it, for f16.
#if defined(__CUDACC__)

class RowValues {
 public:
  template <class F>
  LINFORMER_DEVICE void each(F&& f) {
#pragma unroll
    for (int slot = 0; slot < 2; ++slot) f(x_[slot], TileRow{lane_row() + 8 * slot, slot});
  }
  LINFORMER_DEVICE float operator[](TileRow row) const { return x_[row.slot]; }
  LINFORMER_DEVICE float& operator[](TileRow row) { return x_[row.slot]; }

 private:
  float x_[2];
};

template <int cols>
class RowTile {
 public:
  template <class F>
  LINFORMER_DEVICE void each(const Warp&, F&& f) {
#pragma unroll
    for (int j = 0; j < cols / 8; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        f(x_[j][i], TileRow{lane_row() + 8 * (i / 2), i / 2}, 8 * j + lane_column() + i % 2);
      }
    }
  }
  LINFORMER_DEVICE void zero(const Warp& warp) {
    each(warp, [](float& x, TileRow, int) { x = 0; });
  }
  LINFORMER_DEVICE RowValues max(const Warp&, float lowest) const {
    return reduced(lowest, [](float a, float b) { return b > a ? b : a; });
  }
  LINFORMER_DEVICE RowValues sum(const Warp&) const {
    return reduced(0.f, [](float a, float b) { return a + b; });
  }

  template <class T, int depth>
  LINFORMER_DEVICE void multiply_transposed(const Warp&, const T* a, const T* b, int ld, float* scratch) {
    if constexpr (tensor_cores<T>) {
#pragma unroll
      for (int c = 0; c < depth; c += 16) {
        const LeftFragment left = load_left(a + c, ld);
#pragma unroll
        for (int j = 0; j < cols / 8; j += 2) {
          if constexpr (cols > 8) {
            const RightFragments right = load_right_transposed(b + j * 8 * ld + c, ld);
            multiply_fragments<T>(x_[j], left, right.x[0], right.x[1]);
            multiply_fragments<T>(x_[j + 1], left, right.x[2], right.x[3]);
          }
        }
      }
    } else if constexpr (staged_tensor_cores<T>) {
      multiply_staged_transposed<depth>(x_, a, b, ld, scratch);
    } else {
#pragma unroll 2
      for (int c = 0; c < depth; c += 4) {
        float left[2][4];
        widen_4(a + lane_row() * ld + c, left[0]);
        widen_4(a + (lane_row() + 8) * ld + c, left[1]);
#pragma unroll
        for (int j = 0; j < cols / 8; ++j) {
          float right[2][4];
          widen_4(b + (8 * j + lane_column()) * ld + c, right[0]);
          widen_4(b + (8 * j + lane_column() + 1) * ld + c, right[1]);
#pragma unroll
          for (int i = 0; i < 4; ++i) {
#pragma unroll
            for (int k = 0; k < 4; ++k) x_[j][i] = fmaf(left[i / 2][k], right[i % 2][k], x_[j][i]);
          }
        }
      }
    }
  }

  template <class T, int inner>
  LINFORMER_DEVICE void multiply(const Warp&, const RowTile<inner>& a, const T* b, int ld, float* scratch) {
    if constexpr (tensor_cores<T>) {
#pragma unroll
      for (int k = 0; k < inner; k += 16) {
        const auto &first = a.x_[k / 8], &second = a.x_[k / 8 + 1];
        const LeftFragment left{{pack_two<T>(first[0], first[1]), pack_two<T>(first[2], first[3]),
                                 pack_two<T>(second[0], second[1]), pack_two<T>(second[2], second[3])}};
#pragma unroll
        for (int j = 0; j < cols / 8; j += 2) {
          const RightFragments right = load_right(b + k * ld + 8 * j, ld);
          multiply_fragments<T>(x_[j], left, right.x[0], right.x[1]);
          multiply_fragments<T>(x_[j + 1], left, right.x[2], right.x[3]);
        }
      }
    } else if constexpr (staged_tensor_cores<T>) {
      multiply_staged(x_, a.x_, b, ld, scratch);
    } else {
#pragma unroll
      for (int k = 0; k < inner; ++k) {
        // The lane that holds column k of this lane's rows.
        const int from = static_cast<int>(threadIdx.x & 28) + k % 8 / 2;
        float left[2];
        for (int slot = 0; slot < 2; ++slot) {
          T rounded;
          narrow(a.x_[k / 8][2 * slot + k % 2], &rounded);
          left[slot] = __shfl_sync(0xffffffffu, widen(rounded), from);
        }
#pragma unroll
        for (int j = 0; j < cols / 8; ++j) {
          const Pack<T, 2> right = *reinterpret_cast<const Pack<T, 2>*>(b + k * ld + 8 * j + lane_column());
#pragma unroll
          for (int i = 0; i < 4; ++i) x_[j][i] = fmaf(left[i / 2], widen(right.x[i % 2]), x_[j][i]);
        }
      }
    }
  }

 private:
  template <int>
  friend class RowTile;

  template <class T>
  static LINFORMER_DEVICE void widen_4(const T* from, float* to) {
    const Pack<T, 4> pack = *reinterpret_cast<const Pack<T, 4>*>(from);
#pragma unroll
    for (int i = 0; i < 4; ++i) to[i] = widen(pack.x[i]);
  }
  template <class Combine>
  LINFORMER_DEVICE RowValues reduced(float first, Combine&& combine) const {
    RowValues result;
    result.each([&](float& value, TileRow row) {
      value = first;
#pragma unroll
      for (int j = 0; j < cols / 8; ++j) {
        value = combine(value, x_[j][2 * row.slot]);
        value = combine(value, x_[j][2 * row.slot + 1]);
      }
      value = combine(value, __shfl_xor_sync(0xffffffffu, value, 1));
      value = combine(value, __shfl_xor_sync(0xffffffffu, value, 2));
    });
    return result;
  }

  float x_[cols / 8][4];  // For each 8 columns, two elements of the lane's row and two of the row 8 below it.
};

#else

class RowValues {
 public:
  template <class F>
  void each(F&& f) {
    Simulated::loop(tile_rows, [&](int row) { f(x_[row], TileRow{row, row}); });
  }
  float operator[](TileRow row) const { return x_[row.slot]; }
  float& operator[](TileRow row) { return x_[row.slot]; }

 private:
  float x_[tile_rows];
};

template <int cols>
class RowTile {
 public:
  template <class F>
  void each(const Warp&, F&& f) {
    Simulated::loop(tile_rows, [&](int row) {
      Simulated::loop(cols, [&](int col) { f(x_[row][col], TileRow{row, row}, col); });
    });
  }
  void zero(const Warp& warp) {
    each(warp, [](float& x, TileRow, int) { x = 0; });
  }
  RowValues max(const Warp&, float lowest) const {
    return reduced(lowest, [](float a, float b) { return b > a ? b : a; });
  }
  RowValues sum(const Warp&) const {
    return reduced(0.f, [](float a, float b) { return a + b; });
  }
  template <class T, int depth>
  void multiply_transposed(const Warp&, const T* a, const T* b, int ld, float*) {
    for (int i = 0; i < tile_rows; ++i) {
      for (int j = 0; j < cols; ++j) {
        for (int k = 0; k < depth; ++k) x_[i][j] += widen(a[i * ld + k]) * widen(b[j * ld + k]);
      }
    }
  }
  template <class T, int inner>
  void multiply(const Warp&, const RowTile<inner>& a, const T* b, int ld, float*) {
    for (int i = 0; i < tile_rows; ++i) {
      for (int k = 0; k < inner; ++k) {
        T left;
        narrow(a.x_[i][k], &left);
        for (int j = 0; j < cols; ++j) x_[i][j] += widen(left) * widen(b[k * ld + j]);
      }
    }
  }

 private:
  template <int>
  friend class RowTile;

  template <class Combine>
  RowValues reduced(float first, Combine&& combine) const {
    RowValues result;
    result.each([&](float& value, TileRow row) {
      value = first;
      for (int j = 0; j < cols; ++j) value = combine(value, x_[row.row][j]);
    });
    return result;
  }

  float x_[tile_rows][cols];
};

#endif

}  // namespace LINFORMER_NAMESPACE::cuda
