// Softmax, LayerNorm, activations and elementwise kernels. The order of a reduction depends on the number of columns
// alone, and a tail goes through the same instructions as whole vectors.
#pragma once

#include "kernels/generic/math.h"
#include "kernels/kernels.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {
namespace {

// The number of rows that are reduced before any of them is read again. A row can only be scaled or shifted after its
// reduction, whose last steps wait for one another. With several rows these steps overlap.
inline constexpr int64_t rows_together = 8;

// Calls function(offset, lanes) for each vector of [0, count). Only the last vector may have fewer lanes than L::width.
template <class L, class Function>
LINFORMER_INLINE void for_each_batch(int64_t count, Function function) {
  for (int64_t i = 0; i < count; i += L::width) function(i, count - i < L::width ? count - i : L::width);
}

template <class L>
LINFORMER_INLINE typename L::Batch load_lanes(const float* p, int64_t count, typename L::Batch fill) {
  return count == L::width ? L::Batch::load_unaligned(p) : L::load_partial(p, count, fill);
}

template <class L>
LINFORMER_INLINE void store_lanes(float* p, int64_t count, typename L::Batch x) {
  if (count == L::width) {
    x.store_unaligned(p);
  } else {
    L::store_partial(p, count, x);
  }
}

// The factor that turns exponents of e into the exponents of exp_or_exp2(), which has base 2 if the results are rounded
// to bf16.
template <ElementType out>
inline constexpr float exponent_unit = out == ElementType::bf16 ? 1.44269502f : 1.f;

// Returns exp(x), or 2^x for results in bf16, for x <= 0. The result is 0 if it is below exp(exp_lowest), or for bf16
// below a limit that is at most 2^-126.
template <class L, ElementType out>
LINFORMER_INLINE typename L::Batch exp_or_exp2(typename L::Batch x) {
  using B = typename L::Batch;
  if constexpr (out == ElementType::bf16) return exp2_narrow<L>(x);
  if constexpr (requires { L::exp_of_softmax(x, exp_lowest); }) return L::exp_of_softmax(x, exp_lowest);
  return xsimd::select(x < B(exp_lowest), B(0.f), exp_clamped<L>(x));
}

template <class L>
void softmax_rows(MutableMatrix matrix, float scale) {
  using B = typename L::Batch;
  const B factor(scale), lowest(-__builtin_inff());
  const int64_t cols = matrix.cols;
  for (int64_t first = 0; first < matrix.rows; first += rows_together) {
    const int64_t end = matrix.rows - first < rows_together ? matrix.rows : first + rows_together;
    float shifts[rows_together], sums[rows_together];
    for (int64_t r = first; r < end; ++r) {
      float* x = matrix.row(r);
      B highest = lowest;
      for_each_batch<L>(cols, [&](int64_t i, int64_t count) {
        const B scaled = load_lanes<L>(x + i, count, B(0.f)) * factor;
        store_lanes<L>(x + i, count, scaled);
        highest = xsimd::max(highest, count == L::width ? scaled : load_lanes<L>(x + i, count, lowest));
      });
      shifts[r - first] = fold_max<L>(highest);
    }
    for (int64_t r = first; r < end; ++r) {
      float* x = matrix.row(r);
      const B shift(shifts[r - first]);
      B sum(0.f);
      for_each_batch<L>(cols, [&](int64_t i, int64_t count) {
        const B e = exp_or_exp2<L, ElementType::f32>(load_lanes<L>(x + i, count, lowest) - shift);
        store_lanes<L>(x + i, count, e);
        sum += e;
      });
      sums[r - first] = fold_sum<L>(sum);
    }
    for (int64_t r = first; r < end; ++r) {
      float* x = matrix.row(r);
      const B inverse(1.f / sums[r - first]);
      for_each_batch<L>(cols, [&](int64_t i, int64_t count) {
        store_lanes<L>(x + i, count, load_lanes<L>(x + i, count, B(0.f)) * inverse);
      });
    }
  }
}

// `out` is the type of the results, which overwrite the rows. In bf16 nothing is overwritten before it is read.
template <class L, ElementType out>
void softmax_step(MutableMatrix matrix, float scale, const OnlineSoftmax& state) {
  using B = typename L::Batch;
  scale *= exponent_unit<out>;
  const B factor(scale), lowest(-__builtin_inff()), to_exponent(1.f / exponent_unit<out>);
  // These local copies stay in registers. The compiler must assume that vector stores change the caller's structs.
  const int64_t rows = matrix.rows, cols = matrix.cols, ld = matrix.ld;
  float *x = matrix.data, *row_max = state.row_max, *row_sum = state.row_sum, *rescale = state.rescale;
  for (int64_t first = 0; first < rows; first += rows_together) {
    const int64_t end = rows - first < rows_together ? rows : first + rows_together;
    for (int64_t r = first; r < end; ++r) {
      B most = lowest;
      for_each_batch<L>(cols, [&](int64_t i, int64_t count) {
        most = xsimd::max(most, load_lanes<L>(x + r * ld + i, count, lowest));
      });
      const float block = scale * fold_max<L>(most);
      const float before = row_max[r], after = before > block ? before : block;
      row_max[r] = after;
      // Holds the old maximum until the loop below replaces it.
      rescale[r] = before;
    }
    // In a first step the old maximum is -inf, and exp(-inf) is 0, so nothing of the old state is kept.
    for_each_batch<L>(end - first, [&](int64_t i, int64_t count) {
      const B before = load_lanes<L>(rescale + first + i, count, lowest);
      const B after = load_lanes<L>(row_max + first + i, count, B(0.f));
      store_lanes<L>(rescale + first + i, count, exp_or_exp2<L, ElementType::f32>((before - after) * to_exponent));
    });
    for (int64_t r = first; r < end; ++r) {
      float* const row = x + r * ld;
      [[maybe_unused]] uint16_t* const narrow = reinterpret_cast<uint16_t*>(row);
      const B shift(row_max[r]);
      B sum(0.f);
      int64_t done = 0;
      // value * factor is rounded as the maximum was, so the difference is exactly 0 for the largest value.
      const auto exponential = [&](B value) __attribute__((always_inline)) {
        return exp_or_exp2<L, out>(value * factor - shift);
      };
      if constexpr (out == ElementType::bf16 && requires { L::store_bf16_pair(narrow, sum, sum); }) {
        for (; done + 2 * L::width <= cols; done += 2 * L::width) {
          const B even = exponential(B::load_unaligned(row + done)),
                  odd = exponential(B::load_unaligned(row + done + L::width));
          L::store_bf16_pair(narrow + done, even, odd);
          sum += even;
          sum += odd;
        }
      }
      for_each_batch<L>(cols - done, [&](int64_t j, int64_t count) {
        const int64_t i = done + j;
        const B e = exponential(load_lanes<L>(row + i, count, lowest));
        if constexpr (out == ElementType::bf16) {
          L::store_bf16(narrow + i, count, e);
        } else {
          store_lanes<L>(row + i, count, e);
        }
        sum += e;
      });
      if (const int64_t padding = (cols + 31) / 32 * 32 - cols; out == ElementType::bf16 && padding > 0) {
        __builtin_memset(narrow + cols, 0, static_cast<size_t>(padding) * sizeof(uint16_t));
      }
      row_sum[r] = row_sum[r] * rescale[r] + fold_sum<L>(sum);
    }
  }
}

template <class L>
void scale_rows(MutableMatrix matrix, const float* factors) {
  using B = typename L::Batch;
  for (int64_t r = 0; r < matrix.rows; ++r) {
    if (factors[r] == 1.f) continue;  // This is frequent in an online softmax, if the maximum stays the same.
    float* x = matrix.row(r);
    const B factor(factors[r]);
    for_each_batch<L>(matrix.cols, [&](int64_t i, int64_t count) {
      store_lanes<L>(x + i, count, load_lanes<L>(x + i, count, B(0.f)) * factor);
    });
  }
}

// Returns the sum of term(offset, lanes) over a row, in four partial sums so that additions overlap.
template <class L, class Term>
LINFORMER_INLINE float sum_row(int64_t cols, Term term) {
  using B = typename L::Batch;
  B s0(0.f), s1(0.f), s2(0.f), s3(0.f);
  int64_t i = 0;
  for (; i + 4 * L::width <= cols; i += 4 * L::width) {
    s0 += term(i, static_cast<int64_t>(L::width));
    s1 += term(i + L::width, static_cast<int64_t>(L::width));
    s2 += term(i + 2 * L::width, static_cast<int64_t>(L::width));
    s3 += term(i + 3 * L::width, static_cast<int64_t>(L::width));
  }
  for_each_batch<L>(cols - i, [&](int64_t j, int64_t count) { s0 += term(i + j, count); });
  return fold_sum<L>((s0 + s1) + (s2 + s3));
}

template <class L>
void norm_rows(ConstMatrix in, const NormWeights& weights, MutableMatrix out) {
  using B = typename L::Batch;
  const float *scale = weights.scale, *bias = weights.bias;
  const float epsilon = weights.epsilon;
  const int64_t cols = in.cols;
  const float inverse_cols = 1.f / static_cast<float>(cols);
  for (int64_t first = 0; first < in.rows; first += rows_together) {
    const int64_t end = in.rows - first < rows_together ? in.rows : first + rows_together;
    float means[rows_together], variances[rows_together];
    for (int64_t r = first; r < end; ++r) {
      const float* x = in.row(r);
      means[r - first] = weights.kind == NormKind::rms ? 0.f : sum_row<L>(cols, [&](int64_t i, int64_t count) {
                                                                 return load_lanes<L>(x + i, count, B(0.f));
                                                               }) * inverse_cols;
    }
    for (int64_t r = first; r < end; ++r) {
      const float* x = in.row(r);
      const B mean(means[r - first]);
      variances[r - first] = inverse_cols * sum_row<L>(cols, [&](int64_t i, int64_t count) {
                               const B centred = load_lanes<L>(x + i, count, mean) - mean;
                               return centred * centred;
                             });
    }
    for (int64_t r = first; r < end; ++r) {
      const float* x = in.row(r);
      float* y = out.row(r);
      const B mean(means[r - first]), inverse = L::divide(B(1.f), L::square_root(B(variances[r - first] + epsilon)));
      for_each_batch<L>(cols, [&](int64_t i, int64_t count) {
        const B normal = (load_lanes<L>(x + i, count, mean) - mean) * inverse;
        const B shift = bias == nullptr ? B(0.f) : load_lanes<L>(bias + i, count, B(0.f));
        store_lanes<L>(y + i, count, L::fma(normal, load_lanes<L>(scale + i, count, B(0.f)), shift));
      });
    }
  }
}

template <class L>
void rotate_rows(MutableMatrix matrix, ConstMatrix table) {
  using B = typename L::Batch;
  const int64_t half = table.cols / 2;
  for (int64_t r = 0; r < matrix.rows; ++r) {
    const float *cosines = table.row(r), *sines = cosines + half;
    for (float *x = matrix.row(r), *end = x + matrix.cols; x < end; x += table.cols) {
      for_each_batch<L>(half, [&](int64_t i, int64_t count) {
        const B cosine = load_lanes<L>(cosines + i, count, B(0.f)), sine = load_lanes<L>(sines + i, count, B(0.f));
        const B first = load_lanes<L>(x + i, count, B(0.f)), second = load_lanes<L>(x + half + i, count, B(0.f));
        store_lanes<L>(x + i, count, first * cosine - second * sine);
        store_lanes<L>(x + half + i, count, second * cosine + first * sine);
      });
    }
  }
}

template <class L>
void activate(Activation activation, MutableMatrix matrix) {
  using B = typename L::Batch;
  if (activation == Activation::none) return;
  for (int64_t r = 0; r < matrix.rows; ++r) {
    float* x = matrix.row(r);
    for_each_batch<L>(matrix.cols, [&](int64_t i, int64_t lanes) {
      const B value = load_lanes<L>(x + i, lanes, B(0.f));
      store_lanes<L>(x + i, lanes,
                     activation == Activation::gelu ? gelu<L>(value) : activated_any<L>(activation, value));
    });
  }
}

template <class L>
void add(float* dst, const float* src, int64_t count) {
  using B = typename L::Batch;
  for_each_batch<L>(count, [&](int64_t i, int64_t lanes) {
    store_lanes<L>(dst + i, lanes, load_lanes<L>(dst + i, lanes, B(0.f)) + load_lanes<L>(src + i, lanes, B(0.f)));
  });
}

template <class L>
void multiply(float* dst, const float* src, int64_t count) {
  using B = typename L::Batch;
  for_each_batch<L>(count, [&](int64_t i, int64_t lanes) {
    store_lanes<L>(dst + i, lanes, load_lanes<L>(dst + i, lanes, B(0.f)) * load_lanes<L>(src + i, lanes, B(0.f)));
  });
}

// Loads `width` elements at p and widens them to f32.
template <class L, ElementType type>
LINFORMER_INLINE typename L::Batch load_widened(const void* p) {
  if constexpr (type == ElementType::f32) return L::Batch::load_unaligned(static_cast<const float*>(p));
  if constexpr (type == ElementType::bf16) return L::widen_bf16(static_cast<const uint16_t*>(p));
  if constexpr (type == ElementType::f16) return L::widen_f16(static_cast<const uint16_t*>(p));
}

template <class L, ElementType type>
void widen_as(const void* src, float* dst, int64_t count) {
  const char* bytes = static_cast<const char*>(src);
  for_each_batch<L>(count, [&](int64_t i, int64_t lanes) {
    const char* from = bytes + i * element_bytes(type);
    char padded[L::width * sizeof(float)] = {};
    if (lanes < L::width) {
      __builtin_memcpy(padded, from, static_cast<size_t>(lanes * element_bytes(type)));
      from = padded;
    }
    store_lanes<L>(dst + i, lanes, load_widened<L, type>(from));
  });
}

template <class L>
void widen(ElementType type, const void* src, float* dst, int64_t count) {
  if (type == ElementType::f32) __builtin_memcpy(dst, src, static_cast<size_t>(count) * sizeof(float));
  if (type == ElementType::bf16) widen_as<L, ElementType::bf16>(src, dst, count);
  if (type == ElementType::f16) widen_as<L, ElementType::f16>(src, dst, count);
  if (type != ElementType::int8) return;
  for (int64_t i = 0; i < count; ++i) dst[i] = static_cast<float>(static_cast<const int8_t*>(src)[i]);
}

}  // namespace
}  // namespace LINFORMER_NAMESPACE
