// Ops that compute the outputs of a session: rows, pooled vectors, scores.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/ops/run.h"

namespace LINFORMER_NAMESPACE::cpu {
namespace {

// The number of columns that are summed at once. It is large, so that long parts of a row are read, and small enough
// that their sums stay in the L1 cache.
constexpr int64_t pool_columns = 512;

// Calls each(i) for i in [0, count). The compiler makes vector instructions of groups of a constant size, but at -O2
// not of a loop of unknown length.
template <class Each>
void for_each_column(int64_t count, Each each) {
  constexpr int64_t group = 16;
  int64_t i = 0;
  for (; i + group <= count; i += group) {
    for (int64_t j = 0; j < group; ++j) each(i + j);
  }
  for (; i < count; ++i) each(i);
}

// A reader of the rows of one sequence. They lie one after the other in a buffer, or anywhere in the table of an
// embedding, which has a row for each token.
class SequenceRows {
 public:
  // `first` is the index of the sequence's first row in a buffer. It isn't used for a table.
  SequenceRows(const Context& context, const View& view, int64_t sequence, int64_t first)
      : kernels_(context.kernels), type_(view.type), count_(context.batch.length(sequence)) {
    row_bytes_ = view.ld * element_bytes(view.type);
    if (view.place == Place::weight) {
      rows_ = context.tensor(view);
      scales_ = context.scales(view);
      ids_ = context.batch.ids + context.batch.row_starts[sequence];
    } else {
      rows_ = context.buffer<std::byte>(view.buffer) + first * row_bytes_;
    }
  }

  // Returns the columns [first, first + columns) of row r in f32. `columns` is at most pool_columns. The result is
  // valid until the next call.
  const float* columns_of(int64_t r, int64_t first, int64_t columns) {
    const int64_t size = element_bytes(type_);
    // The rows of two tokens may lie far apart in memory, so a later token's row is prefetched while this one is
    // summed.
    constexpr int64_t ahead = 4;
    if (ids_ != nullptr && r + ahead < count_) {
      const std::byte* next = rows_ + ids_[r + ahead] * row_bytes_ + first * size;
      for (int64_t byte = 0; byte < columns * size; byte += 64) __builtin_prefetch(next + byte);
    }
    const int64_t index = ids_ != nullptr ? ids_[r] : r;
    const std::byte* row = rows_ + index * row_bytes_ + first * size;
    if (type_ == ElementType::f32) return reinterpret_cast<const float*>(row);
    kernels_.widen(type_, row, wide_, columns);
    if (scales_ != nullptr) kernels_.scale_rows({wide_, 1, columns, columns}, scales_ + index);
    return wide_;
  }

  void copy(int64_t r, int64_t width, float* to) {
    for (int64_t first = 0; first < width; first += pool_columns) {
      const int64_t columns = std::min(pool_columns, width - first);
      std::copy_n(columns_of(r, first, columns), columns, to + first);
    }
  }

 private:
  const Kernels& kernels_;
  const ElementType type_;
  const int64_t count_;
  int64_t row_bytes_;
  const std::byte* rows_;
  const float* scales_ = nullptr;
  const int32_t* ids_ = nullptr;
  float wide_[pool_columns];
};

// Pools the rows of a sequence into one row. Masked rows are left out, but first_token copies even a masked row, and
// mean_over_max_tokens sums all rows. A sequence without rows, which only an encoder without layers takes, gives zeros.
void pool_sequence(Pooling pooling, const View& view, int64_t sequence, float* pooled, const Context& context) {
  const bool has_all = view.place == Place::rows;
  SequenceRows rows(context, view, sequence, has_all ? context.batch.row_starts[sequence] : sequence);
  const int64_t width = view.cols;
  const uint8_t* masks = context.batch.masks + context.batch.row_starts[sequence];
  const int64_t n = context.batch.length(sequence);
  if (n == 0) {
    std::fill_n(pooled, width, 0.f);
    return;
  }
  if (pooling == Pooling::first_token) return rows.copy(0, width, pooled);
  if (pooling == Pooling::last_token) {
    int64_t last = n - 1;
    while (last >= 0 && (masks[last] & mask_row) != 0) --last;
    if (last < 0) {
      std::fill_n(pooled, width, 0.f);
    } else {
      rows.copy(last, width, pooled);
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
      const float* row = rows.columns_of(r, first, columns);
      if (pooling == Pooling::max) {
        for_each_column(columns, [&](int64_t i) {
          // If either number is NaN, the result is NaN.
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
    const double divisor = static_cast<double>(all ? context.program.max_pooled_rows : std::max<int64_t>(count, 1));
    for (int64_t i = 0; i < columns; ++i) pooled[first + i] = static_cast<float>(sums[i] / divisor);
  }
}

}  // namespace

// Copies the rows of the masked positions that the caller asked for.
Status run(const ops::Select& op, const Context& context, const Item& item) {
  const MutableMatrix out = context.matrix(op.out, item);
  for (int64_t r = 0; r < out.rows; ++r) {
    const MaskPosition& of = item.call.positions[static_cast<size_t>(item.row + r)];
    const int64_t row = context.batch.row_starts[of.sequence] + of.position;
    std::copy_n(context.buffer(op.rows.buffer) + row * op.rows.ld, out.cols, out.row(r));
  }
  return {};
}

// Pools the sequences that the item's rows of scores belong to. A row of scores is for one sequence or, with a head on
// pairs, for two sequences.
Status run(const ops::Pool& op, const Context& context, const Item& item) {
  const int64_t each = item.stage.extent;
  float* to = op.out.place == Place::output ? item.call.values : context.buffer(op.out.buffer);
  const Pooling pooling = op.is_asked ? item.call.pooling : op.pooling;
  for (int64_t s = item.row * each; s < (item.row + item.rows) * each; ++s) {
    pool_sequence(pooling, item.call.first_rows ? op.first_rows : op.rows, s, to + s * op.out.ld, context);
  }
  return {};
}

Status run(const ops::Pair& op, const Context& context, const Item& item) {
  const int64_t width = op.from.cols;
  const MutableMatrix out = context.matrix(op.out, item);
  for (int64_t r = 0; r < out.rows; ++r) {
    const float* a = context.buffer(op.from.buffer) + 2 * (item.row + r) * op.from.ld;
    const float* b = a + op.from.ld;
    float* to = out.row(r);
    for (int64_t i = 0; i < width; ++i) {
      to[i] = a[i];
      to[width + i] = b[i];
      to[2 * width + i] = a[i] * b[i];
      to[3 * width + i] = a[i] - b[i];
    }
  }
  return {};
}

// Copies the rows of a sequence to the caller's memory. If pads or masked tokens were removed from the sequence, it has
// fewer rows than the output, and the last rows of the output become zeros.
Status run(const ops::Expand& op, const Context& context, const Item& item) {
  const int64_t kept = context.batch.length(item.sequence), first = context.batch.row_starts[item.sequence];
  float* to = context.address<float>(op.out, item);
  SequenceRows rows(context, op.rows, item.sequence, first);
  for (int64_t r = 0; r < kept; ++r, to += op.out.ld) {
    rows.copy(r, op.rows.cols, to);
    if (!op.second.present()) continue;
    const float* const second = context.buffer(op.second.buffer) + (first + r) * op.second.ld;
    std::copy_n(second, op.second.cols, to + op.rows.cols);
  }
  std::fill_n(to, (item.rows - kept) * op.out.ld, 0.f);
  return {};
}

Status run(const ops::Probabilities& op, const Context& context, const Item& item) {
  if (item.call.probabilities == nullptr) return {};
  const float* logits = context.address<float>(op.logits, item);
  const MutableMatrix out = {item.call.probabilities + item.row * op.out.ld, item.rows, op.out.cols, op.out.ld};
  if (out.data != logits) std::copy_n(logits, out.rows * out.cols, out.data);
  if (op.softmax) {
    context.kernels.softmax_rows(out, 1.f);
  } else if (op.activation != Activation::none) {
    context.kernels.activate(op.activation, out);
  }
  return {};
}

// Divides each row by its Euclidean length, but never by less than 1e-12, as torch.nn.functional.normalize does.
Status run(const ops::NormalizeLength& op, const Context& context, const Item& item) {
  const MutableMatrix out = context.matrix(op.out, item);
  for (int64_t r = 0; r < out.rows; ++r) {
    double squares = 0;
    for (int64_t i = 0; i < out.cols; ++i)
      squares += static_cast<double>(out.row(r)[i]) * static_cast<double>(out.row(r)[i]);
    const float length = static_cast<float>(std::max(std::sqrt(squares), 1e-12));
    for (int64_t i = 0; i < out.cols; ++i) out.row(r)[i] /= length;
  }
  return {};
}

}  // namespace LINFORMER_NAMESPACE::cpu
