// int8 products by AVX512-VNNI.
#include "kernels/avx512/lanes.h"
#include "kernels/generic/gemm.h"
#include "kernels/tables.h"

namespace linformer {
namespace {

struct Int8Product {
  using Tile = Int8Product;
  using Lanes = Avx512Lanes<xsimd::avx512bw>;
  using Sum = xsimd::batch<int32_t, xsimd::avx512bw>;
  using Left = __m512i;
  using Right = __m512i;
  static constexpr ElementType left = ElementType::int8, weights = ElementType::int8;
  static constexpr int tile_rows = Lanes::tile_rows;
  static LINFORMER_INLINE Sum none() { return Sum(0); }
  static LINFORMER_INLINE Left spread(const char* a) { return _mm512_set1_epi32(load_step(a)); }
  static LINFORMER_INLINE Right load(const char* b) { return _mm512_loadu_si512(b); }
  static LINFORMER_INLINE Sum add(Left a, Right b, Sum sum) { return _mm512_dpbusd_epi32(sum, a, b); }
};

void gemm(const GemmArgs& args) { multiply_all<Int8Product>(args); }

}  // namespace

const GemmKernel avx512_gemm_int8 = &gemm;

}  // namespace linformer
