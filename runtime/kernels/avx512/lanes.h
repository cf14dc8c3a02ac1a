// The Lanes struct of AVX-512 for the generic kernels. Each translation unit uses it with its own xsimd architecture,
// because the units are compiled with different flags.
#pragma once

#include "kernels/avx2/fold.h"
#include "kernels/avx2/transpose.h"
#include "kernels/avx512/lookup.h"
#include "kernels/generic/lanes.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {
namespace {

template <class Architecture>
struct Avx512Lanes {
  using Batch = xsimd::batch<float, Architecture>;
  static constexpr int width = 16;
  static constexpr int tile_rows = 8;  // 24 registers for sums, 3 for B, 1 for A: 28 of 32.
  static constexpr int tile_panels = 3;
  static constexpr int64_t k_block = 768;
  static constexpr int transpose_width = 8;
  static constexpr int32_t code_shift = 0;

  static LINFORMER_INLINE __mmask16 first_lanes_mask(int64_t count) {
    return static_cast<__mmask16>((1u << count) - 1u);
  }
  static LINFORMER_INLINE Batch fma(Batch a, Batch b, Batch c) { return _mm512_fmadd_ps(a, b, c); }
  static LINFORMER_INLINE Batch divide(Batch a, Batch b) { return _mm512_div_ps(a, b); }
  static LINFORMER_INLINE Batch times_power_of_2(Batch x, Batch exponent) { return _mm512_scalef_ps(x, exponent); }
  static LINFORMER_INLINE Batch exp_of_softmax(Batch x, float lowest) { return exp_by_lookup(x, lowest); }
  static LINFORMER_INLINE Batch gelu_narrow(Batch x) { return gelu_by_lookup(x); }
  static LINFORMER_INLINE Batch square_root(Batch x) { return _mm512_sqrt_ps(x); }
  static LINFORMER_INLINE Batch load_partial(const float* p, int64_t count, Batch fill) {
    return _mm512_mask_loadu_ps(fill, first_lanes_mask(count), p);
  }
  static LINFORMER_INLINE void store_partial(float* p, int64_t count, Batch x) {
    _mm512_mask_storeu_ps(p, first_lanes_mask(count), x);
  }
  static LINFORMER_INLINE Batch widen_bf16(const uint16_t* p) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
  static LINFORMER_INLINE Batch widen_f16(const uint16_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static LINFORMER_INLINE void transpose_block(const float* src, int64_t ld, int64_t rows, int64_t cols, float* dst) {
    transpose_8x8(src, ld, rows, cols, dst);
  }
  template <class How>
  static LINFORMER_INLINE float fold(Batch x) {
    const __m512d halves = _mm512_castps_pd(x);
    const __m256 high = _mm256_castpd_ps(_mm512_extractf64x4_pd(halves, 1));
    return fold_eight<How>(fold_256(How(), _mm512_castps512_ps256(x), high));
  }
  // Stores the low bytes of the first `count` elements of `x`, which are 0 to 255.
  static LINFORMER_INLINE void store_bytes(uint8_t* p, int64_t count, __m512i x) {
    _mm512_mask_cvtepi32_storeu_epi8(p, first_lanes_mask(count), x);
  }
};

}  // namespace
}  // namespace LINFORMER_NAMESPACE
