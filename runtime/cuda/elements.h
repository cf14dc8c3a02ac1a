// Kernels for operations on elements: an operation is called for each row and column of a matrix, and reads few
// elements.
#pragma once

#include <cmath>

#include "base/types.h"
#include "cuda/element.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE::cuda {

// Calls op(row, col) for every element of [rows, cols]. A thread computes every 2^`shift`th column of one row, so that
// its indices need no division.
template <class Op>
struct EachElement {
  static constexpr int threads = 256;
  struct Shared {};
  Op op;
  int64_t rows = 0, cols = 0;
  int shift = shift_for(cols);

  static constexpr int shift_for(int64_t columns) {
    int shift = 0;
    while (shift < 8 && (int64_t{1} << shift) < columns) ++shift;
    return shift;
  }
  Grid grid() const {
    const int64_t rows_of_block = threads >> shift;
    return {(rows + rows_of_block - 1) / rows_of_block, 1};
  }
  LINFORMER_DEVICE void operator()(Block<threads>& block, Shared&) const {
    block.each([&](int thread) {
      const int width = 1 << shift;
      const int64_t row = static_cast<int64_t>(block.x()) * (threads >> shift) + (thread >> shift);
      if (row >= rows) return;
      for (int64_t col = thread & (width - 1); col < cols; col += width) op(row, col);
    });
  }
};

// Returns the GELU x (1 + erf(x / sqrt(2))) / 2 with an absolute error of 3e-7, for results that are rounded to 16
// bits. It computes erfc by formula 7.1.26 of Abramowitz and Stegun, which needs a third of the instructions of
// erfcf().
LINFORMER_HOST_DEVICE float gelu_for_16_bits(float x) {
  const float z = 0.70710678f * fabsf(x);
#if defined(__CUDA_ARCH__)
  const float t = __fdividef(1.f, 1.f + 0.3275911f * z), falling = __expf(-z * z);
#else
  const float t = 1.f / (1.f + 0.3275911f * z), falling = expf(-z * z);
#endif
  const float polynomial =
      ((((1.061405429f * t - 1.453152027f) * t + 1.421413741f) * t - 0.284496736f) * t + 0.254829592f) * t;
  const float half_erfc = 0.5f * polynomial * falling;
  return x * (x > 0 ? 1.f - half_erfc : half_erfc);
}

LINFORMER_HOST_DEVICE float activated(Activation activation, float x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x > 0 || x != x ? x : 0.f;
    case Activation::gelu:
      return x * 0.5f * erfcf(x * -0.70710678f);
    case Activation::gelu_tanh:
      return 0.5f * x * (1.f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
    case Activation::tanh:
      return tanhf(x);
    case Activation::leaky_relu:
      return x < 0 ? 0.01f * x : x;
    case Activation::sigmoid:
      return 1.f / (1.f + expf(-x));
    case Activation::silu:
      return x / (1.f + expf(-x));
  }
  return x;
}

// out = scale * (a row of a table), or out += (a row of a table) if `adds`.
template <class T, class Index>
struct TableRow {
  float* out;
  int64_t out_ld;
  const T* table;
  int64_t ld;
  const Index* indices;
  float scale;
  bool adds;
  LINFORMER_DEVICE void operator()(int64_t row, int64_t col) const {
    const float x = widen(table[static_cast<int64_t>(indices[row]) * ld + col]);
    float* to = out + row * out_ld + col;
    *to = adds ? *to + x : x * scale;
  }
};

// Sets the rows with id -1, which stand before the vectors of a text, to `prefix`.
struct Prefix {
  float* out;
  int64_t out_ld;
  const float* prefix;
  const int32_t* ids;
  LINFORMER_DEVICE void operator()(int64_t row, int64_t col) const {
    if (ids[row] < 0) out[row * out_ld + col] = prefix[col];
  }
};

// Sets rows to zero: all rows; or, if `ids` is not null, the rows whose id is `id`; or, if `masks` is not null, the
// rows whose mask has a bit of `mask`.
struct Zero {
  float* out;
  int64_t out_ld;
  const int32_t* ids;
  const uint8_t* masks;
  int32_t id;
  uint8_t mask;
  const int32_t* starts;  // If not null, row s of `out` belongs to row starts[s] of the batch and reads its mask.
  LINFORMER_DEVICE void operator()(int64_t row, int64_t col) const {
    if (ids != nullptr && ids[row] != id) return;
    if (masks != nullptr && (masks[starts == nullptr ? row : starts[row]] & mask) == 0) return;
    out[row * out_ld + col] = 0;
  }
};

// out = value
struct Fill {
  float* out;
  int64_t out_ld;
  float value;
  LINFORMER_DEVICE void operator()(int64_t row, int64_t col) const { out[row * out_ld + col] = value; }
};

// out = a, converted to T. Each sequence of n rows becomes `padded` rows, of which the last ones are zero. `width` is
// the number of columns that a thread copies at once: 1, or 4 if rows begin at multiples of 16 bytes.
template <class T, int width>
struct Copy {
  T* out;
  int64_t out_ld, out_step;
  const float* a;
  int64_t a_ld, a_step;
  int64_t n, padded;
  LINFORMER_DEVICE void operator()(int64_t row, int64_t unit) const {
    const int64_t sequence = row < padded ? 0 : row / padded, r = row - sequence * padded;
    Pack<float, width> x = {};
    if (r < n) x = *reinterpret_cast<const Pack<float, width>*>(a + sequence * a_step + r * a_ld + unit * width);
    Pack<T, width> to;
    for (int i = 0; i < width; ++i) narrow(x.x[i], &to.x[i]);
    *reinterpret_cast<Pack<T, width>*>(out + sequence * out_step + r * out_ld + unit * width) = to;
  }
};

// out += a
template <class T>
struct Add {
  float* out;
  int64_t out_ld;
  const T* a;
  int64_t a_ld;
  LINFORMER_DEVICE void operator()(int64_t row, int64_t col) const {
    out[row * out_ld + col] += widen(a[row * a_ld + col]);
  }
};

// For each sequence, out = the sum of `parts` matrices of k rows, added in order.
struct SumParts {
  float* out;
  int64_t out_ld, out_step;
  const float* a;
  int64_t a_ld, k, parts;
  LINFORMER_DEVICE void operator()(int64_t row, int64_t col) const {
    const int64_t sequence = row / k, r = row % k;
    const float* from = a + (sequence * parts * k + r) * a_ld + col;
    float sum = *from;
    for (int64_t i = 1; i < parts; ++i) sum += from[i * k * a_ld];
    out[sequence * out_step + r * out_ld + col] = sum;
  }
};

// out = activation(out + bias[column] + row_bias[row % rows_of_bias]). `width` is the number of columns that a thread
// computes at once: 1, or more if rows and biases begin at multiples of 16 bytes.
template <class T, int width>
struct AddBiasAndActivate {
  T* out;
  int64_t out_ld;
  const float* bias;
  const float* row_bias;
  int64_t rows_of_bias;  // The number of rows of a sequence. `row_bias` has an element for each of them.
  Activation activation;
  LINFORMER_DEVICE void operator()(int64_t row, int64_t unit) const {
    constexpr int floats = width < 4 ? width : 4;
    const int64_t col = unit * width;
    Pack<T, width>* to = reinterpret_cast<Pack<T, width>*>(out + row * out_ld + col);
    Pack<T, width> pack = *to;
    const float of_row = row_bias != nullptr ? row_bias[row % rows_of_bias] : 0.f;
    for (int i = 0; i < width; i += floats) {
      Pack<float, floats> of_column = {};
      if (bias != nullptr) of_column = *reinterpret_cast<const Pack<float, floats>*>(bias + col + i);
      for (int j = 0; j < floats; ++j) {
        const float x = widen(pack.x[i + j]) + of_row + of_column.x[j];
        const bool rounds = sizeof(T) == 2 && activation == Activation::gelu;
        narrow(rounds ? gelu_for_16_bits(x) : activated(activation, x), &pack.x[i + j]);
      }
    }
    *to = pack;
  }
};

// out = activation(a) * b
struct Gate {
  float* out;
  int64_t out_ld;
  const float* a;
  int64_t a_ld;
  const float* b;
  int64_t b_ld;
  Activation activation;
  LINFORMER_DEVICE void operator()(int64_t row, int64_t col) const {
    out[row * out_ld + col] = activated(activation, a[row * a_ld + col]) * b[row * b_ld + col];
  }
};

// Rotates pairs of channels of each head by the position of their row (RoPE). `col` is the index of a pair.
struct Rotate {
  float* out;
  int64_t out_ld;
  const float* table;     // [positions, d_head]: the cosines, then the sines of a position.
  const int32_t* starts;  // The first row of each sequence. If null, row r has position r.
  int64_t d_head;
  int32_t sequences;
  LINFORMER_DEVICE void operator()(int64_t row, int64_t col) const {
    int64_t position = row;
    if (starts != nullptr) {
      int32_t low = 0, high = sequences;  // Searches the last sequence that begins at or before the row.
      while (high - low > 1) {
        const int32_t middle = (low + high) / 2;
        (starts[middle] <= row ? low : high) = middle;
      }
      position = row - starts[low];
    }
    const int64_t half = d_head / 2, head = col / half, j = col % half;
    const float cosine = table[position * d_head + j], sine = table[position * d_head + half + j];
    float* x = out + row * out_ld + head * d_head + j;
    const float a = x[0], b = x[half];
    x[0] = a * cosine - b * sine;
    x[half] = b * cosine + a * sine;
  }
};

// out = (x, y, x y, x - y) for two consecutive rows x and y of `a`.
struct CombinePair {
  float* out;
  int64_t out_ld;
  const float* a;
  int64_t a_ld, width;
  LINFORMER_DEVICE void operator()(int64_t row, int64_t col) const {
    const float x = a[2 * row * a_ld + col], y = a[(2 * row + 1) * a_ld + col];
    float* to = out + row * out_ld + col;
    to[0] = x;
    to[width] = y;
    to[2 * width] = x * y;
    to[3 * width] = x - y;
  }
};

// out += sums[row] * bias[column]
struct AddScaledBias {
  float* out;
  int64_t out_ld;
  const float *sums, *bias;
  LINFORMER_DEVICE void operator()(int64_t row, int64_t col) const { out[row * out_ld + col] += sums[row] * bias[col]; }
};

// out *= factors[row]
struct ScaleRow {
  float* out;
  int64_t out_ld;
  const float* factors;
  LINFORMER_DEVICE void operator()(int64_t row, int64_t col) const { out[row * out_ld + col] *= factors[row]; }
};

// out = the mean or the maximum of each window of rows. If a value is NaN, the result is NaN.
struct PoolWindows {
  float* out;
  int64_t out_ld;
  const float* a;
  int64_t a_ld, length, stride;
  bool mean;
  LINFORMER_DEVICE void operator()(int64_t row, int64_t col) const {
    const float* from = a + row * stride * a_ld + col;
    float result = *from;
    for (int64_t t = 1; t < length; ++t) {
      const float x = from[t * a_ld];
      if (mean) {
        result += x;
      } else if (!(result != result || result > x)) {
        result = x;
      }
    }
    out[row * out_ld + col] = mean ? result * (1.f / static_cast<float>(length)) : result;
  }
};

}  // namespace LINFORMER_NAMESPACE::cuda
