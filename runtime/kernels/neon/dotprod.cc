// int8 products by SDOT (FEAT_DotProd), which multiplies signed bytes only.
#include "kernels/generic/gemm.h"
#include "kernels/neon/lanes.h"
#include "kernels/tables.h"

namespace LINFORMER_NAMESPACE {
namespace {

// The codes of A are 0 to 255. 128 is subtracted from each before it is multiplied, by flipping the top bit of its
// byte. So the sums lack 128 times the sums of B's columns, which the epilogue adds.
struct ShiftedLanes : NeonLanes {
  static constexpr int32_t code_shift = 128;
};

struct Int8Product {
  using Lanes = ShiftedLanes;
  using Sum = xsimd::batch<int32_t, xsimd::neon64>;
  using Left = int8x16_t;
  using Right = int8x16_t;
  static constexpr ElementType left = ElementType::int8;
  static constexpr int tile_rows = Lanes::tile_rows;
  static LINFORMER_INLINE Sum zero() { return Sum(0); }
  static LINFORMER_INLINE Left broadcast(const char* a) {
    return veorq_s8(vreinterpretq_s8_s32(vdupq_n_s32(load_4_bytes(a))), vdupq_n_s8(-128));
  }
  static LINFORMER_INLINE Right load(const char* b) { return vld1q_s8(reinterpret_cast<const int8_t*>(b)); }
  static LINFORMER_INLINE Sum multiply_add(Left a, Right b, Sum sum) { return vdotq_s32(sum, a, b); }
};

void gemm(const GemmArgs& args) { multiply_all<Int8Product>(args); }

}  // namespace

const GemmKernel neon_dotprod_gemm_int8 = &gemm;

}  // namespace LINFORMER_NAMESPACE
