// Products of a warp on tensor cores, for tile.h. From sm_75 on (for bf16 from sm_80 on), the instructions define which
// lane holds which element of a tile. sm_70 only has WMMA, which doesn't define it, so there the tiles go through
// shared memory.
#pragma once

#include <mma.h>

#include "cuda/element.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE::cuda {

#if !defined(__CUDA_ARCH__)
inline constexpr int compiled_architecture = 0;
#else
inline constexpr int compiled_architecture = __CUDA_ARCH__ / 10;
#endif

template <class T>
inline constexpr bool tensor_cores = false;
template <>
inline constexpr bool tensor_cores<Half> = compiled_architecture >= 75;
template <>
inline constexpr bool tensor_cores<Bf16> = compiled_architecture >= 80;
template <class T>
inline constexpr bool staged_tensor_cores = false;
template <>
inline constexpr bool staged_tensor_cores<Half> = compiled_architecture < 75;

// For each 8 columns of a tile, a lane holds two elements of row lane_row(), from column lane_column() on, and the two
// elements below them in row lane_row() + 8.
LINFORMER_DEVICE int lane_row() { return static_cast<int>(threadIdx.x % warp_size) / 4; }
LINFORMER_DEVICE int lane_column() { return static_cast<int>(threadIdx.x % 4) * 2; }

template <class T>
LINFORMER_DEVICE uint32_t pack_two(float low, float high) {
  T pair[2];
  narrow(low, &pair[0]);
  narrow(high, &pair[1]);
  return pair[0].bits | static_cast<uint32_t>(pair[1].bits) << 16;
}
template <>
LINFORMER_DEVICE uint32_t pack_two<Half>(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return reinterpret_cast<const uint32_t&>(pair);
}
template <>
LINFORMER_DEVICE uint32_t pack_two<Bf16>(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const uint32_t&>(pair);
}

// A lane's elements of a [16, 16] tile of the left matrix.
struct LeftFragment {
  uint32_t x[4];
};
// A lane's elements of a [16, 16] tile of the right matrix. x[0] and x[1] are rows 0 to 7 and 8 to 15 of the first 8
// columns, and x[2] and x[3] those of the last 8 columns.
struct RightFragments {
  uint32_t x[4];
};

// Loads four matrices of 8 x 8 with ldmatrix. `row` is the address of row i % 8 of matrix i / 8 for lane i.
template <bool transposed>
LINFORMER_DEVICE void load_matrices(uint32_t (&x)[4], const void* row) {
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(address));
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(address));
  }
}
template <class T>
LINFORMER_DEVICE LeftFragment load_left(const T* a, int ld) {
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  LeftFragment f;
  load_matrices<false>(f.x, a + lane % 16 * ld + lane / 16 * 8);
  return f;
}
// Loads a tile of the right matrix B from B^T, which is row-major.
template <class T>
LINFORMER_DEVICE RightFragments load_right_transposed(const T* b, int ld) {
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  RightFragments f;
  load_matrices<false>(f.x, b + (lane / 16 * 8 + lane % 8) * ld + lane / 8 % 2 * 8);
  return f;
}
// Loads a tile of the right matrix B, which is row-major.
template <class T>
LINFORMER_DEVICE RightFragments load_right(const T* b, int ld) {
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  RightFragments f;
  load_matrices<true>(f.x, b + lane % 16 * ld + lane / 16 * 8);
  return f;
}

// Computes sums += A B, where A is [16, 16] and B is [16, 8].
template <class T>
LINFORMER_DEVICE void multiply_fragments(float (&sums)[4], const LeftFragment& a, uint32_t b0, uint32_t b1);
template <>
LINFORMER_DEVICE void multiply_fragments<Half>(float (&sums)[4], const LeftFragment& a, uint32_t b0, uint32_t b1) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a.x[0]), "r"(a.x[1]), "r"(a.x[2]), "r"(a.x[3]), "r"(b0), "r"(b1));
#else
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
               : "r"(a.x[0]), "r"(a.x[1]), "r"(b0));
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
               : "r"(a.x[2]), "r"(a.x[3]), "r"(b1));
#endif
}
template <>
LINFORMER_DEVICE void multiply_fragments<Bf16>(float (&sums)[4], const LeftFragment& a, uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a.x[0]), "r"(a.x[1]), "r"(a.x[2]), "r"(a.x[3]), "r"(b0), "r"(b1));
}

// WMMA's fragments of a [16, 16] tile of accumulators and of the left matrix.
using StagedSums = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float>;
using StagedLeft = nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, nvcuda::wmma::row_major>;

// Adds WMMA's accumulators of a [16, 16] tile to the lane's registers. They go through the shared memory `scratch`.
LINFORMER_DEVICE void add_staged(const StagedSums& sums, float (&left)[4], float (&right)[4], float* scratch) {
  nvcuda::wmma::store_matrix_sync(scratch, sums, 16, nvcuda::wmma::mem_row_major);
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float* from = scratch + (lane_row() + 8 * (i / 2)) * 16 + lane_column() + i % 2;
    left[i] += from[0];
    right[i] += from[8];
  }
  __syncwarp();
}

template <int depth, int tiles>
LINFORMER_DEVICE void multiply_staged_transposed(float (&x)[tiles][4], const Half* a, const Half* b, int ld,
                                                 float* scratch) {
  if constexpr (tiles > 1) {
#pragma unroll
    for (int j = 0; j < tiles; j += 2) {
      StagedSums sums;
      nvcuda::wmma::fill_fragment(sums, 0.f);
#pragma unroll
      for (int c = 0; c < depth; c += 16) {
        StagedLeft left;
        nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, __half, nvcuda::wmma::col_major> right;
        nvcuda::wmma::load_matrix_sync(left, reinterpret_cast<const __half*>(a + c), ld);
        nvcuda::wmma::load_matrix_sync(right, reinterpret_cast<const __half*>(b + j * 8 * ld + c), ld);
        nvcuda::wmma::mma_sync(sums, left, right, sums);
      }
      add_staged(sums, x[j], x[j + 1], scratch);
    }
  }
}

template <int tiles, int inner_tiles>
LINFORMER_DEVICE void multiply_staged(float (&x)[tiles][4], const float (&a)[inner_tiles][4], const Half* b, int ld,
                                      float* scratch) {
  StagedSums sums[tiles / 2];
#pragma unroll
  for (int j = 0; j < tiles / 2; ++j) nvcuda::wmma::fill_fragment(sums[j], 0.f);
#pragma unroll
  for (int k = 0; k < inner_tiles; k += 2) {
    Half* const rounded = reinterpret_cast<Half*>(scratch);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      Half* to = rounded + (lane_row() + 8 * (i / 2)) * 16 + lane_column() + i % 2;
      narrow(a[k][i], to);
      narrow(a[k + 1][i], to + 8);
    }
    __syncwarp();
    StagedLeft left;
    nvcuda::wmma::load_matrix_sync(left, reinterpret_cast<const __half*>(rounded), 16);
    __syncwarp();
#pragma unroll
    for (int j = 0; j < tiles / 2; ++j) {
      nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, __half, nvcuda::wmma::row_major> right;
      nvcuda::wmma::load_matrix_sync(right, reinterpret_cast<const __half*>(b + k * 8 * ld + j * 16), ld);
      nvcuda::wmma::mma_sync(sums[j], left, right, sums[j]);
    }
  }
#pragma unroll
  for (int j = 0; j < tiles / 2; ++j) add_staged(sums[j], x[2 * j], x[2 * j + 1], scratch);
}

}  // namespace LINFORMER_NAMESPACE::cuda
