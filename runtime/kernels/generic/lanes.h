// The Lanes struct, which gives the generic kernels what they need from an instruction set. Only this file depends on
// the version of xsimd.
//
// Each instruction set (avx2/, avx512/, neon/) defines its Lanes struct in an unnamed namespace, with these members:
//   Batch               xsimd::batch<float, architecture>
//   width               the number of floats in a Batch
//   tile_rows, tile_panels, k_block   the register tile of gemm.h and its block of K, as measured (MEASUREMENTS.md)
//   fma(a, b, c)        returns a * b + c, rounded once (xsimd 8 has none for AVX-512)
//   divide(a, b), square_root(x)   are correctly rounded (xsimd's are approximate on NEON)
//   load_partial(p, count, fill), store_partial(p, count, x)   touch only the first `count` lanes
//   widen_bf16(p), widen_f16(p)   widen `width` elements to f32
//   transpose_width, transpose_block(...)   for pack_panel
//   code_shift          the number that an int8 product subtracts from the codes of A before it multiplies
//   store_bytes(p, count, x)   stores the low bytes of integers that are 0 to 255
//   store_codes(p, a, b, c, d) stores four whole vectors as bytes, clamped to 0 to 255 (optional)
//   store_bf16(p, count, x), store_pairs(p, a, b)   store values rounded to bf16, if the set multiplies bf16
//   store_bf16_pair(p, a, b)   stores two whole vectors rounded to bf16 (optional)
//   times_power_of_2(x, i)          returns x 2^i for whole i (optional)
//   exp2_narrow(t), gelu_narrow(x), exp_of_softmax(x, lowest)   replace functions of math.h and rows.h (optional)
// Templates with a Lanes struct as argument have internal linkage, because the struct has internal linkage.
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

// Returns a vector of another element type with the same bits.
template <class To, class From>
LINFORMER_INLINE To bits_as(const From& x) {
#if XSIMD_VERSION_MAJOR >= 10
  return xsimd::bitwise_cast<typename To::value_type>(x);
#else
  return xsimd::bitwise_cast<To>(x);
#endif
}

// Functions that fold two lanes into one. If `b` is NaN, the result is NaN. If only `a` is NaN, the sum is NaN, but the
// maximum and the minimum are `b`.
struct AddLanes {
  static LINFORMER_INLINE float fold(float a, float b) { return a + b; }
};
struct MaxLanes {
  static LINFORMER_INLINE float fold(float a, float b) { return a > b ? a : b; }
};
struct MinLanes {
  static LINFORMER_INLINE float fold(float a, float b) { return a < b ? a : b; }
};

// Folds all lanes into one number: the upper half is folded onto the lower half, until one lane is left. L::fold does
// the same in registers if the set has it.
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
