// Ops on rows: embedding, norms, copies.
#include <algorithm>

#include "cuda/executor.h"
#include "cuda/rows.h"

namespace LINFORMER_NAMESPACE::cuda {

// Rows in f32 become those of another matrix, in its type; it may have more rows, which become zero.
Status CudaExecutor::copy_converted(const Operand& from, const Operand& to) {
  const bool one = from.rows == to.rows && from.follow() && to.follow();
  const Operand x = one ? from.joined() : from, y = one ? to.joined() : to;
  return typed(to.type, [&]<class T>(T*) {
    constexpr int width = 4;
    T* const out = reinterpret_cast<T*>(y.data);
    const auto copy = [&]<int columns>(Copy<T, columns> kernel) {
      kernel = {out, y.ld, y.step, x.floats(), x.ld, x.step, x.rows, y.rows};
      return each_element(kernel, y.rows * y.count, x.cols / columns);
    };
    const bool whole = x.cols % width == 0 && x.ld % width == 0 && y.ld % width == 0 && x.step % width == 0 &&
                       y.step % width == 0 && aligned(out) && aligned(x.data);
    Status done;
    if (whole || stream_->rehearses()) done = copy(Copy<T, width>{});
    if (!done.ok() || (whole && !stream_->rehearses())) return done;
    return copy(Copy<T, 1>{});
  });
}

Status CudaExecutor::convert(const Op& op, const Item& item) {
  return copy_converted(operand(op.a, item), operand(op.out, item));
}

// gather, add_position, add_type
Status CudaExecutor::table_row(const Op& op, const Item& item) {
  const Operand out = operand(op.out, item);
  const bool gathers = op.kind == OpKind::gather;
  const DeviceTensor table = op.a.place == Place::weight
                                 ? device_weights_->matrix(op.a)
                                 : DeviceTensor{device_buffer(op.a.buffer), ElementType::f32, 0, op.a.ld};
  const auto run = [&]<class T, class Index>(T*, const Index* indices) {
    return each_element(TableRow<T, Index>{out.floats(), out.ld, reinterpret_cast<const T*>(table.data), table.ld,
                                           indices, op.scale, !gathers},
                        out.rows, out.cols);
  };
  const auto of_type = [&](const auto* indices) {
    return typed(table.type, [&]<class T>(T* type) { return run(type, indices); });
  };
  if (op.kind == OpKind::add_type) return of_type(device_as<uint8_t>(BufferId::types));
  return of_type(device_as<int32_t>(gathers ? BufferId::ids : BufferId::positions));
}

// The caller's vectors: runs of rows that follow one another there, too.
Status CudaExecutor::read_vectors(const Op& op, const Item& item) {
  const Operand out = operand(op.out, item);
  const int64_t bytes = out.cols * int64_t{sizeof(float)}, step = out.ld * int64_t{sizeof(float)};
  LINFORMER_TRY(each_element(Fill{out.floats(), out.ld, 0.f}, out.rows, out.cols));
  if (stream_->rehearses()) return {};
  for (int64_t s = 0; s < batch_.sequences; ++s) {
    const int64_t end = batch_.row_starts[s + 1];
    for (int64_t row = batch_.row_starts[s]; row < end;) {
      const int64_t first = row, vector = batch_.ids[row];
      for (++row; row < end && vector >= 0 && batch_.ids[row] == vector + (row - first);) ++row;
      if (vector < 0) continue;
      LINFORMER_TRY(stream_->copy(out.data + first * step, step, batch_.vectors(batch_.inputs, s) + vector * out.cols,
                                  bytes, bytes, row - first));
    }
  }
  return {};
}

Status CudaExecutor::zero(const Op& op, const Item& item) {
  if (op.which == ZeroRows::masked && !batch_.has_masks) return {};
  const Operand out = operand(op.out, item);
  const bool of_source = item.stage.domain == Domain::source_rows;
  const uint8_t* masks = device_as<uint8_t>(BufferId::masks);
  if (of_source) {
    const Source source = source_of(attention_of(item));
    masks = device_as<uint8_t>(source.masks) + source.host_starts[item.sequence];
  }
  for (int64_t i = 0; i < out.count; ++i) {
    const Operand x = out.one(i);
    Zero zero{x.floats(), x.ld, nullptr, nullptr, 0, mask_row, nullptr};
    if (item.stage.domain == Domain::first_rows) zero.starts = device_as<int32_t>(BufferId::row_starts);
    if (op.which == ZeroRows::pads) {
      zero.ids = device_as<int32_t>(BufferId::ids);
      zero.id = program_.pad_id;
    }
    if (op.which == ZeroRows::masked) zero.masks = masks + i * item.n;
    LINFORMER_TRY(each_element(zero, x.rows, x.cols));
  }
  return {};
}

Status CudaExecutor::rotate(const Op& op, const Item& item) {
  const Operand out = operand(op.out, item);
  const bool packed = item.stage.domain == Domain::row_blocks || item.whole_batch;
  for (int64_t i = 0; i < out.count; ++i) {
    const Operand x = out.one(i);
    Rotate rotate{x.floats(), x.ld, operand(op.b, item).floats(), nullptr, op.b.cols, 0};
    if (packed) {
      const BufferId starts = item.whole_batch ? source_of(attention_of(item)).starts : BufferId::row_starts;
      rotate.starts = device_as<int32_t>(starts);
      rotate.sequences = static_cast<int32_t>(batch_.sequences);
    }
    LINFORMER_TRY(each_element(rotate, x.rows, x.cols / 2));
  }
  return {};
}

Status CudaExecutor::pool(const Op& op, const Item& item) {
  const int64_t sequences = item.rows * std::max<int64_t>(item.stage.extent, 1);
  Item of_rows = item;
  of_rows.row = 0;
  const bool first_rows = item.call.first_rows;
  const Operand rows = operand(first_rows ? op.b : op.a, of_rows), out = operand(op.out, of_rows);
  const Pool kernel{rows.floats(),
                    rows.ld,
                    rows.cols,
                    first_rows ? nullptr : device_as<int32_t>(BufferId::row_starts),
                    device_as<uint8_t>(BufferId::masks),
                    out.floats(),
                    out.ld,
                    op.pooling_is_asked ? item.call.pooling : op.pooling,
                    program_.max_pooled_rows,
                    sequences};
  return stream_->launch(kernel, kernel.grid());
}

// With `convert`, also what this op makes of the result.
Status CudaExecutor::norm(const Op& op, const Item& item, const Op* convert) {
  const Operand out = operand(op.out, item), a = operand(op.a, item);
  const Operand narrow = convert != nullptr ? operand(convert->out, item) : Operand();
  const float *scale = floats(op.b), *bias = floats(op.bias);
  return typed(narrow.type, [&]<class T>(T*) {
    T* const rounded = reinterpret_cast<T*>(narrow.data);
    const auto run = [&]<int width>(Norm<T, width> norm) {
      norm = {a.floats(), a.ld, out.floats(), out.ld, scale, bias, op.b.cols, op.epsilon, rounded, narrow.ld};
      const EachRow<Norm<T, width>> kernel{norm, out.rows};
      return stream_->launch(kernel, kernel.grid());
    };
    const bool whole = (op.b.cols | a.ld | out.ld | narrow.ld) % 4 == 0 && aligned(a.data) && aligned(out.data) &&
                       aligned(scale) && aligned(bias) && aligned(rounded);
    Status done;
    if (whole || stream_->rehearses()) done = run(Norm<T, 4>{});
    if (!done.ok() || (whole && !stream_->rehearses())) return done;
    return run(Norm<T, 1>{});
  });
}

Status CudaExecutor::row_op(const Op& op, const Item& item) {
  const Operand out = operand(op.out, item), a = operand(op.a, item);
  switch (op.kind) {
    case OpKind::put_prefix:
      return each_element(Prefix{out.floats(), out.ld, floats(op.a), device_as<int32_t>(BufferId::ids)}, out.rows,
                          out.cols);
    case OpKind::copy:
      return copy_converted(a, out);
    case OpKind::add:
      return typed(a.type, [&]<class T>(T*) {
        return each_element(Add<T>{out.floats(), out.ld, reinterpret_cast<const T*>(a.data), a.ld}, out.rows, out.cols);
      });
    case OpKind::activate:
      return finish(out, nullptr, nullptr, op.activation);
    case OpKind::gate:
      return each_element(Gate{out.floats(), out.ld, a.floats(), a.ld, out.cols, op.activation}, out.rows, out.cols);
    case OpKind::pair:
      return each_element(Pair{out.floats(), out.ld, a.floats(), a.ld, op.a.cols}, out.rows, op.a.cols);
    default: {  // normalize_length
      const EachRow<NormalizeLength> kernel{{out.floats(), out.ld, out.cols}, out.rows};
      return stream_->launch(kernel, kernel.grid());
    }
  }
}

Status CudaExecutor::execute(const Op& op, const Item& item) {
  switch (op.kind) {
    case OpKind::gather:
    case OpKind::add_position:
    case OpKind::add_type:
      return table_row(op, item);
    case OpKind::read_vectors:
      return read_vectors(op, item);
    case OpKind::zero:
      return zero(op, item);
    case OpKind::convert:
      return convert(op, item);
    case OpKind::norm:
      return norm(op, item, nullptr);
    case OpKind::gemm:
      return gemm(op, item);
    case OpKind::add_row_sums:
      return add_row_sums(op, item);
    case OpKind::scale_by_length:
      return scale_rows(op.length_scale, op.a, item.n, operand(op.out, item));
    case OpKind::rotate:
      return rotate(op, item);
    case OpKind::compress:
      return compress(op, item);
    case OpKind::attend:
      return attend(op, item);
    case OpKind::select:
      return select(op, item);
    case OpKind::pool:
      return pool(op, item);
    case OpKind::expand:
      return expand(op, item);
    case OpKind::probabilities:  // others are the caller's when the stage has given them
      return item.stage.domain == Domain::sequences ? probabilities(op, item) : Status();
    case OpKind::put_prefix:
    case OpKind::copy:
    case OpKind::add:
    case OpKind::activate:
    case OpKind::gate:
    case OpKind::pair:
    case OpKind::normalize_length:
      return row_op(op, item);
    case OpKind::pack:
    case OpKind::pack_rows:
    case OpKind::pack_block:
      break;
  }
  return Status::error(Code::internal, "the op '%s' has no kernel on a GPU", name_of(op.kind));
}

}  // namespace LINFORMER_NAMESPACE::cuda
