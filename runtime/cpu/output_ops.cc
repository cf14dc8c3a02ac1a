// What leaves a session: rows, pooled vectors, scores.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/executor.h"

namespace LINFORMER_NAMESPACE {
namespace {

// Columns that are summed at once: long stretches of a row, whose sums stay in the nearest cache.
constexpr int64_t pool_columns = 512;

// each(i) for i in [0, count). Groups of a constant size become vector instructions at -O2, loops of any count don't.
template <class Each>
void for_each_column(int64_t count, Each each) {
  constexpr int64_t group = 16;
  int64_t i = 0;
  for (; i + group <= count; i += group) {
    for (int64_t j = 0; j < group; ++j) each(i + j);
  }
  for (; i < count; ++i) each(i);
}

}  // namespace

// Masked-LM: the rows that the caller asked for.
void CpuExecutor::select(const Op& op, const Item& item) const {
  const MutableMatrix out = matrix(op.out, item);
  for (int64_t r = 0; r < out.rows; ++r) {
    const MaskPosition& of = item.call.positions[static_cast<size_t>(item.row + r)];
    const int64_t row = batch_.row_starts[of.text] + of.position;
    std::copy_n(buffer(op.a.buffer) + row * op.a.ld, out.cols, out.row(r));
  }
}

// The rows of a sequence's tokens, where they lie in a table.
class CpuExecutor::TableRows {
 public:
  TableRows(const CpuExecutor& executor, const View& table, int64_t sequence)
      : kernels_(executor.kernels_),
        table_(executor.tensor(table)),
        scales_(executor.scales(table)),
        type_(table.type),
        row_bytes_(table.ld * element_bytes(table.type)),
        ids_(executor.batch_.ids + executor.batch_.row_starts[sequence]),
        rows_(executor.batch_.length(sequence)) {}

  // Columns [first, first + columns) of row r: at most pool_columns. Valid until the next call.
  const float* operator()(int64_t r, int64_t first, int64_t columns) {
    const int64_t size = element_bytes(type_);
    // Tokens lie anywhere in memory: a later one is on its way while this one is summed.
    constexpr int64_t ahead = 4;
    if (r + ahead < rows_) {
      const std::byte* next = table_ + ids_[r + ahead] * row_bytes_ + first * size;
      for (int64_t byte = 0; byte < columns * size; byte += 64) __builtin_prefetch(next + byte);
    }
    const std::byte* row = table_ + ids_[r] * row_bytes_ + first * size;
    if (type_ == ElementType::f32) return reinterpret_cast<const float*>(row);
    kernels_.widen(type_, row, wide_, columns);
    if (scales_ != nullptr) kernels_.scale_rows({wide_, 1, columns, columns}, scales_ + ids_[r]);
    return wide_;
  }

 private:
  const Kernels& kernels_;
  const std::byte* table_;
  const float* scales_;
  const ElementType type_;
  const int64_t row_bytes_;
  const int32_t* ids_;
  const int64_t rows_;
  float wide_[pool_columns];
};

// Masked rows don't count, but for the mean over N, where they do as they are. A sequence without rows, which an
// encoder without layers may have, becomes zeros. `row_at` is as TableRows.
template <class Rows>
void CpuExecutor::pool_rows(Pooling pooling, Rows&& row_at, int64_t width, int64_t sequence, float* pooled) const {
  const uint8_t* masks = batch_.masks + batch_.row_starts[sequence];
  const int64_t n = batch_.length(sequence);
  const auto copy = [&](int64_t row) {
    for (int64_t first = 0; first < width; first += pool_columns) {
      const int64_t columns = std::min(pool_columns, width - first);
      std::copy_n(row_at(row, first, columns), columns, pooled + first);
    }
  };
  if (n == 0) {
    std::fill_n(pooled, width, 0.f);
    return;
  }
  if (pooling == Pooling::first_token) return copy(0);
  if (pooling == Pooling::last_token) {
    int64_t last = n - 1;
    while (last >= 0 && (masks[last] & mask_row) != 0) --last;
    if (last < 0) {
      std::fill_n(pooled, width, 0.f);
    } else {
      copy(last);
    }
    return;
  }
  const bool all = pooling == Pooling::mean_over_max_tokens, weighted = pooling == Pooling::weighted_mean;
  for (int64_t first = 0; first < width; first += pool_columns) {
    const int64_t columns = std::min(pool_columns, width - first);
    double sums[pool_columns] = {};
    float highest[pool_columns];
    std::fill_n(highest, columns, -std::numeric_limits<float>::infinity());
    int64_t count = 0;
    for (int64_t r = 0; r < n; ++r) {
      if (!all && (masks[r] & mask_row) != 0) continue;
      const float* row = row_at(r, first, columns);
      if (pooling == Pooling::max) {
        for_each_column(columns, [&](int64_t i) {
          // A NaN stays, on whichever side it is.
          const float more = row[i] < highest[i] ? highest[i] : row[i];
          highest[i] = highest[i] != highest[i] ? highest[i] : more;
        });
      } else if (weighted) {
        const auto weight = static_cast<double>(r + 1);
        for_each_column(columns, [&](int64_t i) { sums[i] += weight * static_cast<double>(row[i]); });
      } else {
        for_each_column(columns, [&](int64_t i) { sums[i] += static_cast<double>(row[i]); });
      }
      count += weighted ? r + 1 : 1;
    }
    if (pooling == Pooling::max && count > 0) {
      std::copy_n(highest, columns, pooled + first);
      continue;
    }
    const double divisor = static_cast<double>(all ? program_.max_pooled_rows : std::max<int64_t>(count, 1));
    for (int64_t i = 0; i < columns; ++i) pooled[first + i] = static_cast<float>(sums[i] / divisor);
  }
}

void CpuExecutor::pool_sequence(Pooling pooling, const View& view, int64_t sequence, float* pooled) const {
  if (view.place == Place::weight) {
    return pool_rows(pooling, TableRows(*this, view, sequence), view.cols, sequence, pooled);
  }
  const bool has_all = view.place == Place::rows;
  const float* rows = buffer(view.buffer) + (has_all ? batch_.row_starts[sequence] : sequence) * view.ld;
  pool_rows(
      pooling, [&](int64_t r, int64_t first, int64_t) { return rows + r * view.ld + first; }, view.cols, sequence,
      pooled);
}

// The sequences of the item's rows of scores: each row's own, or two.
void CpuExecutor::pool(const Op& op, const Item& item) const {
  const int64_t each = item.stage.extent;
  float* to = op.out.place == Place::output ? item.call.values : buffer(op.out.buffer);
  const Pooling pooling = op.pooling_is_asked ? item.call.pooling : op.pooling;
  for (int64_t s = item.row * each; s < (item.row + item.rows) * each; ++s) {
    pool_sequence(pooling, item.call.first_rows ? op.b : op.a, s, to + s * op.out.ld);
  }
}

void CpuExecutor::pair(const Op& op, const Item& item) const {
  const int64_t width = op.a.cols;
  const MutableMatrix out = matrix(op.out, item);
  for (int64_t r = 0; r < out.rows; ++r) {
    const float* a = buffer(op.a.buffer) + 2 * (item.row + r) * op.a.ld;
    const float* b = a + op.a.ld;
    float* to = out.row(r);
    for (int64_t i = 0; i < width; ++i) {
      to[i] = a[i];
      to[width + i] = b[i];
      to[2 * width + i] = a[i] * b[i];
      to[3 * width + i] = a[i] - b[i];
    }
  }
}

// A sequence's rows for the caller; what stripping left without a row is zero.
void CpuExecutor::expand(const Op& op, const Item& item) const {
  const int64_t kept = batch_.length(item.sequence), first = batch_.row_starts[item.sequence];
  float* to = address(op.out, item);
  if (op.a.place == Place::weight) {
    TableRows rows(*this, op.a, item.sequence);
    for (int64_t r = 0; r < kept; ++r, to += op.out.ld) {
      for (int64_t begin = 0; begin < op.a.cols; begin += pool_columns) {
        const int64_t columns = std::min(pool_columns, op.a.cols - begin);
        std::copy_n(rows(r, begin, columns), columns, to + begin);
      }
    }
  }
  for (int64_t r = 0; r < kept && op.a.place != Place::weight; ++r, to += op.out.ld) {
    std::copy_n(buffer(op.a.buffer) + (first + r) * op.a.ld, op.a.cols, to);
    if (op.b.present()) std::copy_n(buffer(op.b.buffer) + (first + r) * op.b.ld, op.b.cols, to + op.a.cols);
  }
  std::fill_n(to, (item.rows - kept) * op.out.ld, 0.f);
}

void CpuExecutor::probabilities(const Op& op, const Item& item) const {
  if (item.call.probabilities == nullptr) return;
  const float* logits = address(op.a, item);
  const MutableMatrix out = {item.call.probabilities + item.row * op.out.ld, item.rows, op.out.cols, op.out.ld};
  if (out.data != logits) std::copy_n(logits, out.rows * out.cols, out.data);
  if (op.softmax) {
    kernels_.softmax_rows(out, 1.f);
  } else if (op.activation != Activation::none) {
    kernels_.activate(op.activation, out);
  }
}

// As torch.nn.functional.normalize: never divided by less than 1e-12.
void CpuExecutor::normalize_length(const Op& op, const Item& item) const {
  const MutableMatrix out = matrix(op.out, item);
  for (int64_t r = 0; r < out.rows; ++r) {
    double squares = 0;
    for (int64_t i = 0; i < out.cols; ++i)
      squares += static_cast<double>(out.row(r)[i]) * static_cast<double>(out.row(r)[i]);
    const float length = static_cast<float>(std::max(std::sqrt(squares), 1e-12));
    for (int64_t i = 0; i < out.cols; ++i) out.row(r)[i] /= length;
  }
}

}  // namespace LINFORMER_NAMESPACE
