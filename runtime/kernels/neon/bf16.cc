// bf16 products by BFDOT (FEAT_BF16).
#include "kernels/generic/gemm.h"
#include "kernels/neon/lanes.h"
#include "kernels/tables.h"

namespace LINFORMER_NAMESPACE {
namespace {

struct Lanes : NeonLanes {
  // Rounds to bf16. The conversion instruction keeps subnormals, so they are set to zero before it. The other
  // instruction sets also round subnormals to zero, and BFDOT reads them as zeros.
  static LINFORMER_INLINE uint16x4_t rounded(float32x4_t x) {
    const uint32x4_t sign = vandq_u32(vreinterpretq_u32_f32(x), vdupq_n_u32(0x80000000u));
    const uint32x4_t subnormal = vcltq_f32(vabsq_f32(x), vdupq_n_f32(0x1p-126f));
    const float32x4_t flushed = vbslq_f32(subnormal, vreinterpretq_f32_u32(sign), x);
    return vreinterpret_u16_bf16(vcvt_bf16_f32(flushed));
  }
  static LINFORMER_INLINE void store_bf16(uint16_t* p, int64_t count, Batch x) {
    const uint16x4_t halves = rounded(x);
    if (count == width) {
      vst1_u16(p, halves);
    } else {
      __builtin_memcpy(p, &halves, static_cast<size_t>(count) * sizeof(uint16_t));
    }
  }
  // Stores the pairs (a[j], b[j]) in the order of j.
  static LINFORMER_INLINE void store_pairs(uint16_t* p, Batch a, Batch b) {
    const uint16x4x2_t pairs = {{rounded(a), rounded(b)}};
    vst2_u16(p, pairs);
  }
};

// The bf16 product by BFDOT. For each pair of k, it adds both products to each other first and then to the sum, and
// each addition rounds to odd. Other sets round to even, so their results have other bits.
struct Bf16Product {
  using Lanes = linformer::Lanes;
  using Sum = Lanes::Batch;
  using Left = bfloat16x8_t;
  using Right = bfloat16x8_t;
  static constexpr ElementType left = ElementType::bf16;
  static constexpr int tile_rows = Lanes::tile_rows;
  static LINFORMER_INLINE Sum zero() { return Sum(0.f); }
  static LINFORMER_INLINE Left broadcast(const char* a) { return vreinterpretq_bf16_s32(vdupq_n_s32(load_4_bytes(a))); }
  static LINFORMER_INLINE Right load(const char* b) {
    return vreinterpretq_bf16_u16(vld1q_u16(reinterpret_cast<const uint16_t*>(b)));
  }
  static LINFORMER_INLINE Sum multiply_add(Left a, Right b, Sum sum) { return vbfdotq_f32(sum, a, b); }
};

void gemm(const GemmArgs& args) { multiply_all<Bf16Product>(args); }

}  // namespace

const Bf16Kernels neon_bf16_kernels = {&gemm, &round_rows<Lanes>, &pack_panel_bf16<Lanes>,
                                       &softmax_step<Lanes, ElementType::bf16>};

}  // namespace LINFORMER_NAMESPACE
