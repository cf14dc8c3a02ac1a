// The AVX2 + FMA + F16C table.
#include "kernels/avx2/fold.h"
#include "kernels/avx2/transpose.h"
#include "kernels/generic/table.h"
#include "kernels/tables.h"

namespace LINFORMER_NAMESPACE {
namespace {

struct Lanes {
  using Batch = xsimd::batch<float, xsimd::avx2>;
  static constexpr int width = 8;
  static constexpr int tile_rows = 6;  // 12 registers for sums, 2 for B, 1 for A: 15 of 16.
  static constexpr int tile_panels = 1;
  static constexpr int64_t k_block = 384;
  static constexpr int transpose_width = 8;
  static constexpr int32_t code_shift = 0;

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
  template <class How>
  static LINFORMER_INLINE float fold(Batch x) {
    return fold_eight<How>(x);
  }
  // Stores the low bytes of the first `count` elements of `x`, which are 0 to 255.
  static LINFORMER_INLINE void store_bytes(uint8_t* p, int64_t count, __m256i x) {
    const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    const int64_t bytes = _mm_cvtsi128_si64(_mm_packus_epi16(words, words));
    __builtin_memcpy(p, &bytes, static_cast<size_t>(count));
  }
};

// The int8 product without a dot product instruction. Bytes are widened to 16 bits, those at even places in one
// register and those at odd places in another. vpmaddubsw would multiply bytes directly, but it saturates.
struct Int8Product {
  using Lanes = linformer::Lanes;
  struct Halves {
    __m256i even, odd;
  };
  using Sum = xsimd::batch<int32_t, xsimd::avx2>;
  using Left = Halves;
  using Right = Halves;
  static constexpr ElementType left = ElementType::int8;
  static constexpr int tile_rows = 4;  // 8 registers for sums, 4 for B, 2 for A: 14 of 16.
  static LINFORMER_INLINE Sum zero() { return Sum(0); }
  static LINFORMER_INLINE Left broadcast(const char* a) {
    const __m256i bytes = _mm256_set1_epi32(load_4_bytes(a));
    return {_mm256_and_si256(bytes, _mm256_set1_epi16(0xff)), _mm256_srli_epi16(bytes, 8)};
  }
  static LINFORMER_INLINE Right load(const char* b) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b));
    return {_mm256_srai_epi16(_mm256_slli_epi16(bytes, 8), 8), _mm256_srai_epi16(bytes, 8)};
  }
  static LINFORMER_INLINE Sum multiply_add(const Left& a, const Right& b, Sum sum) {
    return sum + Sum(_mm256_madd_epi16(a.even, b.even)) + Sum(_mm256_madd_epi16(a.odd, b.odd));
  }
};

}  // namespace

const Kernels avx2_kernels = make_kernels<Lanes, Int8Product>(Isa::avx2);

}  // namespace LINFORMER_NAMESPACE
