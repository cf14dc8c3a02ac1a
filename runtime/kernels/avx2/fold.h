// Folds the lanes of a 256-bit register into one number, for the AVX2 and AVX-512 units.
#pragma once

#include <immintrin.h>

#include "kernels/generic/lanes.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {
namespace {

// These functions give the same result for NaN as fold() of AddLanes, MaxLanes and MinLanes, because maxps and minps
// return their right operand if one of the operands is NaN.
LINFORMER_INLINE __m256 fold_256(AddLanes, __m256 a, __m256 b) { return _mm256_add_ps(a, b); }
LINFORMER_INLINE __m256 fold_256(MaxLanes, __m256 a, __m256 b) { return _mm256_max_ps(a, b); }
LINFORMER_INLINE __m256 fold_256(MinLanes, __m256 a, __m256 b) { return _mm256_min_ps(a, b); }

// Folds lanes 0 to 3 with 4 to 7, then 0 and 1 with 2 and 3, then 0 with 1.
template <class How>
LINFORMER_INLINE float fold_eight(__m256 x) {
  x = fold_256(How(), x, _mm256_permute2f128_ps(x, x, 0x11));
  x = fold_256(How(), x, _mm256_permute_ps(x, 0x4e));
  x = fold_256(How(), x, _mm256_permute_ps(x, 0xb1));
  return _mm256_cvtss_f32(x);
}

}  // namespace
}  // namespace LINFORMER_NAMESPACE
