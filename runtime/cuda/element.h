// Floats in 16 bits on a GPU, or simulated on the CPU. They are rounded to nearest even, as the GPU's instructions do.
#pragma once

#include "cuda/grid.h"
#include "linformer/version.h"

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#include "base/half.h"

namespace LINFORMER_NAMESPACE::cuda {

struct Half {
  uint16_t bits;
};
struct Bf16 {
  uint16_t bits;
};

// `count` elements that are read or written with one instruction.
template <class T, int count>
struct alignas(sizeof(T) * count) Pack {
  T x[count];
};

// These functions convert weights on the host before they are uploaded to a device.
inline void narrow_on_host(float x, Bf16* to) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  to->bits = static_cast<uint16_t>(nan ? bits >> 16 | 0x40u : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
inline void narrow_on_host(float x, Half* to) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x), magnitude = bits & 0x7fffffffu;
  uint32_t half = 0;
  if (magnitude > 0x7f800000u) {
    half = 0x7e00u;
  } else if (magnitude >= 0x477ff000u) {  // Values from 65520 on become infinite.
    half = 0x7c00u;
  } else if (magnitude >= 0x38800000u) {  // Normal numbers.
    half = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  } else {  // Adding 0.5 shifts a subnormal's bits to the end of the mantissa and rounds them.
    half = __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, magnitude) + 0.5f) - 0x3f000000u;
  }
  to->bits = static_cast<uint16_t>(half | (bits >> 16 & 0x8000u));
}

#if defined(__CUDACC__)
LINFORMER_DEVICE float widen(float x) { return x; }
LINFORMER_DEVICE float widen(Half x) { return __half2float(__ushort_as_half(x.bits)); }
LINFORMER_DEVICE float widen(Bf16 x) { return __uint_as_float(static_cast<unsigned>(x.bits) << 16); }
LINFORMER_DEVICE void narrow(float x, float* to) { *to = x; }
LINFORMER_DEVICE void narrow(float x, Half* to) { to->bits = __half_as_ushort(__float2half_rn(x)); }
LINFORMER_DEVICE void narrow(float x, Bf16* to) { to->bits = __bfloat16_as_ushort(__float2bfloat16_rn(x)); }
#else
inline float widen(float x) { return x; }
inline float widen(Half x) { return f16_to_f32(x.bits); }
inline float widen(Bf16 x) { return bf16_to_f32(x.bits); }
inline void narrow(float x, float* to) { *to = x; }
inline void narrow(float x, Half* to) { narrow_on_host(x, to); }
inline void narrow(float x, Bf16* to) { narrow_on_host(x, to); }
#endif

}  // namespace LINFORMER_NAMESPACE::cuda
