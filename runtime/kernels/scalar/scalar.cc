// The scalar table: plain loops and functions of the C library. It runs on every machine, and tests compare the other
// tables with it.
#include <cmath>
#include <cstring>

#include "base/half.h"
#include "kernels/tables.h"

namespace LINFORMER_NAMESPACE {
namespace {

float activated(Activation activation, float x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x < 0.f ? 0.f : x;
    case Activation::gelu:
      return 0.5f * x * (1.f + std::erf(x * 0.70710678f));
    case Activation::gelu_tanh:
      return 0.5f * x * (1.f + std::tanh(0.79788456f * (x + 0.044715f * x * x * x)));
    case Activation::tanh:
      return std::tanh(x);
    case Activation::leaky_relu:
      return x < 0.f ? 0.01f * x : x;
    case Activation::sigmoid:
      return 1.f / (1.f + std::exp(-x));
    case Activation::silu:
      return x / (1.f + std::exp(-x));
  }
  return x;
}

void widen(ElementType type, const void* src, float* dst, int64_t count) {
  if (type == ElementType::f32) {
    std::memcpy(dst, src, static_cast<size_t>(count) * sizeof(float));
    return;
  }
  if (type == ElementType::int8) {
    for (int64_t i = 0; i < count; ++i) dst[i] = static_cast<float>(static_cast<const int8_t*>(src)[i]);
    return;
  }
  const uint16_t* halves = static_cast<const uint16_t*>(src);
  for (int64_t i = 0; i < count; ++i) {
    dst[i] = type == ElementType::bf16 ? bf16_to_f32(halves[i]) : f16_to_f32(halves[i]);
  }
}

// Widens row k of a panel to f32. Numbers in int8 are multiplied by the scale of their column.
void widen_row(const RightMatrix& b, int64_t panel, int64_t k, float* wide) {
  const int64_t together = panel_interleave(b.type), bytes = element_bytes(b.type);
  const char* src = static_cast<const char*>(b.data) + panel * b.panel_bytes() +
                    (k / together * together * panel_width + k % together) * bytes;
  for (int64_t j = 0; j < panel_width; ++j, src += together * bytes) {
    if (b.type == ElementType::int8) {
      wide[j] = static_cast<float>(*reinterpret_cast<const int8_t*>(src)) * b.scales[panel * panel_width + j];
    } else {
      widen(b.type, src, wide + j, 1);
    }
  }
}

void widen_panel(const RightMatrix& b, int64_t panel, int64_t first, int64_t k, float* dst) {
  for (int64_t i = 0; i < k; ++i) widen_row(b, panel, first + i, dst + i * panel_width);
}

// The sums of one row of A times the 16 columns of a panel, in f32. Bf16Sums and Int8Sums are the same for other types.
// If `continues` is true and the product accumulates, begin() makes the first sum from the value in C.
struct F32Sums {
  using Sum = float;
  static constexpr bool continues = true;
  static float begin(float c) { return c; }
  static void multiply(const GemmArgs& gemm, int64_t row, int64_t panel, Sum* sums) {
    const float* a = gemm.a.floats().row(row);
    for (int64_t kk = 0; kk < gemm.a.cols; ++kk) {
      float wide[panel_width];
      widen_row(gemm.b, panel, kk, wide);
      for (int64_t j = 0; j < panel_width; ++j) sums[j] += a[kk] * wide[j];
    }
  }
  static float column_scale(const GemmArgs&, int64_t) { return 1.f; }
};

// Returns x, or a zero of the same sign if x is subnormal.
float flushed(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.f, x) : x; }

struct Bf16Sums {
  using Sum = float;
  static constexpr bool continues = true;
  static float begin(float c) { return flushed(c); }
  static void multiply(const GemmArgs& gemm, int64_t row, int64_t panel, Sum* sums) {
    const uint16_t* a = static_cast<const uint16_t*>(gemm.a.data) + row * gemm.a.ld;
    const uint16_t* b =
        reinterpret_cast<const uint16_t*>(static_cast<const char*>(gemm.b.data) + panel * gemm.b.panel_bytes());
    for (int64_t kk = 0; kk < gemm.a.cols; kk += 2, b += 2 * panel_width) {
      for (int64_t j = 0; j < panel_width; ++j) {
        for (int64_t half : {1, 0}) {  // If K is odd, a zero follows the last element of the row.
          const float product = flushed(bf16_to_f32(a[kk + half])) * flushed(bf16_to_f32(b[2 * j + half]));
          sums[j] = flushed(sums[j] + flushed(product));
        }
      }
    }
  }
  static float column_scale(const GemmArgs&, int64_t) { return 1.f; }
};

struct Int8Sums {
  using Sum = float;
  static constexpr bool continues = false;
  static float begin(float c) { return c; }
  static void multiply(const GemmArgs& gemm, int64_t row, int64_t panel, Sum* sums) {
    const uint8_t* a = static_cast<const uint8_t*>(gemm.a.data) + row * gemm.a.ld;
    const int8_t* b = static_cast<const int8_t*>(gemm.b.data) + panel * gemm.b.panel_bytes();
    for (int64_t begin = 0; begin < gemm.a.cols; begin += int8_slice) {
      const int64_t end = gemm.a.cols < begin + int8_slice ? gemm.a.cols : begin + int8_slice;
      const int64_t slice = begin / int8_slice;
      const RowScale& scale = gemm.a.scales[row * gemm.a.scales_ld + slice];
      for (int64_t j = 0; j < panel_width; ++j) {
        int32_t sum = 0;
        for (int64_t kk = begin; kk < end; ++kk) {
          sum += int32_t{a[kk]} * int32_t{b[kk / 4 * 4 * panel_width + 4 * j + kk % 4]};
        }
        const float of_column = static_cast<float>(gemm.b.sums[slice * gemm.b.sums_ld + panel * panel_width + j]);
        const float of_slice = std::fma(static_cast<float>(scale.zero), -of_column, static_cast<float>(sum));
        sums[j] = slice == 0 ? of_slice * scale.scale : std::fma(of_slice, scale.scale, sums[j]);
      }
    }
  }
  static float column_scale(const GemmArgs& gemm, int64_t column) { return gemm.b.scales[column]; }
};

// Rounds x to the nearest bf16, ties to even and subnormals to zero. A NaN stays a NaN.
uint16_t rounded_bf16(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, flushed(x));
  if (x != x) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <class Sums>
void gemm(const GemmArgs& gemm) {
  const Epilogue& epilogue = gemm.epilogue;
  for (int64_t col = 0; col < gemm.c.cols; col += panel_width) {
    const int64_t cols = gemm.c.cols - col < panel_width ? gemm.c.cols - col : panel_width;
    for (int64_t i = 0; i < gemm.c.rows; ++i) {
      typename Sums::Sum sums[panel_width] = {};
      // If the product accumulates, the sums begin with the values in C. In int8 these are added at the end, because
      // sums are exact integers until they are scaled.
      for (int64_t j = 0; Sums::continues && epilogue.accumulate && j < cols; ++j) {
        sums[j] = Sums::begin(gemm.c.floats().row(i)[col + j]);
      }
      Sums::multiply(gemm, i, col / panel_width, sums);
      for (int64_t j = 0; j < cols; ++j) {
        const float column_scale = Sums::column_scale(gemm, col + j);
        float addend = epilogue.row_bias == nullptr ? 0.f : epilogue.row_bias[i];
        if (epilogue.bias != nullptr) addend += epilogue.bias[col + j];
        float x = activated(epilogue.activation, std::fma(sums[j], column_scale, addend));
        if (epilogue.residual.data != nullptr) x += epilogue.residual.row(i)[col + j];
        if (epilogue.accumulate && !Sums::continues) x += gemm.c.floats().row(i)[col + j];
        if (gemm.c.type == ElementType::bf16) {
          gemm.c.halves().row(i)[col + j] = rounded_bf16(x);
        } else {
          gemm.c.floats().row(i)[col + j] = x;
        }
      }
    }
  }
}

void round_rows(ConstMatrix src, Matrix<uint16_t> dst) {
  for (int64_t r = 0; r < src.rows; ++r) {
    for (int64_t j = 0; j < round_up(src.cols, 32); ++j) dst.row(r)[j] = j < src.cols ? rounded_bf16(src.row(r)[j]) : 0;
  }
}

RowScale quantize_slice(const float* x, int64_t count, uint8_t* codes) {
  float lowest = 0, highest = 0;
  bool finite = true;
  for (int64_t j = 0; j < count; ++j) {
    lowest = std::fmin(lowest, x[j]);
    highest = std::fmax(highest, x[j]);
    finite = finite && std::isfinite(x[j]);
  }
  RowScale scale;
  scale.scale = finite ? highest / 255.f - lowest / 255.f : NAN;
  if (scale.scale < 1e-37f) scale.scale = 0;
  const float inverse = scale.scale > 0 ? 1.f / scale.scale : 0.f;
  if (scale.scale > 0) scale.zero = static_cast<int32_t>(std::nearbyint(-lowest * inverse));
  // Floats of this size are integers, so there is one rounding, to the nearest code and with ties to the even code.
  constexpr float integers = 12582912.f;
  for (int64_t j = 0; j < round_up(count, 64); ++j) {
    int32_t code = 0;
    if (j < count && scale.scale > 0) {
      code = static_cast<int32_t>(std::fma(x[j], inverse, integers + static_cast<float>(scale.zero)) - integers);
    }
    codes[j] = static_cast<uint8_t>(code > 255 ? 255 : code < 0 ? 0 : code);
  }
  return scale;
}

void quantize_rows(ConstMatrix src, const QuantizedRows& dst) {
  for (int64_t r = 0; r < src.rows; ++r) {
    for (int64_t begin = 0; begin < src.cols; begin += int8_slice) {
      const int64_t count = src.cols - begin < int8_slice ? src.cols - begin : int8_slice;
      dst.scales[r * dst.scales_ld + begin / int8_slice] =
          quantize_slice(src.row(r) + begin, count, dst.data + r * dst.ld + begin);
    }
  }
}

void pack_panel(ConstMatrix src, bool transposed, float* dst) {
  const int64_t k = transposed ? src.cols : src.rows, n = transposed ? src.rows : src.cols;
  const int64_t padded_k = round_up(k, panel_width);
  for (int64_t col = 0; col < n; col += panel_width) {
    for (int64_t kk = 0; kk < padded_k; ++kk) {
      for (int64_t j = col; j < col + panel_width; ++j) {
        const bool inside = kk < k && j < n;
        *dst++ = !inside ? 0.f : transposed ? src.row(j)[kk] : src.row(kk)[j];
      }
    }
  }
}

void pack_panel_bf16(ConstMatrix src, bool transposed, uint16_t* dst) {
  const int64_t k = transposed ? src.cols : src.rows, n = transposed ? src.rows : src.cols;
  for (int64_t col = 0; col < n; col += panel_width) {
    for (int64_t kk = 0; kk < round_up(k, 32); kk += 2) {
      for (int64_t j = col; j < col + panel_width; ++j) {
        for (int64_t half : {0, 1}) {
          const bool inside = kk + half < k && j < n;
          *dst++ = inside ? rounded_bf16(transposed ? src.row(j)[kk + half] : src.row(kk + half)[j]) : uint16_t{0};
        }
      }
    }
  }
}

void softmax_rows(MutableMatrix matrix, float scale) {
  for (int64_t r = 0; r < matrix.rows; ++r) {
    float* x = matrix.row(r);
    float row_max = -INFINITY;
    for (int64_t j = 0; j < matrix.cols; ++j) {
      x[j] *= scale;
      if (x[j] > row_max) row_max = x[j];
    }
    double sum = 0;
    for (int64_t j = 0; j < matrix.cols; ++j) {
      x[j] = std::exp(x[j] - row_max);
      sum += static_cast<double>(x[j]);
    }
    const float inverse = static_cast<float>(1. / sum);
    for (int64_t j = 0; j < matrix.cols; ++j) x[j] *= inverse;
  }
}

void softmax_step(MutableMatrix matrix, float scale, const OnlineSoftmax& state) {
  for (int64_t r = 0; r < matrix.rows; ++r) {
    float* x = matrix.row(r);
    const float before = state.row_max[r];
    float after = before;
    for (int64_t j = 0; j < matrix.cols; ++j) {
      x[j] *= scale;
      if (x[j] > after) after = x[j];
    }
    double sum = 0;
    for (int64_t j = 0; j < matrix.cols; ++j) {
      x[j] = std::exp(x[j] - after);
      sum += static_cast<double>(x[j]);
    }
    const float rescale = std::exp(before - after);
    state.rescale[r] = rescale;
    state.row_sum[r] = static_cast<float>(static_cast<double>(state.row_sum[r] * rescale) + sum);
    state.row_max[r] = after;
  }
}

void softmax_step_bf16(MutableMatrix matrix, float scale, const OnlineSoftmax& state) {
  softmax_step(matrix, scale, state);
  for (int64_t r = 0; r < matrix.rows; ++r) {
    char* row = reinterpret_cast<char*>(matrix.row(r));
    for (int64_t j = 0; j < round_up(matrix.cols, 32); ++j) {
      float x = 0;
      if (j < matrix.cols) std::memcpy(&x, row + j * static_cast<int64_t>(sizeof x), sizeof x);
      const uint16_t narrow = rounded_bf16(x);
      std::memcpy(row + j * static_cast<int64_t>(sizeof narrow), &narrow, sizeof narrow);
    }
  }
}

void scale_rows(MutableMatrix matrix, const float* factors) {
  for (int64_t r = 0; r < matrix.rows; ++r) {
    float* x = matrix.row(r);
    for (int64_t j = 0; j < matrix.cols; ++j) x[j] *= factors[r];
  }
}

void norm_rows(ConstMatrix in, const NormWeights& weights, MutableMatrix out) {
  const double cols = static_cast<double>(in.cols);
  for (int64_t r = 0; r < in.rows; ++r) {
    const float* x = in.row(r);
    float* y = out.row(r);
    double sum = 0, squares = 0;
    for (int64_t j = 0; j < in.cols; ++j) sum += static_cast<double>(x[j]);
    const double mean = weights.kind == NormKind::rms ? 0. : sum / cols;
    for (int64_t j = 0; j < in.cols; ++j) {
      const double centred = static_cast<double>(x[j]) - mean;
      squares += centred * centred;
    }
    const double inverse = 1. / std::sqrt(squares / cols + static_cast<double>(weights.epsilon));
    for (int64_t j = 0; j < in.cols; ++j) {
      const float normal = static_cast<float>((static_cast<double>(x[j]) - mean) * inverse);
      y[j] = normal * weights.scale[j] + (weights.bias == nullptr ? 0.f : weights.bias[j]);
    }
  }
}

void rotate_rows(MutableMatrix matrix, ConstMatrix table) {
  const int64_t half = table.cols / 2;
  for (int64_t r = 0; r < matrix.rows; ++r) {
    const float *cosines = table.row(r), *sines = cosines + half;
    for (float *x = matrix.row(r), *end = x + matrix.cols; x < end; x += table.cols) {
      for (int64_t i = 0; i < half; ++i) {
        const float first = x[i], second = x[half + i];
        x[i] = first * cosines[i] - second * sines[i];
        x[half + i] = second * cosines[i] + first * sines[i];
      }
    }
  }
}

void activate(Activation activation, MutableMatrix matrix) {
  for (int64_t r = 0; r < matrix.rows; ++r) {
    float* x = matrix.row(r);
    for (int64_t j = 0; j < matrix.cols; ++j) x[j] = activated(activation, x[j]);
  }
}

void add(float* dst, const float* src, int64_t count) {
  for (int64_t i = 0; i < count; ++i) dst[i] += src[i];
}

void multiply(float* dst, const float* src, int64_t count) {
  for (int64_t i = 0; i < count; ++i) dst[i] *= src[i];
}

}  // namespace

const Kernels scalar_kernels = {.isa = Isa::scalar,
                                .gemm_f32 = &gemm<F32Sums>,
                                .gemm_bf16 = &gemm<Bf16Sums>,
                                .gemm_int8 = &gemm<Int8Sums>,
                                .round_rows = &round_rows,
                                .quantize_rows = &quantize_rows,
                                .pack_panel = &pack_panel,
                                .pack_panel_bf16 = &pack_panel_bf16,
                                .widen_panel = &widen_panel,
                                .softmax_rows = &softmax_rows,
                                .softmax_step = &softmax_step,
                                .softmax_step_bf16 = &softmax_step_bf16,
                                .scale_rows = &scale_rows,
                                .norm_rows = &norm_rows,
                                .rotate_rows = &rotate_rows,
                                .activate = &activate,
                                .add = &add,
                                .multiply = &multiply,
                                .widen = &widen};

}  // namespace LINFORMER_NAMESPACE
