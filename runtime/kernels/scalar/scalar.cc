// The reference table: plain loops and the C library's functions. Runs anywhere; what the others are compared with.
#include <cmath>
#include <cstring>

#include "base/half.h"
#include "kernels/tables.h"

namespace linformer {
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
  const uint16_t* halves = static_cast<const uint16_t*>(src);
  for (int64_t i = 0; i < count; ++i) {
    dst[i] = type == ElementType::bf16 ? bf16_to_f32(halves[i]) : f16_to_f32(halves[i]);
  }
}

// sums[16] = row of A times one panel.
void multiply_row(const GemmArgs& gemm, const float* a, int64_t panel, float* sums) {
  const int64_t k = gemm.a.cols, bytes = element_bytes(gemm.b.type);
  for (int64_t j = 0; j < panel_width; ++j) sums[j] = 0.f;
  const char* b = static_cast<const char*>(gemm.b.data) + panel * panel_elements(k, panel_width) * bytes;
  for (int64_t kk = 0; kk < k; ++kk, b += panel_width * bytes) {
    float wide[panel_width];
    widen(gemm.b.type, b, wide, panel_width);
    for (int64_t j = 0; j < panel_width; ++j) sums[j] += a[kk] * wide[j];
  }
}

void gemm_panel(const GemmArgs& gemm) {
  const Epilogue& epilogue = gemm.epilogue;
  for (int64_t col = 0; col < gemm.c.cols; col += panel_width) {
    const int64_t cols = gemm.c.cols - col < panel_width ? gemm.c.cols - col : panel_width;
    for (int64_t i = 0; i < gemm.c.rows; ++i) {
      float sums[panel_width];
      multiply_row(gemm, gemm.a.row(i), col / panel_width, sums);
      float* c = gemm.c.row(i) + col;
      for (int64_t j = 0; j < cols; ++j) {
        float x = sums[j];
        if (epilogue.accumulate) {
          c[j] += x;
          continue;
        }
        if (epilogue.row_bias != nullptr) x += epilogue.row_bias[i];
        if (epilogue.bias != nullptr) x += epilogue.bias[col + j];
        x = activated(epilogue.activation, x);
        if (epilogue.residual.data != nullptr) x += epilogue.residual.row(i)[col + j];
        c[j] = x;
      }
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

void scale_rows(MutableMatrix matrix, const float* factors) {
  for (int64_t r = 0; r < matrix.rows; ++r) {
    float* x = matrix.row(r);
    for (int64_t j = 0; j < matrix.cols; ++j) x[j] *= factors[r];
  }
}

void layer_norm_rows(ConstMatrix in, const NormWeights& weights, MutableMatrix out) {
  const double cols = static_cast<double>(in.cols);
  for (int64_t r = 0; r < in.rows; ++r) {
    const float* x = in.row(r);
    float* y = out.row(r);
    double sum = 0, squares = 0;
    for (int64_t j = 0; j < in.cols; ++j) sum += static_cast<double>(x[j]);
    const double mean = sum / cols;
    for (int64_t j = 0; j < in.cols; ++j) {
      const double centred = static_cast<double>(x[j]) - mean;
      squares += centred * centred;
    }
    const double inverse = 1. / std::sqrt(squares / cols + static_cast<double>(weights.epsilon));
    for (int64_t j = 0; j < in.cols; ++j) {
      y[j] = static_cast<float>((static_cast<double>(x[j]) - mean) * inverse) * weights.scale[j] + weights.bias[j];
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

const Kernels scalar_kernels = {Isa::scalar,      &gemm_panel, &pack_panel, &softmax_rows, &softmax_step, &scale_rows,
                                &layer_norm_rows, &activate,   &add,        &multiply,     &widen};

}  // namespace linformer
