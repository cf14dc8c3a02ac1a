// The bf16 kernels that use AVX512-BF16.
#include "kernels/avx512/lanes.h"
#include "kernels/generic/gemm.h"
#include "kernels/tables.h"

namespace LINFORMER_NAMESPACE {
namespace {

struct Lanes : Avx512Lanes<xsimd::avx512bw> {
  // Returns 2^t for any t: a polynomial for 2^(t - floor(t)), with a relative error of 3e-6, times 2^floor(t).
  static LINFORMER_INLINE Batch exp2_narrow(Batch t) {
    const Batch fraction = _mm512_reduce_ps(t, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    Batch p = fma(Batch(0.0135341679f), fraction, Batch(0.0520114606f));
    p = fma(p, fraction, Batch(0.241442757f));
    p = fma(p, fraction, Batch(0.693003834f));
    p = fma(p, fraction, Batch(1.00000259f));
    return _mm512_scalef_ps(p, t);
  }
  static LINFORMER_INLINE void store_bf16(uint16_t* p, int64_t count, Batch x) {
    const __m256i rounded = (__m256i)_mm512_cvtneps_pbh(x);
    if (count == width) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), rounded);
    } else {
      _mm512_mask_cvtepi32_storeu_epi16(p, first_lanes_mask(count), _mm512_cvtepu16_epi32(rounded));
    }
  }
  static LINFORMER_INLINE void store_bf16_pair(uint16_t* p, Batch a, Batch b) {
    _mm512_storeu_si512(p, (__m512i)_mm512_cvtne2ps_pbh(b, a));
  }
  // Stores the pairs (a[j], b[j]) in the order of j.
  static LINFORMER_INLINE void store_pairs(uint16_t* p, Batch a, Batch b) {
    const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                           21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    _mm512_storeu_si512(p, _mm512_permutexvar_epi16(order, (__m512i)_mm512_cvtne2ps_pbh(b, a)));
  }
};

struct Bf16Product {
  using Lanes = linformer::Lanes;
  using Sum = Lanes::Batch;
  using Left = __m512i;
  using Right = __m512i;
  static constexpr ElementType left = ElementType::bf16;
  static constexpr int tile_rows = Lanes::tile_rows;
  static LINFORMER_INLINE Sum zero() { return Sum(0.f); }
  static LINFORMER_INLINE Left broadcast(const char* a) { return _mm512_set1_epi32(load_4_bytes(a)); }
  static LINFORMER_INLINE Right load(const char* b) { return _mm512_loadu_si512(b); }
  static LINFORMER_INLINE Sum multiply_add(Left a, Right b, Sum sum) {
    return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
  }
};

void gemm(const GemmArgs& args) { multiply_all<Bf16Product>(args); }

}  // namespace

const Bf16Kernels avx512_bf16_kernels = {&gemm, &round_rows<Lanes>, &pack_panel_bf16<Lanes>,
                                         &softmax_step<Lanes, ElementType::bf16>,
                                         &finish_tile<Lanes, ElementType::bf16, 2>};

}  // namespace LINFORMER_NAMESPACE
