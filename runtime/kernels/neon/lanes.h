// The Lanes struct of NEON for the generic kernels. The units of NEON and its extensions share one xsimd architecture,
// so tests/kernels checks that they have no computing function that the linker could take from another unit.
#pragma once

#include <arm_neon.h>

#include "kernels/generic/lanes.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {
namespace {

struct NeonLanes {
  using Batch = xsimd::batch<float, xsimd::neon64>;
  static constexpr int width = 4;
  static constexpr int tile_rows = 6;  // 24 registers for sums, 4 for B, 1 for A: 29 of 32.
  static constexpr int tile_panels = 1;
  static constexpr int64_t k_block = 256;
  static constexpr int transpose_width = 4;
  static constexpr int32_t code_shift = 0;

  static LINFORMER_INLINE Batch fma(Batch a, Batch b, Batch c) { return vfmaq_f32(c, a, b); }
  static LINFORMER_INLINE Batch divide(Batch a, Batch b) { return vdivq_f32(a, b); }
  static LINFORMER_INLINE Batch square_root(Batch x) { return vsqrtq_f32(x); }
  // NEON has no masked loads and stores, so a partial vector goes through a local array.
  static LINFORMER_INLINE Batch load_partial(const float* p, int64_t count, Batch fill) {
    float lanes[width];
    fill.store_unaligned(lanes);
    for (int64_t i = 0; i < width; ++i) {
      if (i < count) lanes[i] = p[i];
    }
    return Batch::load_unaligned(lanes);
  }
  static LINFORMER_INLINE void store_partial(float* p, int64_t count, Batch x) {
    float lanes[width];
    x.store_unaligned(lanes);
    for (int64_t i = 0; i < width; ++i) {
      if (i < count) p[i] = lanes[i];
    }
  }
  static LINFORMER_INLINE Batch widen_bf16(const uint16_t* p) {
    return vreinterpretq_f32_u32(vshlq_n_u32(vmovl_u16(vld1_u16(p)), 16));
  }
  static LINFORMER_INLINE Batch widen_f16(const uint16_t* p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }
  static LINFORMER_INLINE void transpose_block(const float* src, int64_t ld, int64_t rows, int64_t cols, float* dst) {
    Batch in[4] = {Batch(0.f), Batch(0.f), Batch(0.f), Batch(0.f)};
    for (int64_t j = 0; j < 4 && j < cols && rows > 0; ++j) {
      in[j] = rows >= 4 ? Batch::load_unaligned(src + j * ld) : load_partial(src + j * ld, rows, in[j]);
    }
    const float32x4x2_t low = vzipq_f32(in[0], in[2]), high = vzipq_f32(in[1], in[3]);
    const float32x4x2_t first = vzipq_f32(low.val[0], high.val[0]), second = vzipq_f32(low.val[1], high.val[1]);
    vst1q_f32(dst, first.val[0]);
    vst1q_f32(dst + 16, first.val[1]);
    vst1q_f32(dst + 32, second.val[0]);
    vst1q_f32(dst + 48, second.val[1]);
  }
  // Stores the low bytes of the first `count` elements of `x`, which are 0 to 255.
  static LINFORMER_INLINE void store_bytes(uint8_t* p, int64_t count, int32x4_t x) {
    const uint16x4_t words = vmovn_u32(vreinterpretq_u32_s32(x));
    const uint32_t bytes = vget_lane_u32(vreinterpret_u32_u8(vmovn_u16(vcombine_u16(words, words))), 0);
    __builtin_memcpy(p, &bytes, static_cast<size_t>(count));
  }
};

}  // namespace
}  // namespace LINFORMER_NAMESPACE
