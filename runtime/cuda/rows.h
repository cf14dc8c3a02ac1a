// Kernels whose result depends on a whole row, or on a whole column of a sequence.
#pragma once

#include <cmath>

#include "cuda/elements.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE::cuda {

// Calls op(warp, row) for each row, with a warp for each row.
template <class Op>
struct EachRow {
  static constexpr int threads = 128, rows_of_block = threads / warp_size;
  struct Shared {};
  Op op;
  int64_t rows = 0;
  Grid grid() const { return {(rows + rows_of_block - 1) / rows_of_block, 1}; }
  LINFORMER_DEVICE void operator()(Block<threads>& block, Shared&) const {
    block.each_warp([&](Warp& warp) {
      const int64_t row = static_cast<int64_t>(block.x()) * rows_of_block + warp.index();
      if (row < rows) op(warp, row);
    });
  }
};

// out = (a - mean) / sqrt(variance + epsilon) * scale + bias. `out` may be the memory of `a`. If `narrowed` is not
// null, it gets the result rounded to T. `width` is the number of columns that a lane computes at once: 1, or 4 if
// rows, scale and bias begin at multiples of 16 bytes.
template <class T, int width>
struct Norm {
  const float* a;
  int64_t a_ld;
  float* out;
  int64_t out_ld;
  const float *scale, *bias;
  int64_t cols;   // The number of columns of a part. Each part of a row is normed separately.
  int64_t parts;  // The number of parts of a row.
  float epsilon;
  bool centres;  // The mean is subtracted (layer norm). Otherwise it is taken as 0 (RMS norm).
  T* narrowed;
  int64_t narrowed_ld;
  LINFORMER_DEVICE void operator()(Warp& warp, int64_t part) const {
    const int64_t row = part / parts, column = part % parts * cols;
    const Floats* x = as_packs(a + row * a_ld + column);
    const int count = static_cast<int>(cols / width);
    const float all = static_cast<float>(cols);
    const float mean = !centres ? 0.f : warp.sum([&](int lane) {
      float sum = 0;
      LINFORMER_UNROLL
      for (int i = lane; i < count; i += warp_size) {
        for (const float value : x[i].x) sum += value;
      }
      return sum;
    }) / all;
    const float variance = warp.sum([&](int lane) {
      float sum = 0;
      LINFORMER_UNROLL
      for (int i = lane; i < count; i += warp_size) {
        for (const float value : x[i].x) sum += (value - mean) * (value - mean);
      }
      return sum;
    }) / all;
    const float factor = 1.f / sqrtf(variance + epsilon);
    Floats* const to = reinterpret_cast<Floats*>(out + row * out_ld + column);
    warp.each_lane([&](int lane) {
      LINFORMER_UNROLL
      for (int i = lane; i < count; i += warp_size) {
        Floats y = x[i];
        const Floats by = as_packs(scale)[i], plus = bias == nullptr ? Floats{} : as_packs(bias)[i];
        for (int j = 0; j < width; ++j) y.x[j] = (y.x[j] - mean) * factor * by.x[j] + plus.x[j];
        to[i] = y;
        if (narrowed == nullptr) continue;
        Pack<T, width> rounded;
        for (int j = 0; j < width; ++j) narrow(y.x[j], &rounded.x[j]);
        reinterpret_cast<Pack<T, width>*>(narrowed + row * narrowed_ld + column)[i] = rounded;
      }
    });
  }

 private:
  using Floats = Pack<float, width>;
  static LINFORMER_DEVICE const Floats* as_packs(const float* from) { return reinterpret_cast<const Floats*>(from); }
};

// Computes the op put_tokens, with a warp for each sequence s and each token j, whose index is s * count + j. If the
// sequence contains tokens[j], row j of its output becomes a copy of the row of the first such token that isn't masked.
struct PutTokens {
  static constexpr int most_tokens = 8;
  float* out;
  int64_t out_ld, out_step;
  const float* rows;
  int64_t rows_ld;
  const int32_t* ids;
  const uint8_t* masks;  // Bit 0 of a row's mask is set if the row is masked. If null, no row is masked.
  int64_t n, cols;
  int32_t count;
  uint32_t tokens[most_tokens];
  LINFORMER_DEVICE void operator()(Warp& warp, int64_t row) const {
    const int64_t sequence = row / count, j = row % count, begin = sequence * n;
    // Warp::max() compares f32 values, and -max(-position) is the smallest position. f32 represents every position
    // exactly because a text has at most 2^24 tokens.
    const float found = warp.max([&](int lane) {
      int64_t r = lane;
      while (r < n &&
             (ids[begin + r] != static_cast<int32_t>(tokens[j]) || (masks != nullptr && (masks[begin + r] & 1) != 0))) {
        r += warp_size;
      }
      return -static_cast<float>(r < n ? r : n);
    });
    const int64_t position = -static_cast<int64_t>(found);
    if (position >= n) return;
    const float* const from = rows + (begin + position) * rows_ld;
    float* const to = out + sequence * out_step + j * out_ld;
    warp.each_lane([&](int lane) {
      for (int64_t i = lane; i < cols; i += warp_size) to[i] = from[i];
    });
  }
};

// x /= max(its Euclidean length, 1e-12), as torch.nn.functional.normalize does.
struct NormalizeLength {
  float* x;
  int64_t ld, cols;
  LINFORMER_DEVICE void operator()(Warp& warp, int64_t row) const {
    float* from = x + row * ld;
    // The elements are divided by the largest one if it is finite, so that their squares don't overflow or underflow.
    // An element that is NaN makes the length NaN, and with it all elements of the row.
    const float largest = warp.max([&](int lane) {
      float most = 0;
      for (int64_t i = lane; i < cols; i += warp_size) most = fabsf(from[i]) > most ? fabsf(from[i]) : most;
      return most;
    });
    const float unit = largest / largest == 1.f ? largest : 1.f;  // 0 / 0 and infinity / infinity are NaN.
    const float squares = warp.sum([&](int lane) {
      float sum = 0;
      for (int64_t i = lane; i < cols; i += warp_size) sum += from[i] / unit * (from[i] / unit);
      return sum;
    });
    const float length = sqrtf(squares) * unit;
    warp.each_lane([&](int lane) {
      for (int64_t i = lane; i < cols; i += warp_size) from[i] /= length < 1e-12f ? 1e-12f : length;
    });
  }
};

// Turns the scores of a row into probabilities in place: by a softmax, or by an activation of each score.
struct Probabilities {
  float* x;
  int64_t ld, cols;
  bool softmax;
  Activation activation;
  LINFORMER_DEVICE void operator()(Warp& warp, int64_t row) const {
    float* to = x + row * ld;
    if (!softmax) {
      warp.each_lane([&](int lane) {
        for (int64_t i = lane; i < cols; i += warp_size) to[i] = activated(activation, to[i]);
      });
      return;
    }
    const float highest = warp.max([&](int lane) {
      float most = to[0];
      for (int64_t i = lane; i < cols; i += warp_size) most = to[i] > most || to[i] != to[i] ? to[i] : most;
      return most;
    });
    const float sum = warp.sum([&](int lane) {
      float part = 0;
      for (int64_t i = lane; i < cols; i += warp_size) part += expf(to[i] - highest);
      return part;
    });
    warp.each_lane([&](int lane) {
      for (int64_t i = lane; i < cols; i += warp_size) to[i] = expf(to[i] - highest) / sum;
    });
  }
};

// sums[row] = the sum of the first n elements of a row of E.
template <class T>
struct RowSums {
  const T* a;
  int64_t ld, n;
  float* sums;
  LINFORMER_DEVICE void operator()(Warp& warp, int64_t row) const {
    const float sum = warp.sum([&](int lane) {
      float part = 0;
      for (int64_t i = lane; i < n; i += warp_size) part += widen(a[row * ld + i]);
      return part;
    });
    warp.each_lane([&](int lane) {
      if (lane == 0) sums[row] = sum;
    });
  }
};

// factors[row] = 1 / sqrt(n) if `inverse_root`. Otherwise it is the norm of a row of E divided by the norm of its first
// n elements.
template <class T>
struct LengthFactors {
  const T* a;
  int64_t ld, n, cols;
  bool inverse_root;
  float least;  // Norms are not divided by less than this.
  float* factors;
  LINFORMER_DEVICE void operator()(Warp& warp, int64_t row) const {
    const auto squares = [&](int64_t from, int64_t to) {
      return warp.sum([&](int lane) {
        float part = 0;
        for (int64_t i = from + lane; i < to; i += warp_size) part += widen(a[row * ld + i]) * widen(a[row * ld + i]);
        return part;
      });
    };
    float factor = 1.f / sqrtf(static_cast<float>(n));
    if (!inverse_root) {
      const float used = squares(0, n), norm = sqrtf(used);
      factor = sqrtf(used + squares(n, cols)) / (norm > least ? norm : least);
    }
    warp.each_lane([&](int lane) {
      if (lane == 0) factors[row] = factor;
    });
  }
};

// Pools the rows of each sequence into one row. Masked rows are left out, except in the mean over max tokens and in the
// first token. A block computes 32 columns of a sequence, and each of its 32 warps reads every 32nd row.
struct Pool {
  static constexpr int threads = 1024, strips = threads / warp_size;
  struct Shared {
    double sums[strips][warp_size];
    float highest[strips][warp_size];
    int64_t counts[strips];
  };
  const float* rows;
  int64_t ld, cols;
  const int32_t* starts;  // The first row of each sequence. If null, each sequence has one row.
  const uint8_t* masks;
  float* out;
  int64_t out_ld;
  Pooling pooling;
  int64_t most_rows;
  int64_t sequences;
  Grid grid() const { return {sequences, (cols + warp_size - 1) / warp_size}; }
  LINFORMER_DEVICE void operator()(Block<threads>& block, Shared& s) const {
    const int64_t begin = starts == nullptr ? block.x() : starts[block.x()];
    const int64_t end = starts == nullptr ? begin + 1 : starts[block.x() + 1];
    const int64_t first = static_cast<int64_t>(block.y()) * warp_size;
    const bool all = pooling == Pooling::mean_over_max_tokens, weighted = pooling == Pooling::weighted_mean;
    const bool last = pooling == Pooling::last_token;
    block.each([&](int thread) {
      const int strip = thread / warp_size, lane = thread % warp_size;
      double sum = 0;
      float high = 0;
      int64_t count = 0;
      for (int64_t r = begin + strip; first + lane < cols && r < end; r += strips) {
        if (pooling == Pooling::first_token && r > begin) break;
        if (!all && pooling != Pooling::first_token && (masks[r] & 1) != 0) continue;
        const float x = rows[r * ld + first + lane];
        const int64_t place = r - begin + 1;
        sum += weighted ? static_cast<double>(place) * static_cast<double>(x) : static_cast<double>(x);
        high = count == 0 || last || x > high || x != x ? x : high;  // A later number doesn't replace NaN.
        count = last ? place : count + (weighted ? place : 1);
      }
      s.sums[strip][lane] = sum;
      s.highest[strip][lane] = high;
      if (lane == 0) s.counts[strip] = count;
    });
    block.each([&](int thread) {
      if (thread >= warp_size || first + thread >= cols) return;
      double sum = 0;
      float high = 0;
      int64_t count = 0;
      for (int strip = 0; strip < strips; ++strip) {
        if (s.counts[strip] == 0) continue;
        sum += s.sums[strip][thread];
        const float x = s.highest[strip][thread];
        if (last) {
          high = s.counts[strip] > count ? x : high;
          count = s.counts[strip] > count ? s.counts[strip] : count;
          continue;
        }
        high = count == 0 || x > high || x != x ? x : high;
        count += s.counts[strip];
      }
      const int64_t divisor = all ? most_rows : count > 0 ? count : 1;
      const float mean = static_cast<float>(sum / static_cast<double>(divisor));
      const bool one = (last || pooling == Pooling::max) && count > 0;
      out[block.x() * out_ld + first + thread] = one ? high : mean;
    });
  }
};

}  // namespace LINFORMER_NAMESPACE::cuda
