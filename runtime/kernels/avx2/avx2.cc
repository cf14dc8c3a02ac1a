// The AVX2 + FMA + F16C table.
#include "kernels/avx2/transpose.h"
#include "kernels/generic/gemm.h"
#include "kernels/tables.h"

namespace linformer {
namespace {

struct Lanes {
  using Batch = xsimd::batch<float, xsimd::avx2>;
  static constexpr int width = 8;
  static constexpr int tile_rows = 6;  // 12 sums, 2 of B, 1 of A: 15 of 16 registers
  static constexpr int tile_panels = 1;
  static constexpr int64_t k_block = 384;
  static constexpr int transpose_width = 8;

  static LINFORMER_INLINE Batch fma(Batch a, Batch b, Batch c) { return _mm256_fmadd_ps(a, b, c); }
  static LINFORMER_INLINE Batch divide(Batch a, Batch b) { return _mm256_div_ps(a, b); }
  static LINFORMER_INLINE Batch square_root(Batch x) { return _mm256_sqrt_ps(x); }
  static LINFORMER_INLINE Batch load_partial(const float* p, int64_t count, Batch fill) {
    const __m256i mask = first_lanes(count);
    return _mm256_blendv_ps(fill, _mm256_maskload_ps(p, mask), _mm256_castsi256_ps(mask));
  }
  static LINFORMER_INLINE void store_partial(float* p, int64_t count, Batch x) {
    _mm256_maskstore_ps(p, first_lanes(count), x);
  }
  static LINFORMER_INLINE Batch widen_bf16(const uint16_t* p) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
  static LINFORMER_INLINE Batch widen_f16(const uint16_t* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static LINFORMER_INLINE void transpose_block(const float* src, int64_t ld, int64_t rows, int64_t cols, float* dst) {
    transpose_8x8(src, ld, rows, cols, dst);
  }
};

}  // namespace

const Kernels avx2_kernels = make_kernels<Lanes>(Isa::avx2);

}  // namespace linformer
