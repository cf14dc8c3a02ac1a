// Products of 16 x 16 tiles in shared memory, a warp at a time: tensor cores for 16 bits (WMMA), FMA for f32.
#pragma once

#include "cuda/element.h"
#include "linformer/version.h"

#if defined(__CUDACC__)
#include <mma.h>
#endif

namespace LINFORMER_NAMESPACE::cuda {

inline constexpr int tile_side = 16;

// The sums of a tile, 16 x 16 in f32. Pointers are to shared memory, leading dimensions are multiples of 8 elements.
//   load, store   sums, row-major
//   multiply      += A B: A row-major [16, 16]; B row-major [16, 16], or with `transposed` B^T row-major
#if defined(__CUDACC__)

template <class T>
struct TensorType;
template <>
struct TensorType<Half> {
  using type = __half;
};
template <>
struct TensorType<Bf16> {
  using type = __nv_bfloat16;
};

template <class T>
class TileSums {
  using Element = typename TensorType<T>::type;

 public:
  LINFORMER_DEVICE void zero() { nvcuda::wmma::fill_fragment(sums_, 0.f); }
  LINFORMER_DEVICE void load(const Warp&, const float* from, int ld) {
    nvcuda::wmma::load_matrix_sync(sums_, from, ld, nvcuda::wmma::mem_row_major);
  }
  LINFORMER_DEVICE void store(const Warp&, float* to, int ld) {
    nvcuda::wmma::store_matrix_sync(to, sums_, ld, nvcuda::wmma::mem_row_major);
    __syncwarp();
  }
  template <bool transposed>
  LINFORMER_DEVICE void multiply(const Warp&, const T* a, int a_ld, const T* b, int b_ld) {
    using nvcuda::wmma::col_major;
    using nvcuda::wmma::row_major;
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, Element, row_major> left;
    nvcuda::wmma::load_matrix_sync(left, reinterpret_cast<const Element*>(a), a_ld);
    if constexpr (transposed) {
      nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, Element, col_major> right;
      nvcuda::wmma::load_matrix_sync(right, reinterpret_cast<const Element*>(b), b_ld);
      nvcuda::wmma::mma_sync(sums_, left, right, sums_);
    } else {
      nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, Element, row_major> right;
      nvcuda::wmma::load_matrix_sync(right, reinterpret_cast<const Element*>(b), b_ld);
      nvcuda::wmma::mma_sync(sums_, left, right, sums_);
    }
  }

 private:
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> sums_;
};

// Without tensor cores for the type: lane l has row l / 2 and every second column from l % 2 on.
template <class T>
class PlainTileSums {
 public:
  LINFORMER_DEVICE void zero() {
    for (float& sum : sums_) sum = 0;
  }
  LINFORMER_DEVICE void load(const Warp&, const float* from, int ld) {
    for (int i = 0; i < 8; ++i) sums_[i] = from[row() * ld + column(i)];
  }
  LINFORMER_DEVICE void store(const Warp&, float* to, int ld) {
    for (int i = 0; i < 8; ++i) to[row() * ld + column(i)] = sums_[i];
    __syncwarp();
  }
  template <bool transposed>
  LINFORMER_DEVICE void multiply(const Warp&, const T* a, int a_ld, const T* b, int b_ld) {
    for (int k = 0; k < tile_side; ++k) {
      const float left = widen(a[row() * a_ld + k]);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        sums_[i] = fmaf(left, widen(transposed ? b[column(i) * b_ld + k] : b[k * b_ld + column(i)]), sums_[i]);
      }
    }
  }

 private:
  static LINFORMER_DEVICE int row() { return static_cast<int>(threadIdx.x % warp_size) / 2; }
  static LINFORMER_DEVICE int column(int i) { return static_cast<int>(threadIdx.x % 2) + 2 * i; }
  float sums_[8];
};
template <>
class TileSums<float> : public PlainTileSums<float> {};
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
template <>
class TileSums<Bf16> : public PlainTileSums<Bf16> {};
#endif

#else

template <class T>
class TileSums {
 public:
  void zero() {
    for (auto& row : sums_) {
      for (float& sum : row) sum = 0;
    }
  }
  void load(const Warp&, const float* from, int ld) {
    for (int i = 0; i < tile_side; ++i) {
      for (int j = 0; j < tile_side; ++j) sums_[i][j] = from[i * ld + j];
    }
  }
  void store(const Warp&, float* to, int ld) {
    for (int i = 0; i < tile_side; ++i) {
      for (int j = 0; j < tile_side; ++j) to[i * ld + j] = sums_[i][j];
    }
  }
  template <bool transposed>
  void multiply(const Warp&, const T* a, int a_ld, const T* b, int b_ld) {
    for (int i = 0; i < tile_side; ++i) {
      for (int j = 0; j < tile_side; ++j) {
        for (int k = 0; k < tile_side; ++k) {
          sums_[i][j] += widen(a[i * a_ld + k]) * widen(transposed ? b[j * b_ld + k] : b[k * b_ld + j]);
        }
      }
    }
  }

 private:
  float sums_[tile_side][tile_side];
};

#endif

}  // namespace LINFORMER_NAMESPACE::cuda
