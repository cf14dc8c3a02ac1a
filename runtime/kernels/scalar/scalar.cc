// The reference table: plain loops and the C library's functions. Runs anywhere; what the others are compared with.
#include <cmath>
#include <cstring>

#include "kernels/tables.h"

namespace linformer {
namespace {

float bf16_to_f32(uint16_t half) {
  const uint32_t bits = static_cast<uint32_t>(half) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

float f16_to_f32(uint16_t half) {
  const uint32_t exponent = half >> 10 & 31u, mantissa = half & 1023u;
  const float sign = (half & 0x8000u) != 0 ? -1.f : 1.f;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  if (exponent < 31) return sign * std::ldexp(static_cast<float>(mantissa | 1024u), static_cast<int>(exponent) - 25);
  const uint32_t bits = static_cast<uint32_t>(half & 0x8000u) << 16 | 0x7f800000u | mantissa << 13;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

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
  }
  return x;
}

void widen(ElementType type, const void* src, float* dst, int64_t count) {
  if (type == ElementType::f32) {
    std::memcpy(dst, src, static_cast<size_t>(count) * sizeof(float));
    return;
  }
  const uint16_t* halves = static_cast<const uint16_t*>(src);
  for (int64_t i = 0; i < count; ++i) {
    dst[i] = type == ElementType::bf16 ? bf16_to_f32(halves[i]) : f16_to_f32(halves[i]);
  }
}

// sums[16] = row of A times one panel.
void multiply_row(const GemmPanel& gemm, const float* a, int64_t panel, float* sums) {
  for (int64_t j = 0; j < panel_width; ++j) sums[j] = 0.f;
  const int64_t padded_k = (gemm.k + panel_width - 1) / panel_width * panel_width;
  const char* b = static_cast<const char*>(gemm.b) + panel * padded_k * panel_width * element_bytes(gemm.b_type);
  for (int64_t kk = 0; kk < gemm.k; ++kk, b += panel_width * element_bytes(gemm.b_type)) {
    float wide[panel_width];
    widen(gemm.b_type, b, wide, panel_width);
    for (int64_t j = 0; j < panel_width; ++j) sums[j] += a[kk] * wide[j];
  }
}

void gemm_panel(const GemmPanel& gemm) {
  const Epilogue& epilogue = gemm.epilogue;
  for (int64_t col = 0; col < gemm.n; col += panel_width) {
    const int64_t cols = gemm.n - col < panel_width ? gemm.n - col : panel_width;
    for (int64_t i = 0; i < gemm.m; ++i) {
      float sums[panel_width];
      multiply_row(gemm, gemm.a + i * gemm.a_stride, col / panel_width, sums);
      float* c = gemm.c + i * gemm.c_stride + col;
      for (int64_t j = 0; j < cols; ++j) {
        float x = epilogue.alpha * sums[j];
        if (epilogue.accumulate) {
          c[j] += x;
          continue;
        }
        if (epilogue.row_bias != nullptr) x += epilogue.row_bias[i];
        if (epilogue.bias != nullptr) x += epilogue.bias[col + j];
        x = activated(epilogue.activation, x);
        if (epilogue.residual != nullptr) x += epilogue.residual[i * epilogue.residual_stride + col + j];
        c[j] = x;
      }
    }
  }
}

void pack_panel(const float* src, int64_t src_stride, bool transposed, int64_t k, int64_t n, float* dst) {
  const int64_t padded_k = (k + panel_width - 1) / panel_width * panel_width;
  for (int64_t col = 0; col < n; col += panel_width) {
    for (int64_t kk = 0; kk < padded_k; ++kk) {
      for (int64_t j = col; j < col + panel_width; ++j) {
        const bool inside = kk < k && j < n;
        *dst++ = !inside ? 0.f : transposed ? src[j * src_stride + kk] : src[kk * src_stride + j];
      }
    }
  }
}

void softmax_rows(float* x, int64_t stride, int64_t rows, int64_t cols, float scale) {
  for (int64_t r = 0; r < rows; ++r, x += stride) {
    float highest = -INFINITY;
    for (int64_t j = 0; j < cols; ++j) {
      x[j] *= scale;
      if (x[j] > highest) highest = x[j];
    }
    double sum = 0;
    for (int64_t j = 0; j < cols; ++j) {
      x[j] = std::exp(x[j] - highest);
      sum += static_cast<double>(x[j]);
    }
    const float inverse = static_cast<float>(1. / sum);
    for (int64_t j = 0; j < cols; ++j) x[j] *= inverse;
  }
}

void softmax_step(float* x, int64_t stride, int64_t rows, int64_t cols, float scale, float* highest, float* sums,
                  float* factors) {
  for (int64_t r = 0; r < rows; ++r, x += stride) {
    float after = highest[r];
    for (int64_t j = 0; j < cols; ++j) {
      x[j] *= scale;
      if (x[j] > after) after = x[j];
    }
    double sum = 0;
    for (int64_t j = 0; j < cols; ++j) {
      x[j] = std::exp(x[j] - after);
      sum += static_cast<double>(x[j]);
    }
    factors[r] = std::exp(highest[r] - after);
    sums[r] = static_cast<float>(static_cast<double>(sums[r] * factors[r]) + sum);
    highest[r] = after;
  }
}

void scale_rows(float* x, int64_t stride, int64_t rows, int64_t cols, const float* factors) {
  for (int64_t r = 0; r < rows; ++r, x += stride) {
    for (int64_t j = 0; j < cols; ++j) x[j] *= factors[r];
  }
}

void layer_norm_rows(const float* x, int64_t x_stride, const float* scale, const float* bias, float epsilon,
                     int64_t rows, int64_t cols, float* y, int64_t y_stride) {
  for (int64_t r = 0; r < rows; ++r, x += x_stride, y += y_stride) {
    double sum = 0, squares = 0;
    for (int64_t j = 0; j < cols; ++j) sum += static_cast<double>(x[j]);
    const double mean = sum / static_cast<double>(cols);
    for (int64_t j = 0; j < cols; ++j) {
      const double centred = static_cast<double>(x[j]) - mean;
      squares += centred * centred;
    }
    const double inverse = 1. / std::sqrt(squares / static_cast<double>(cols) + static_cast<double>(epsilon));
    for (int64_t j = 0; j < cols; ++j) {
      y[j] = static_cast<float>((static_cast<double>(x[j]) - mean) * inverse) * scale[j] + bias[j];
    }
  }
}

void activate(Activation activation, float* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i) x[i] = activated(activation, x[i]);
}

void add(float* dst, const float* src, int64_t count) {
  for (int64_t i = 0; i < count; ++i) dst[i] += src[i];
}

}  // namespace

const Kernels scalar_kernels = {Isa::scalar, &gemm_panel,      &pack_panel, &softmax_rows, &softmax_step,
                                &scale_rows, &layer_norm_rows, &activate,   &add,          &widen};

}  // namespace linformer
