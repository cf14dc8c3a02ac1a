// Ops that compute a session's outputs and copy them to the caller.
#include "cuda/ops/outputs.h"

#include <algorithm>
#include <cstring>

#include "cuda/ops/check.h"
#include "cuda/ops/run.h"
#include "cuda/rows.h"

namespace LINFORMER_NAMESPACE::cuda {
namespace {

// Copies the rows of all sequences to the caller. Consecutive sequences are one copy if the caller's memory has no gaps
// between them.
Status expand_rows(Context& context, const View& view, float* to, int64_t ld) {
  constexpr int64_t width = sizeof(float);
  const auto given = [&](int64_t s) { return context.batch.output_starts[s + 1] - context.batch.output_starts[s]; };
  for (int64_t s = 0; s < context.batch.sequences;) {
    const int64_t first = s;
    while (s + 1 < context.batch.sequences && context.batch.length(s) == given(s)) ++s;
    ++s;
    const int64_t begin = context.batch.row_starts[first], end = context.batch.row_starts[s];
    LINFORMER_TRY(context.stream->copy(to + context.batch.output_starts[first] * ld, ld * width,
                                       context.device_buffer(view.buffer) + begin * view.ld * width, view.ld * width,
                                       view.cols * width, end - begin));
  }
  return {};
}

// Fills the caller's rows of stripped pads with `value`. The session has no rows for these pads.
Status fill_stripped(Context& context, float* to, int64_t ld, float value) {
  if (context.stream->in_dry_run())
    return context.options.device_outputs ? context.launch_each_element(Fill{to, ld, value}, 1, 1) : Status();
  for (int64_t s = 0; s < context.batch.sequences; ++s) {
    const int64_t begin = context.batch.output_starts[s] + context.batch.length(s),
                  rows = context.batch.output_starts[s + 1] - begin;
    if (rows == 0) continue;
    if (context.options.device_outputs) {
      LINFORMER_TRY(context.launch_each_element(Fill{to + begin * ld, ld, value}, rows, ld));
    } else {
      std::fill_n(to + begin * ld, rows * ld, value);
    }
  }
  return {};
}

// Copies the first `count` floats of the outputs' scratch memory to the caller's memory, from its element `first` on.
Status copy_to_caller(Context& context, float* to, int64_t first, int64_t count) {
  if (to == nullptr) return {};
  const int64_t bytes = count * int64_t{sizeof(float)};
  const std::byte* const outputs = context.scratch(context.regions.outputs);
  if (context.options.device_outputs) return context.stream->copy(to + first, 0, outputs, 0, bytes, 1);
  std::byte* const staging = context.arena + context.staging + device_positions * sizeof(int32_t);
  LINFORMER_TRY(context.stream->copy(staging, 0, outputs, 0, bytes, 1));
  if (context.stream->in_dry_run()) return {};
  LINFORMER_TRY(context.stream->wait());
  std::memcpy(to + first, staging, static_cast<size_t>(bytes));
  return {};
}

Status make_probabilities(Context& context, const ops::Probabilities& op, float* scores, int64_t ld, int64_t rows) {
  const EachRow<Probabilities> kernel{{scores, ld, op.out.cols, op.softmax, op.activation}, rows};
  return context.stream->launch(kernel, kernel.grid());
}

}  // namespace

// Selects the rows of the positions at which the caller wants masked-LM logits.
Status run(const ops::Select& op, Context& context, const Item& item) {
  int32_t* rows = reinterpret_cast<int32_t*>(context.arena + context.staging);
  if (!context.stream->in_dry_run()) {
    if (item.row > 0) LINFORMER_TRY(context.stream->wait_for_mark());  // Until the previous rows were read.
    for (int64_t r = 0; r < item.rows; ++r) {
      const MaskPosition& of = item.call.positions[static_cast<size_t>(item.row + r)];
      rows[r] = static_cast<int32_t>(context.batch.row_starts[of.sequence] + of.position);
    }
  }
  std::byte* const positions = context.scratch(context.regions.positions);
  LINFORMER_TRY(context.stream->copy(positions, 0, rows, 0, item.rows * int64_t{sizeof(int32_t)}, 1));
  LINFORMER_TRY(context.stream->mark());
  Item all = item;
  all.row = 0;
  const Operand from = context.operand(op.rows, all), out = context.operand(op.out, item);
  return context.launch_each_element(TableRow<float, int32_t>{out.floats(), out.ld, from.floats(), from.ld,
                                                              reinterpret_cast<const int32_t*>(positions), 1.f, false},
                                     out.rows, out.cols);
}

Status check_supported(const ops::Pool& op) {
  if (op.rows.cols <= Grid::most_y * warp_size) return {};
  return Status::error(Code::unsupported, "the op 'pool' has no kernel on a GPU for %lld columns: use the CPU",
                       static_cast<long long>(op.rows.cols));
}

Status run(const ops::Pool& op, Context& context, const Item& item) {
  const int64_t sequences = item.rows * std::max<int64_t>(item.stage.extent, 1);
  Item of_rows = item;
  of_rows.row = 0;
  const bool first_rows = item.call.first_rows;
  const Operand rows = context.operand(first_rows ? op.first_rows : op.rows, of_rows),
                out = context.operand(op.out, of_rows);
  const Pool kernel{rows.floats(),
                    rows.ld,
                    rows.cols,
                    first_rows ? nullptr : context.device_buffer_as<int32_t>(BufferId::row_starts),
                    context.device_buffer_as<uint8_t>(BufferId::masks),
                    out.floats(),
                    out.ld,
                    op.is_asked ? item.call.pooling : op.pooling,
                    context.program.max_pooled_rows,
                    sequences};
  return context.stream->launch(kernel, kernel.grid());
}

Status run(const ops::Pair& op, Context& context, const Item& item) {
  const Operand from = context.operand(op.from, item), out = context.operand(op.out, item);
  return context.launch_each_element(CombinePair{out.floats(), out.ld, from.floats(), from.ld, op.from.cols}, out.rows,
                                     op.from.cols);
}

// Copies the rows of the sequences to the caller. Rows of stripped pads are set to zero.
Status run(const ops::Expand& op, Context& context, const Item& item) {
  float* const output = item.call.values;
  if (output == nullptr) return {};
  int64_t column = 0;
  for (const View* view : {&op.rows, &op.second}) {
    if (!view->present()) continue;
    LINFORMER_TRY(expand_rows(context, *view, output + column, op.out.ld));
    column += view->cols;
  }
  return fill_stripped(context, output, op.out.ld, 0.f);
}

Status copy_logits_to_caller(Context& context, const Item& item) {
  const View* last = nullptr;
  const ops::Probabilities* probabilities = nullptr;
  for (int32_t i = item.stage.op_begin; i < item.stage.op_end; ++i) {
    const Op& op = context.program.ops[static_cast<size_t>(i)];
    if (op.out().place != Place::output) continue;
    const auto* own = op.get<ops::Probabilities>();
    if (own != nullptr) probabilities = own;
    if (own == nullptr) last = &op.out();
  }
  if (last == nullptr) return {};
  const int64_t first = item.row * last->cols, count = item.rows * last->cols;
  LINFORMER_TRY(copy_to_caller(context, item.call.values, first, count));
  if (probabilities == nullptr || item.call.probabilities == nullptr) return {};
  float* const scores = reinterpret_cast<float*>(context.scratch(context.regions.outputs));
  LINFORMER_TRY(make_probabilities(context, *probabilities, scores, last->cols, item.rows));
  return copy_to_caller(context, item.call.probabilities, first, count);
}

// Computes the probabilities of token heads in place of their logits, which the caller already has.
Status run(const ops::Probabilities& op, Context& context, const Item& item) {
  // In other stages copy_logits_to_caller() computes the probabilities.
  if (item.stage.domain != Domain::sequences) return {};
  float* const output = item.call.probabilities;
  if (output == nullptr) return {};
  const View* logits = nullptr;
  for (int32_t i = item.stage.op_begin; i < item.stage.op_end; ++i) {
    const Op& other = context.program.ops[static_cast<size_t>(i)];
    if (const auto* expand = other.get<ops::Expand>()) logits = &expand->rows;
  }
  if (logits == nullptr) return Status::error(Code::internal, "a stage has probabilities and no logits");
  float* const scores = reinterpret_cast<float*>(context.device_buffer(logits->buffer));
  const int64_t cols = op.out.cols;
  LINFORMER_TRY(make_probabilities(context, op, scores, logits->ld, context.batch.rows));
  LINFORMER_TRY(expand_rows(context, *logits, output, cols));
  // Rows of stripped pads get the probabilities of logits that are zero.
  return fill_stripped(context, output, cols,
                       op.softmax ? 1.f / static_cast<float>(cols) : activated(op.activation, 0));
}

Status run(const ops::NormalizeLength& op, Context& context, const Item& item) {
  const Operand out = context.operand(op.out, item);
  const EachRow<NormalizeLength> kernel{{out.floats(), out.ld, out.cols}, out.rows};
  return context.stream->launch(kernel, kernel.grid());
}

}  // namespace LINFORMER_NAMESPACE::cuda
