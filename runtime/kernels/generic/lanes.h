// What the generic kernels need from an instruction set, and the one place that knows xsimd's versions.
//
// An instruction set's Lanes struct (avx2/, avx512/, neon/) gives, in an unnamed namespace:
//   Batch               xsimd::batch<float, architecture>
//   width               floats in a Batch
//   tile_rows, tile_panels, k_block   the register tile of gemm_panel and its cache block, measured (README.md)
//   fma(a, b, c)        a * b + c, rounded once (xsimd 8 has none for AVX-512)
//   divide(a, b), square_root(x)   correctly rounded (xsimd's are approximate on NEON)
//   load_partial(p, count, fill), store_partial(p, count, x)   the first `count` lanes, touching nothing beyond
//   widen_bf16(p), widen_f16(p)   `width` elements to f32
//   transpose_width, transpose_block(...)   for pack_panel
//   code_shift          what an int8 product takes from the codes of A before it multiplies
//   store_bytes(p, count, x)   the low bytes of integers that are 0 to 255
//   store_codes(p, a, b, c, d) whole vectors as bytes, what is below 0 or above 255 as that; a set may lack it
//   store_bf16(p, count, x), store_pairs(p, a, b)   rounded to bf16: only where the set multiplies it
//   store_bf16_pair(p, a, b)   two whole vectors; a set may lack it
//   times_power(x, i)          x 2^i for whole i; a set may lack it, as it may the functions of math.h that follow
//   exp2_narrow(t), gelu_narrow(x), exp_of_softmax(x, lowest)
// Templates on it have internal linkage because their argument has.
#pragma once

#include <cstdint>
#include <xsimd/xsimd.hpp>

#include "linformer/version.h"

#if defined(__clang__)
#define LINFORMER_UNROLL _Pragma("unroll")
#define LINFORMER_ROLL _Pragma("nounroll")
#else
#define LINFORMER_UNROLL _Pragma("GCC unroll 64")
#define LINFORMER_ROLL _Pragma("GCC unroll 1")
#endif
#define LINFORMER_INLINE inline __attribute__((always_inline))

namespace LINFORMER_NAMESPACE {
namespace {

template <class Batch>
using IntegersOf = xsimd::batch<int32_t, typename Batch::arch_type>;

// The same bits as another element type.
template <class To, class From>
LINFORMER_INLINE To bits_as(const From& x) {
#if XSIMD_VERSION_MAJOR >= 10
  return xsimd::bitwise_cast<typename To::value_type>(x);
#else
  return xsimd::bitwise_cast<To>(x);
#endif
}

// What folds two lanes into one. A NaN on the right stays, and one on the left of a sum.
struct AddLanes {
  static LINFORMER_INLINE float fold(float a, float b) { return a + b; }
};
struct MaxLanes {
  static LINFORMER_INLINE float fold(float a, float b) { return a > b ? a : b; }
};
struct MinLanes {
  static LINFORMER_INLINE float fold(float a, float b) { return a < b ? a : b; }
};

// All lanes in one order, whatever the set: halves are folded onto each other. L::fold does the same in registers.
template <class L, class How>
LINFORMER_INLINE float fold_lanes(typename L::Batch x) {
  if constexpr (requires { L::template fold<How>(x); }) {
    return L::template fold<How>(x);
  } else {
    float lanes[L::width];
    x.store_unaligned(lanes);
    for (int half = L::width / 2; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) lanes[i] = How::fold(lanes[i], lanes[i + half]);
    }
    return lanes[0];
  }
}
template <class L>
LINFORMER_INLINE float fold_sum(typename L::Batch x) {
  return fold_lanes<L, AddLanes>(x);
}
template <class L>
LINFORMER_INLINE float fold_max(typename L::Batch x) {
  return fold_lanes<L, MaxLanes>(x);
}
template <class L>
LINFORMER_INLINE float fold_min(typename L::Batch x) {
  return fold_lanes<L, MinLanes>(x);
}

}  // namespace
}  // namespace LINFORMER_NAMESPACE
