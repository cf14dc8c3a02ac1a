// The AArch64 NEON table. kernels.cc adds the products by dot product instructions that the machine has.
#include "kernels/generic/table.h"
#include "kernels/neon/lanes.h"
#include "kernels/tables.h"

namespace LINFORMER_NAMESPACE {
namespace {

// The int8 product without a dot product instruction, which not every ARMv8 processor has. Bytes are widened to 16
// bits.
struct Int8Product {
  using Lanes = NeonLanes;
  using Sum = xsimd::batch<int32_t, xsimd::neon64>;
  using Left = int16x4_t;   // Four elements of K.
  using Right = int8x16_t;  // Four columns, with four elements of K each.
  static constexpr ElementType left = ElementType::int8;
  static constexpr int tile_rows = Lanes::tile_rows;
  static LINFORMER_INLINE Sum zero() { return Sum(0); }
  static LINFORMER_INLINE Left broadcast(const char* a) {
    const uint8x8_t bytes = vreinterpret_u8_s32(vdup_n_s32(load_4_bytes(a)));
    return vget_low_s16(vreinterpretq_s16_u16(vmovl_u8(bytes)));
  }
  static LINFORMER_INLINE Right load(const char* b) { return vld1q_s8(reinterpret_cast<const int8_t*>(b)); }
  static LINFORMER_INLINE Sum multiply_add(Left a, Right b, Sum sum) {
    const int16x8_t low = vmovl_s8(vget_low_s8(b)), high = vmovl_s8(vget_high_s8(b));
    const int32x4_t first = vpaddq_s32(vmull_s16(vget_low_s16(low), a), vmull_s16(vget_high_s16(low), a));
    const int32x4_t second = vpaddq_s32(vmull_s16(vget_low_s16(high), a), vmull_s16(vget_high_s16(high), a));
    return sum + Sum(vpaddq_s32(first, second));
  }
};

}  // namespace

const Kernels neon_kernels = make_kernels<NeonLanes, Int8Product>(Isa::neon);

}  // namespace LINFORMER_NAMESPACE
