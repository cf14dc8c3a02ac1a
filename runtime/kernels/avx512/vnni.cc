// int8 products by AVX512-VNNI.
#include "kernels/avx512/lanes.h"
#include "kernels/generic/gemm.h"
#include "kernels/tables.h"

namespace LINFORMER_NAMESPACE {
namespace {

struct Lanes : Avx512Lanes<xsimd::avx512bw> {
  static LINFORMER_INLINE void store_codes(uint8_t* p, __m512i a, __m512i b, __m512i c, __m512i d) {
    // Each 128 bits of `packed` hold four codes of each of the four vectors. The permutation puts all codes in order.
    const __m512i packed = _mm512_packus_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d));
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    _mm512_storeu_si512(p, _mm512_permutexvar_epi32(order, packed));
  }
};

struct Int8Product {
  using Lanes = linformer::Lanes;
  using Sum = xsimd::batch<int32_t, xsimd::avx512bw>;
  using Left = __m512i;
  using Right = __m512i;
  static constexpr ElementType left = ElementType::int8;
  static constexpr int tile_rows = Lanes::tile_rows;
  static LINFORMER_INLINE Sum zero() { return Sum(0); }
  static LINFORMER_INLINE Left broadcast(const char* a) { return _mm512_set1_epi32(load_4_bytes(a)); }
  static LINFORMER_INLINE Right load(const char* b) { return _mm512_loadu_si512(b); }
  static LINFORMER_INLINE Sum multiply_add(Left a, Right b, Sum sum) { return _mm512_dpbusd_epi32(sum, a, b); }
};

void gemm(const GemmArgs& args) { multiply_all<Int8Product>(args); }

}  // namespace

const GemmKernel avx512_gemm_int8 = &gemm;
const QuantizeKernel avx512_quantize_rows = &quantize_rows<Lanes>;
const Int8Epilogue avx512_int8_epilogue = {&finish_tile<Lanes, ElementType::int8, 2>, &add_scaled_slice<Lanes>};

}  // namespace LINFORMER_NAMESPACE
