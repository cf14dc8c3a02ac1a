#include <algorithm>
#include <cmath>

#include "cpu/ops/keys.h"
#include "cpu/ops/run.h"

namespace LINFORMER_NAMESPACE::cpu {
namespace {

double sum_of_squares(const Kernels& kernels, const View& e, const std::byte* row, int64_t from, int64_t to) {
  constexpr int lanes = 8;  // The number of partial sums. It fixes the order of summation.
  constexpr int64_t chunk = 32 * lanes;
  double sums[lanes] = {}, sum = 0;
  float wide[chunk];
  for (int64_t t = from; t < to; t += chunk) {
    const int64_t count = std::min(chunk, to - t);
    kernels.widen(e.type, row + t * element_bytes(e.type), wide, count);
    for (int64_t i = 0; i < count; ++i) sums[i % lanes] += double{wide[i]} * double{wide[i]};
  }
  for (const double lane : sums) sum += lane;
  return sum;
}

}  // namespace

void scale_by_length(LengthScale scale, const View& e, int64_t first, int64_t n, const MutableMatrix& rows,
                     const Context& context) {
  if (scale == LengthScale::none) return;
  float factor = 1.f / std::sqrt(static_cast<float>(n));
  for (int64_t j = 0; j < rows.rows; ++j) {
    if (scale == LengthScale::restored_norm) {
      const std::byte* row = context.tensor(e) + (first + j) * e.ld * element_bytes(e.type);
      const double used = sum_of_squares(context.kernels, e, row, 0, n),
                   rest = sum_of_squares(context.kernels, e, row, n, e.cols);
      factor = static_cast<float>(std::sqrt(used + rest) / std::max(std::sqrt(used), least_norm));
    }
    for (int64_t i = 0; i < rows.cols; ++i) rows.row(j)[i] *= factor;
  }
}

// Adds (E 1) b^T, where 1 is a vector of ones. E is the projection, Z the rows that keys or values are computed from,
// and W their weight. Layers that add the bias b of the linear layer before E compute E (Z W + 1 b^T) = (E Z) W + (E 1)
// b^T. The product before this op has computed (E Z) W.
Status run(const ops::AddRowSums& op, const Context& context, const Item& item) {
  const int64_t n = context.key_source_of(item).length(item.sequence);
  const MutableMatrix out = context.matrix(op.out, item);
  const float* bias = context.floats(op.bias);
  const std::byte* row = context.tensor(op.e) + item.row * op.e.ld * element_bytes(op.e.type);
  for (int64_t j = 0; j < item.rows; ++j, row += op.e.ld * element_bytes(op.e.type)) {
    constexpr int lanes = 8;  // The number of partial sums. It fixes the order of summation.
    constexpr int64_t chunk = 32 * lanes;
    float sums[lanes] = {}, wide[chunk];
    for (int64_t t = 0; t < n; t += chunk) {
      const int64_t count = std::min(chunk, n - t);
      context.kernels.widen(op.e.type, row + t * element_bytes(op.e.type), wide, count);
      for (int64_t i = 0; i < count; ++i) sums[i % lanes] += wide[i];
    }
    const float sum = ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
    for (int64_t i = 0; i < out.cols; ++i) out.row(j)[i] += sum * bias[i];
  }
  return {};
}

Status run(const ops::ScaleByLength& op, const Context& context, const Item& item) {
  const int64_t n = context.key_source_of(item).length(item.sequence);
  scale_by_length(op.scale, op.e, item.row, n, context.matrix(op.out, item), context);
  return {};
}

}  // namespace LINFORMER_NAMESPACE::cpu
