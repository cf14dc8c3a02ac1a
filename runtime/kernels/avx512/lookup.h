// Functions that are computed from tables of 32 numbers. A table lies in two registers, and AVX-512 looks up an entry
// for each lane in one instruction.
#pragma once

#include <immintrin.h>

#include "kernels/generic/math.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {
namespace {

// The tables of GELU. x Phi(x) = x / 2 + e(|x|) with e(t) = t (Phi(t) - 1/2). On each of 31 intervals, which are 0.15
// wide and centred on multiples of 0.15, e is a quadratic in t, a minimax fit. Beyond 4.575, e is t / 2. The absolute
// error is 1.4e-5, and the relative error is 1.2e-4 for |x| < 1.
inline constexpr float gelu_stretch = 0.15f, gelu_last = 31 * gelu_stretch;
alignas(64) inline constexpr float gelu_constant[32] = {0.f,           -8.456739e-05f, -0.0014838937f, -0.007252974f,
                                                        -0.021342617f, -0.047250662f,  -0.08674246f,   -0.1390103f,
                                                        -0.20050149f,  -0.265445f,     -0.32691267f,   -0.378121f,
                                                        -0.41364413f,  -0.43027025f,   -0.4273331f,    -0.4065723f,
                                                        -0.37153855f,  -0.32681713f,   -0.2772168f,    -0.22709125f,
                                                        -0.17988683f,  -0.13793908f,   -0.10248715f,   -0.07384086f,
                                                        -0.051626824f, -0.035048883f,  -0.02311692f,   -0.014820163f,
                                                        -0.009239116f, -0.0056031174f, -0.0033067502f, 0.f};
alignas(64) inline constexpr float gelu_linear[32] = {
    1.9215166e-05f, 0.0017450794f, 0.013704654f, 0.04407717f, 0.097465955f, 0.17406683f, 0.2697607f, 0.3770373f,
    0.48649502f,    0.58855736f,   0.67503864f,  0.7402712f,  0.7816398f,   0.7995211f,  0.7967274f, 0.77770567f,
    0.7476046f,     0.7114759f,    0.67367727f,  0.63753223f, 0.6052324f,   0.57792544f, 0.555918f,  0.53892404f,
    0.52630574f,    0.5172727f,    0.51102585f,  0.5068459f,  0.5041363f,   0.5024329f,  0.5013935f, 0.5f};
alignas(64) inline constexpr float gelu_quadratic[32] = {
    0.39834052f,     0.38959807f,     0.3638483f,     0.3237467f,
    0.27308708f,     0.216409f,       0.15839955f,    0.10332783f,
    0.05459972f,     0.014489165f,    -0.01593617f,   -0.036714304f,
    -0.048759967f,   -0.0535681f,     -0.052904744f,  -0.04854728f,
    -0.04208102f,    -0.034783725f,   -0.027581971f,  -0.021065619f,
    -0.015540001f,   -0.011095751f,   -0.007680209f,  -0.0051597576f,
    -0.0033677917f,  -0.0021372722f,  -0.0013196268f, -0.0007931409f,
    -0.00046424998f, -0.00026474093f, -0.0001471295f, 0.f};

// Returns in each lane the entry of `table` whose index is in the low five bits of that lane of `index`.
LINFORMER_INLINE __m512 look_up(const float* table, __m512 index) {
  return _mm512_permutex2var_ps(_mm512_load_ps(table), _mm512_castps_si512(index), _mm512_load_ps(table + 16));
}

LINFORMER_INLINE __m512 gelu_by_lookup(__m512 x) {
  const __m512 t = _mm512_abs_ps(x);
  // t is clamped to the last interval, whose quadratic coefficient is 0, because 0 times an infinity would be NaN. If t
  // is NaN, u is NaN.
  const __m512 u = _mm512_min_ps(_mm512_set1_ps(gelu_last), t);
  // The low bits have the nearest integer, which is the index of the interval.
  const __m512 stretch = _mm512_fmadd_ps(u, _mm512_set1_ps(1.f / gelu_stretch), _mm512_set1_ps(round_to_integer));
  const __m512 slope = _mm512_fmadd_ps(look_up(gelu_quadratic, stretch), u, look_up(gelu_linear, stretch));
  return _mm512_fmadd_ps(x, _mm512_set1_ps(0.5f), _mm512_fmadd_ps(slope, t, look_up(gelu_constant, stretch)));
}

// The table of 2^(i / 32).
alignas(64) inline constexpr float power_of_two[32] = {
    1.f,        1.0218972f, 1.0442737f, 1.0671405f, 1.0905077f, 1.1143868f, 1.1387886f, 1.1637249f,
    1.1892071f, 1.2152474f, 1.2418578f, 1.269051f,  1.2968396f, 1.3252367f, 1.3542556f, 1.3839099f,
    1.4142135f, 1.4451808f, 1.4768262f, 1.5091645f, 1.5422108f, 1.5759809f, 1.6104903f, 1.6457555f,
    1.6817929f, 1.7186193f, 1.7562522f, 1.7947091f, 1.8340081f, 1.8741677f, 1.9152066f, 1.9571441f};

// Returns exp(x) for x <= 0, or 0 if x is below `lowest`. The relative error is 1.2e-7, and exp(0) is exactly 1. exp(x)
// is 2^(i / 32) exp(r) with an integer i. The table gives the fractional powers of two, and exp(r) - 1 for |r| <= ln 2
// / 64 is a Taylor polynomial with an error of 6e-10.
LINFORMER_INLINE __m512 exp_by_lookup(__m512 x, float lowest) {
  const __mmask16 kept = _mm512_cmp_ps_mask(x, _mm512_set1_ps(lowest), _CMP_NLT_UQ);  // True for NaN.
  // Rounds log2(exp(x)) to the nearest multiple of 1 / 32, because floats near 1.5 * 2^18 are multiples of 1 / 32.
  const __m512 places = _mm512_set1_ps(393216.f);
  const __m512 rounded = _mm512_fmadd_ps(x, _mm512_set1_ps(1.44269502f), places);
  const __m512 power = _mm512_sub_ps(rounded, places);
  // ln 2 is split into two floats, so that `rest` keeps all of its bits.
  const __m512 rest = _mm512_fnmadd_ps(power, _mm512_set1_ps(-1.90465421e-9f),
                                       _mm512_fnmadd_ps(power, _mm512_set1_ps(0.693147182f), x));
  __m512 p = _mm512_fmadd_ps(rest, _mm512_set1_ps(1.f / 6), _mm512_set1_ps(0.5f));
  p = _mm512_mul_ps(_mm512_fmadd_ps(p, rest, _mm512_set1_ps(1.f)), rest);
  const __m512 of_fraction = look_up(power_of_two, rounded);
  // scalef multiplies by 2^floor(power).
  return _mm512_maskz_scalef_ps(kept, _mm512_fmadd_ps(of_fraction, p, of_fraction), power);
}

}  // namespace
}  // namespace LINFORMER_NAMESPACE
