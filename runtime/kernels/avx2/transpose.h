// An 8x8 transpose in 256-bit registers, for the AVX2 and AVX-512 units.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {
namespace {

// Returns the mask of the first `count` of 8 lanes. A count below 0 is taken as 0, and a count above 8 as 8.
inline __m256i first_lanes(int64_t count) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const int limit = count < 0 ? 0 : count > 8 ? 8 : static_cast<int>(count);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(limit), lane);
}

// For i and j below 8, sets dst[i][j] to src[j][i] if i < dst_rows and j < dst_cols, and to zero otherwise. A row of
// dst has 16 floats.
inline void transpose_8x8(const float* src, int64_t ld, int64_t dst_rows, int64_t dst_cols, float* dst) {
  __m256 in[8], pairs[8], quads[8];
  const __m256i mask = first_lanes(dst_rows);
  for (int j = 0; j < 8; ++j) {
    in[j] = j < dst_cols && dst_rows > 0 ? _mm256_maskload_ps(src + j * ld, mask) : _mm256_setzero_ps();
  }
  for (int j = 0; j < 8; j += 2) {
    pairs[j] = _mm256_unpacklo_ps(in[j], in[j + 1]);
    pairs[j + 1] = _mm256_unpackhi_ps(in[j], in[j + 1]);
  }
  for (int j = 0; j < 8; j += 4) {
    quads[j] = _mm256_shuffle_ps(pairs[j], pairs[j + 2], 0x44);
    quads[j + 1] = _mm256_shuffle_ps(pairs[j], pairs[j + 2], 0xee);
    quads[j + 2] = _mm256_shuffle_ps(pairs[j + 1], pairs[j + 3], 0x44);
    quads[j + 3] = _mm256_shuffle_ps(pairs[j + 1], pairs[j + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(dst + i * 16, _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x20));
    _mm256_storeu_ps(dst + (i + 4) * 16, _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x31));
  }
}

}  // namespace
}  // namespace LINFORMER_NAMESPACE
