// int8 products by USDOT (FEAT_I8MM), which multiplies unsigned bytes by signed bytes.
#include "kernels/generic/gemm.h"
#include "kernels/neon/lanes.h"
#include "kernels/tables.h"

namespace LINFORMER_NAMESPACE {
namespace {

struct Int8Product {
  using Lanes = NeonLanes;
  using Sum = xsimd::batch<int32_t, xsimd::neon64>;
  using Left = uint8x16_t;
  using Right = int8x16_t;
  static constexpr ElementType left = ElementType::int8;
  static constexpr int tile_rows = Lanes::tile_rows;
  static LINFORMER_INLINE Sum zero() { return Sum(0); }
  static LINFORMER_INLINE Left broadcast(const char* a) { return vreinterpretq_u8_s32(vdupq_n_s32(load_4_bytes(a))); }
  static LINFORMER_INLINE Right load(const char* b) { return vld1q_s8(reinterpret_cast<const int8_t*>(b)); }
  static LINFORMER_INLINE Sum multiply_add(Left a, Right b, Sum sum) { return vusdotq_s32(sum, a, b); }
};

void gemm(const GemmArgs& args) { multiply_all<Int8Product>(args); }

}  // namespace

const GemmKernel neon_i8mm_gemm_int8 = &gemm;

}  // namespace LINFORMER_NAMESPACE
