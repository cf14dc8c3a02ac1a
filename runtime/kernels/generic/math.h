// Functions over xsimd batches: exp, tanh, sigmoid, SiLU and the two GELUs. The polynomials are weighted minimax fits
// that were made for this file. The comment on a function with a polynomial states its error. NaN gives NaN.
#pragma once

#include "base/types.h"
#include "kernels/generic/lanes.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {
namespace {

inline constexpr float round_to_integer = 12582912.f;  // 1.5 * 2^23. A float plus this is rounded to an integer.

// Returns p 2^i, where `rounded` is i + round_to_integer. The low bits of `rounded` are i, and shifted left they change
// an exponent by i. They are added to the exponent of 1 instead of that of p, because p may be NaN and must stay NaN.
template <class L>
LINFORMER_INLINE typename L::Batch times_power_of_2(typename L::Batch p, typename L::Batch rounded) {
  using B = typename L::Batch;
  using I = IntegersOf<B>;
  if constexpr (requires { L::times_power_of_2(p, p); }) return L::times_power_of_2(p, rounded - B(round_to_integer));
  return p * bits_as<B>(bits_as<I>(B(1.f)) + (bits_as<I>(rounded) << 23));
}

// Returns 2^t for t = i + fraction in [-126, 127.4], where `rounded` is i + round_to_integer for an integer i. The
// relative error is 1e-7, of which the polynomial has 2e-9.
template <class L>
LINFORMER_INLINE typename L::Batch exp2_of_sum(typename L::Batch rounded, typename L::Batch fraction) {
  using B = typename L::Batch;
  B p = L::fma(B(0.00015353362f), fraction, B(0.0013398875f));
  p = L::fma(p, fraction, B(0.009618437f));
  p = L::fma(p, fraction, B(0.055503324f));
  p = L::fma(p, fraction, B(0.24022648f));
  p = L::fma(p, fraction, B(0.6931472f));
  p = L::fma(p, fraction, B(1.f));
  return times_power_of_2<L>(p, rounded);
}

// Returns 2^t for t <= 0, for results that are rounded to bf16. The relative error is 3e-6. Results below 2^-126 are 0,
// so that a masked key has probability 0. (BFDOT rounds to odd, so even the smallest number would change a sum.) Uses
// L::exp2_narrow if L has it.
template <class L>
LINFORMER_INLINE typename L::Batch exp2_narrow(typename L::Batch t) {
  using B = typename L::Batch;
  if constexpr (requires { L::exp2_narrow(t); }) return L::exp2_narrow(t);
  const B rounded = t + B(round_to_integer), fraction = t - (rounded - B(round_to_integer));
  B p = L::fma(B(0.0095701022f), fraction, B(0.055917863f));
  p = L::fma(p, fraction, B(0.24024744f));
  p = L::fma(p, fraction, B(0.69312179f));
  p = L::fma(p, fraction, B(0.99999928f));
  return xsimd::select(t < B(-126.f), B(0.f), times_power_of_2<L>(p, rounded));
}

inline constexpr float exp_lowest = -87.f;  // exp(-87) is about 1.6e-38.
inline constexpr float exp_highest = 88.f;

// Returns exp(x), with x clamped to [-87, 88]. The relative error is 1e-7.
template <class L>
LINFORMER_INLINE typename L::Batch exp_clamped(typename L::Batch x) {
  using B = typename L::Batch;
  x = xsimd::min(B(exp_highest), xsimd::max(B(exp_lowest), x));
  const B rounded = L::fma(x, B(1.44269502f), B(round_to_integer));
  const B integer = rounded - B(round_to_integer);
  // log2(e) is split into two floats, so that the fraction keeps all of its bits.
  const B fraction = L::fma(x, B(1.92596299e-8f), L::fma(x, B(1.44269502f), B(0.f) - integer));
  return exp2_of_sum<L>(rounded, fraction);
}

// Returns GELU, x Phi(x) = max(x, 0) - |x| Phi(-|x|). log2 Phi(-u) is a polynomial in u, so nothing cancels on either
// side of 0. The absolute error is 1e-7 max(1, |x|), of which the polynomial has 7e-9.
template <class L>
LINFORMER_INLINE typename L::Batch gelu(typename L::Batch x) {
  using B = typename L::Batch;
  // Phi(-14) is below the smallest normal float. If x is NaN, u is NaN.
  const B u = xsimd::min(B(14.f), xsimd::abs(x));
  B p = L::fma(B(-1.7058122e-06f), u, B(2.5302237e-05f));
  p = L::fma(p, u, B(-0.000115732f));
  p = L::fma(p, u, B(-0.00031945299f));
  p = L::fma(p, u, B(0.0073265708f));
  p = L::fma(p, u, B(-0.052707307f));
  p = L::fma(p, u, B(-0.45911929f));
  p = L::fma(p, u, B(-1.1511222f));
  p = L::fma(p, u, B(-0.99999899f));
  p = xsimd::max(B(-126.f), p);
  const B rounded = p + B(round_to_integer);
  const B tail = exp2_of_sum<L>(rounded, p - (rounded - B(round_to_integer)));
  return L::fma(B(0.f) - u, tail, xsimd::max(B(0.f), x));
}

// Returns GELU for results that are rounded to 16 or 8 bits. The absolute error is 5e-5, and 1e-6 |x| for large |x|.
// Phi(x) is 1/2 + x q(x^2) with x clamped to +-4.374, where Phi is 0 or 1 up to 1e-6. Uses L::gelu_narrow if L has it.
template <class L>
LINFORMER_INLINE typename L::Batch gelu_narrow(typename L::Batch x) {
  using B = typename L::Batch;
  if constexpr (requires { L::gelu_narrow(x); }) return L::gelu_narrow(x);
  const B y = xsimd::min(B(4.374f), xsimd::max(B(-4.374f), x));
  const B s = y * y;
  B q = L::fma(B(3.8488622e-11f), s, B(-3.98880395e-09f));
  q = L::fma(q, s, B(1.8231492e-07f));
  q = L::fma(q, s, B(-4.88085925e-06f));
  q = L::fma(q, s, B(8.60229484e-05f));
  q = L::fma(q, s, B(-0.00106632791f));
  q = L::fma(q, s, B(0.00968507398f));
  q = L::fma(q, s, B(-0.0661549792f));
  q = L::fma(q, s, B(0.3988159f));
  // At the lower clamp the sum is -6e-7 instead of 0, and multiplied by x it would grow with |x|, so it is raised to 0.
  // With another clamp, the sum could be above 0 there.
  return x * xsimd::max(B(0.f), L::fma(q, y, B(0.5f)));
}

// Returns 1 / (1 + exp(-x)).
template <class L>
LINFORMER_INLINE typename L::Batch sigmoid(typename L::Batch x) {
  using B = typename L::Batch;
  return L::divide(B(1.f), B(1.f) + exp_clamped<L>(B(0.f) - x));
}

// Returns x / (1 + exp(-x)), which is rounded once less than x times the sigmoid.
template <class L>
LINFORMER_INLINE typename L::Batch silu(typename L::Batch x) {
  using B = typename L::Batch;
  return L::divide(x, B(1.f) + exp_clamped<L>(B(0.f) - x));
}

// Returns tanh(x): an odd polynomial if |x| < 0.6, and otherwise (1 - e) / (1 + e) with e = exp(-2|x|) and the sign of
// x. The relative error is 3e-7.
template <class L>
LINFORMER_INLINE typename L::Batch hyperbolic_tangent(typename L::Batch x) {
  using B = typename L::Batch;
  const B u = xsimd::abs(x);
  const B s = x * x;
  B p = L::fma(B(-0.0058632195f), s, B(0.020763587f));
  p = L::fma(p, s, B(-0.053771846f));
  p = L::fma(p, s, B(0.13331729f));
  p = L::fma(p, s, B(-0.33333284f));
  const B small = L::fma(p * s, x, x);
  const B e = exp_clamped<L>(B(-2.f) * u);
  const B large = xsimd::copysign(L::divide(B(1.f) - e, B(1.f) + e), x);
  return xsimd::select(u < B(0.6f), small, large);
}

// Returns the approximation of GELU by tanh: x / 2 (1 + tanh(y)) = max(x, 0) - |x| e / (1 + e), where e = exp(-2|y|)
// and y = sqrt(2/pi) (x + 0.044715 x^3).
template <class L>
LINFORMER_INLINE typename L::Batch gelu_tanh(typename L::Batch x) {
  using B = typename L::Batch;
  const B u = xsimd::min(B(14.f), xsimd::abs(x));
  const B cubic = L::fma(u * u * u, B(0.044715f), u);
  const B e = exp_clamped<L>(B(-1.5957691216f) * cubic);
  return L::fma(B(0.f) - u, L::divide(e, B(1.f) + e), xsimd::max(B(0.f), x));
}

// Returns GELU. `narrow_operands` says whether x is a product of bf16 or int8 operands. Then a less exact function is
// used, because the rounding of the operands causes larger errors than this function.
template <class L, bool narrow_operands = false>
LINFORMER_INLINE typename L::Batch gelu_of(typename L::Batch x) {
  return narrow_operands ? gelu_narrow<L>(x) : gelu<L>(x);
}

// Returns any activation of x. It is called for each vector, because inlined in every loop it would be a tenth of the
// kernels' code.
template <class L, bool narrow_operands = false>
[[gnu::noinline]] typename L::Batch activated_any(Activation activation, typename L::Batch x) {
  using B = typename L::Batch;
  switch (activation) {
    case Activation::none:
      break;
    case Activation::gelu:
      return gelu_of<L, narrow_operands>(x);
    case Activation::relu:
      return xsimd::max(B(0.f), x);
    case Activation::gelu_tanh:
      return gelu_tanh<L>(x);
    case Activation::tanh:
      return hyperbolic_tangent<L>(x);
    case Activation::leaky_relu:
      return xsimd::select(x < B(0.f), x * B(0.01f), x);
    case Activation::sigmoid:
      return sigmoid<L>(x);
    case Activation::silu:
      return silu<L>(x);
  }
  return x;
}

}  // namespace
}  // namespace LINFORMER_NAMESPACE
