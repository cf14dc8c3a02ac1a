// Converts rows of f32 to the left operand of a product: to bf16, or to u8 with a scale for each row and slice.
#pragma once

#include "kernels/generic/rows.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {
namespace {

// A scale below this is replaced by 0, because 1 / scale might not be finite.
inline constexpr float smallest_scale = 1e-37f;

// Returns the scale and the zero point that map the range [lowest, highest], which contains 0, to the codes 0 to 255.
// The scale is NaN if `finite` is false, and 0 if the range is too narrow.
LINFORMER_INLINE RowScale scale_of(float lowest, float highest, bool finite) {
  RowScale row;
  row.scale = finite ? highest / 255.f - lowest / 255.f : __builtin_nanf("");
  if (!(row.scale >= smallest_scale)) {
    if (finite) row.scale = 0;
    return row;
  }
  const float zero = -lowest * (1.f / row.scale) + round_to_integer;
  row.zero = static_cast<int32_t>(zero - round_to_integer);
  return row;
}

template <class L>
LINFORMER_INLINE RowScale scale_of_slice(const float* x, int64_t cols) {
  using B = typename L::Batch;
  B lowest(0.f), highest(0.f), nothing(0.f);
  int64_t seen = 0;
  {
    // There are four independent minima and maxima, so that comparisons overlap.
    constexpr int64_t w = L::width;
    B low[4] = {lowest, lowest, lowest, lowest}, high[4] = {highest, highest, highest, highest};
    B none[4] = {nothing, nothing, nothing, nothing};
    for (; seen + 4 * w <= cols; seen += 4 * w) {
      LINFORMER_UNROLL for (int64_t c = 0; c < 4; ++c) {
        const B value = B::load_unaligned(x + seen + c * w);
        low[c] = xsimd::min(low[c], value);
        high[c] = xsimd::max(high[c], value);
        none[c] = L::fma(value, B(0.f), none[c]);  // Becomes NaN at the first element that is not finite.
      }
    }
    lowest = xsimd::min(xsimd::min(low[0], low[1]), xsimd::min(low[2], low[3]));
    highest = xsimd::max(xsimd::max(high[0], high[1]), xsimd::max(high[2], high[3]));
    nothing = (none[0] + none[1]) + (none[2] + none[3]);
  }
  for_each_batch<L>(cols - seen, [&](int64_t i, int64_t count) {
    const B value = load_lanes<L>(x + seen + i, count, B(0.f));
    lowest = xsimd::min(lowest, value);
    highest = xsimd::max(highest, value);
    nothing = L::fma(value, B(0.f), nothing);
  });
  const float check = fold_sum<L>(nothing);
  return scale_of(fold_min<L>(lowest), fold_max<L>(highest), check == 0.f);
}

template <class L>
LINFORMER_INLINE void quantize_slice(const float* x, int64_t cols, const RowScale& scale, uint8_t* u) {
  using B = typename L::Batch;
  using I = IntegersOf<B>;
  const int64_t padded = (cols + 63) / 64 * 64;
  __builtin_memset(u + cols, 0, static_cast<size_t>(padded - cols));
  if (!(scale.scale > 0.f)) {
    __builtin_memset(u, 0, static_cast<size_t>(cols));
    return;
  }
  // There is one rounding, to the nearest code and with ties to the even code.
  const B inverse(1.f / scale.scale), rounder(round_to_integer + static_cast<float>(scale.zero));
  const I integers = bits_as<I>(B(round_to_integer));
  const auto code = [&](B value) __attribute__((always_inline)) {
    return bits_as<I>(L::fma(value, inverse, rounder)) - integers;
  };
  int64_t done = 0;
  if constexpr (requires { L::store_codes(u, code(B(0.f)), code(B(0.f)), code(B(0.f)), code(B(0.f))); }) {
    constexpr int64_t w = L::width;
    for (; done + 4 * w <= cols; done += 4 * w) {
      const float* from = x + done;
      L::store_codes(u + done, code(B::load_unaligned(from)), code(B::load_unaligned(from + w)),
                     code(B::load_unaligned(from + 2 * w)), code(B::load_unaligned(from + 3 * w)));
    }
  }
  for_each_batch<L>(cols - done, [&](int64_t i, int64_t count) {
    const I clamped = xsimd::max(I(0), xsimd::min(I(255), code(load_lanes<L>(x + done + i, count, B(0.f)))));
    L::store_bytes(u + done + i, count, clamped);
  });
}

template <class L>
void quantize_rows(ConstMatrix src, const QuantizedRows& dst) {
  for (int64_t first = 0; first < src.rows; first += rows_together) {
    const int64_t end = src.rows - first < rows_together ? src.rows : first + rows_together;
    for (int64_t begin = 0, slice = 0; begin < src.cols; begin += int8_slice, ++slice) {
      const int64_t count = src.cols - begin < int8_slice ? src.cols - begin : int8_slice;
      RowScale scales[rows_together];
      for (int64_t r = first; r < end; ++r) {
        scales[r - first] = scale_of_slice<L>(src.row(r) + begin, count);
        dst.scales[r * dst.scales_ld + slice] = scales[r - first];
      }
      for (int64_t r = first; r < end; ++r) {
        quantize_slice<L>(src.row(r) + begin, count, scales[r - first], dst.data + r * dst.ld + begin);
      }
    }
  }
}

template <class L>
void round_rows(ConstMatrix src, Matrix<uint16_t> dst) {
  const int64_t cols = src.cols, padded = (cols + 31) / 32 * 32;
  for (int64_t r = 0; r < src.rows; ++r) {
    const float* x = src.row(r);
    uint16_t* y = dst.row(r);
    for_each_batch<L>(cols, [&](int64_t i, int64_t count) {
      L::store_bf16(y + i, count, load_lanes<L>(x + i, count, typename L::Batch(0.f)));
    });
    __builtin_memset(y + cols, 0, static_cast<size_t>(padded - cols) * sizeof(uint16_t));
  }
}

}  // namespace
}  // namespace LINFORMER_NAMESPACE
