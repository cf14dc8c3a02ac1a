// What leaves a session.
#include <algorithm>
#include <cstring>

#include "cuda/executor.h"
#include "cuda/rows.h"

namespace LINFORMER_NAMESPACE::cuda {

// Masked-LM: the rows that the caller asked for.
Status CudaExecutor::select(const Op& op, const Item& item) {
  int32_t* rows = reinterpret_cast<int32_t*>(arena_ + staging_);
  if (!stream_->rehearses()) {
    if (item.row > 0) LINFORMER_TRY(stream_->wait_for_mark());  // until the rows before these are read
    for (int64_t r = 0; r < item.rows; ++r) {
      const MaskPosition& of = item.call.positions[static_cast<size_t>(item.row + r)];
      rows[r] = static_cast<int32_t>(batch_.row_starts[of.text] + of.position);
    }
  }
  std::byte* const positions = scratch(scratch_.positions);
  LINFORMER_TRY(stream_->copy(positions, 0, rows, 0, item.rows * int64_t{sizeof(int32_t)}, 1));
  LINFORMER_TRY(stream_->mark());
  Item all = item;
  all.row = 0;
  const Operand from = operand(op.a, all), out = operand(op.out, item);
  return each_element(TableRow<float, int32_t>{out.floats(), out.ld, from.floats(), from.ld,
                                               reinterpret_cast<const int32_t*>(positions), 1.f, false},
                      out.rows, out.cols);
}

// Sequences' rows for the caller; what stripping left without a row is zero.
Status CudaExecutor::expand(const Op& op, const Item& item) {
  float* const output = item.call.values;
  if (output == nullptr) return {};
  int64_t column = 0;
  for (const View* view : {&op.a, &op.b}) {
    if (!view->present()) continue;
    LINFORMER_TRY(expand_rows(*view, output + column, op.out.ld));
    column += view->cols;
  }
  return fill_stripped(output, op.out.ld, 0.f);
}

// Sequences that follow one another at the caller's as they do here are one copy.
Status CudaExecutor::expand_rows(const View& view, float* to, int64_t ld) {
  constexpr int64_t width = sizeof(float);
  const auto given = [&](int64_t s) { return batch_.output_starts[s + 1] - batch_.output_starts[s]; };
  for (int64_t s = 0; s < batch_.sequences;) {
    const int64_t first = s;
    while (s + 1 < batch_.sequences && batch_.length(s) == given(s)) ++s;
    ++s;
    const int64_t begin = batch_.row_starts[first], end = batch_.row_starts[s];
    LINFORMER_TRY(stream_->copy(to + batch_.output_starts[first] * ld, ld * width,
                                device_buffer(view.buffer) + begin * view.ld * width, view.ld * width,
                                view.cols * width, end - begin));
  }
  return {};
}

Status CudaExecutor::fill_stripped(float* to, int64_t ld, float value) {
  if (stream_->rehearses()) return options_.device_outputs ? each_element(Fill{to, ld, value}, 1, 1) : Status();
  for (int64_t s = 0; s < batch_.sequences; ++s) {
    const int64_t begin = batch_.output_starts[s] + batch_.length(s), rows = batch_.output_starts[s + 1] - begin;
    if (rows == 0) continue;
    if (options_.device_outputs) {
      LINFORMER_TRY(each_element(Fill{to + begin * ld, ld, value}, rows, ld));
    } else {
      std::fill_n(to + begin * ld, rows * ld, value);
    }
  }
  return {};
}

// The rows of scores that a stage made, and their probabilities.
Status CudaExecutor::give(const Item& item) {
  const Op* last = nullptr;
  const Op* probabilities = nullptr;
  for (int32_t i = item.stage.op_begin; i < item.stage.op_end; ++i) {
    const Op& op = program_.ops[static_cast<size_t>(i)];
    if (op.out.place != Place::output) continue;
    (op.kind == OpKind::probabilities ? probabilities : last) = &op;
  }
  if (last == nullptr) return {};
  const int64_t first = item.row * last->out.cols, count = item.rows * last->out.cols;
  LINFORMER_TRY(give(item.call.values, first, count));
  if (probabilities == nullptr || item.call.probabilities == nullptr) return {};
  float* const scores = reinterpret_cast<float*>(scratch(scratch_.outputs));
  LINFORMER_TRY(make_probabilities(*probabilities, scores, last->out.cols, item.rows));
  return give(item.call.probabilities, first, count);
}

// `count` floats of the outputs' memory, to the caller's from its element `first` on.
Status CudaExecutor::give(float* to, int64_t first, int64_t count) {
  if (to == nullptr) return {};
  const int64_t bytes = count * int64_t{sizeof(float)};
  const std::byte* const outputs = scratch(scratch_.outputs);
  if (options_.device_outputs) return stream_->copy(to + first, 0, outputs, 0, bytes, 1);
  std::byte* const staging = arena_ + staging_ + device_positions * sizeof(int32_t);
  LINFORMER_TRY(stream_->copy(staging, 0, outputs, 0, bytes, 1));
  if (stream_->rehearses()) return {};
  LINFORMER_TRY(stream_->wait());
  std::memcpy(to + first, staging, static_cast<size_t>(bytes));
  return {};
}

Status CudaExecutor::make_probabilities(const Op& op, float* scores, int64_t ld, int64_t rows) {
  const EachRow<Probabilities> kernel{{scores, ld, op.out.cols, op.softmax, op.activation}, rows};
  return stream_->launch(kernel, kernel.grid());
}

// Of rows that were given before, in their place.
Status CudaExecutor::probabilities(const Op& op, const Item& item) {
  float* const output = item.call.probabilities;
  if (output == nullptr) return {};
  const View* logits = nullptr;
  for (int32_t i = item.stage.op_begin; i < item.stage.op_end; ++i) {
    const Op& other = program_.ops[static_cast<size_t>(i)];
    if (other.kind == OpKind::expand) logits = &other.a;
  }
  if (logits == nullptr) return Status::error(Code::internal, "probabilities without logits");
  float* const scores = reinterpret_cast<float*>(device_buffer(logits->buffer));
  const int64_t cols = op.out.cols;
  LINFORMER_TRY(make_probabilities(op, scores, logits->ld, batch_.rows));
  LINFORMER_TRY(expand_rows(*logits, output, cols));
  // Of logits that are zero.
  return fill_stripped(output, cols, op.softmax ? 1.f / static_cast<float>(cols) : activated(op.activation, 0));
}

}  // namespace LINFORMER_NAMESPACE::cuda
