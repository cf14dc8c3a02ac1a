// Products: with weights on the right, E Z and E (Z W) with rows there, and those of a head's own projection.
#include <algorithm>

#include "base/checked.h"
#include "cuda/executor.h"
#include "cuda/rows.h"

namespace LINFORMER_NAMESPACE::cuda {
namespace {

// Taps of a convolution that may need algorithms of their own: the first one doesn't add to the sums, and the others
// begin at one of eight alignments of f32 rows.
constexpr int64_t differing_taps = 9;

constexpr int64_t most_at_once = 1 << 15;  // products in one call: cuBLASLt takes a grid's 65,535 at most

}  // namespace

Status CudaExecutor::product(const Operand& a, const Operand& b, bool transposed, const Operand& c, bool adds,
                             const float* bias, int64_t usual_rows) {
  if (c.rows == 0 || c.cols == 0) return {};
  Product p;
  p.a = a.data;
  p.b = b.data;
  p.c = c.data;
  p.bias = bias;
  p.type = a.type;
  p.out_type = c.type;
  p.m = c.rows;
  p.n = c.cols;
  p.k = a.cols;
  p.a_ld = a.ld;
  p.b_ld = b.ld;
  p.c_ld = c.ld;
  p.transposed = transposed;
  p.adds = adds;
  p.usual_m = usual_rows;
  p.batched = !transposed;  // one sequence takes the algorithm that several take
  p.count = c.count;
  p.a_step = a.step;
  p.b_step = b.step;
  p.c_step = c.step;
  return stream_->multiply(p);
}

// c = activation(c + row_bias + bias).
Status CudaExecutor::finish(const Operand& all, const float* bias, const float* row_bias, Activation activation) {
  if (bias == nullptr && row_bias == nullptr && activation == Activation::none) return {};
  const Operand joined = all.joined();
  for (int64_t i = 0; i < joined.count; ++i) {
    const Operand c = joined.one(i);
    LINFORMER_TRY(typed(c.type, [&]<class T>(T*) {
      constexpr int width = 16 / sizeof(T);
      T* const data = reinterpret_cast<T*>(c.data);
      const bool whole = c.cols % width == 0 && c.ld % width == 0 && aligned(data) && aligned(bias);
      Status done;
      if (whole || stream_->rehearses()) {
        done = each_element(Finish<T, width>{data, c.ld, bias, row_bias, all.rows, activation}, c.rows, c.cols / width);
      }
      if (!done.ok() || (whole && !stream_->rehearses())) return done;
      return each_element(Finish<T, 1>{data, c.ld, bias, row_bias, all.rows, activation}, c.rows, c.cols);
    }));
  }
  return {};
}

// Sequences' rows in f32 as E is multiplied with them: as they are, or in 16 bits with zeros up to a multiple of 8
// rows.
Result<CudaExecutor::Operand> CudaExecutor::narrowed(const Operand& x) {
  if (type_ == ElementType::f32) return x;
  Operand to = x;
  to.data = scratch(scratch_.narrow);
  to.type = type_;
  to.rows = round_up(x.rows, device_row_multiple);
  to.ld = round_up(x.cols, device_row_multiple);
  to.step = to.rows * to.ld;
  if (to.step * to.count > scratch_.narrow_elements) {
    return Status::error(Code::internal, "rows don't fit into their buffer");
  }
  LINFORMER_TRY(copy_converted(x, to));
  return to;
}

// out = E rows, for each of the operands' sequences. Many rows are added up in slices, side by side on the device: how
// they are cut depends on their number alone.
Status CudaExecutor::multiply_e(const DeviceTensor& e, int64_t k, const Operand& rows, const Operand& out) {
  Operand left{e.data, e.type, k, rows.rows, e.ld};
  Operand to = out;
  to.rows = k;
  const int64_t whole = rows.rows / device_e_slice, rest = rows.rows % device_e_slice, slices = whole + (rest > 0);
  const int64_t at_once = slices > 1 ? std::max<int64_t>(1, scratch_.slices_at_once / slices) : most_at_once;
  for (int64_t s = 0; s < to.count; s += at_once) {
    Operand right = rows.one(s), some = to.one(s);
    left.count = right.count = some.count = std::min(at_once, to.count - s);
    if (slices <= 1) {
      LINFORMER_TRY(product(left, right, false, some, false));
      continue;
    }
    LINFORMER_TRY(multiply_slices(left, right, {scratch(scratch_.slices), ElementType::f32, k, to.cols, to.cols}));
    const SumParts sum{some.floats(), some.ld, some.step, reinterpret_cast<float*>(scratch(scratch_.slices)),
                       to.cols,       k,       slices};
    LINFORMER_TRY(each_element(sum, k * some.count, to.cols));
  }
  return {};
}

// The products of each slice of E and of the rows: `part` is the first of the first sequence, whose others follow it,
// and then those of the next sequence. One call takes a slice of every sequence or every slice of one, whichever are
// more: few products of such shapes would leave most of a GPU idle.
Status CudaExecutor::multiply_slices(const Operand& e, const Operand& rows, const Operand& part) {
  const int64_t whole = e.cols / device_e_slice, rest = e.cols % device_e_slice, slices = whole + (rest > 0);
  const int64_t size = part.rows * part.cols;
  const auto multiply = [&](int64_t first_slice, int64_t first_sequence, int64_t length, int64_t count,
                            bool along_slices) {
    Operand left = e, right = rows, c = part;
    left.data += first_slice * device_e_slice * element_bytes(e.type);
    right.data += (first_sequence * rows.step + first_slice * device_e_slice * rows.ld) * element_bytes(rows.type);
    c.data += (first_sequence * slices + first_slice) * size * int64_t{sizeof(float)};
    left.cols = right.rows = length;
    left.count = right.count = c.count = count;
    left.step = along_slices ? device_e_slice : 0;
    right.step = along_slices ? device_e_slice * rows.ld : rows.step;
    c.step = along_slices ? size : slices * size;
    return product(left, right, false, c, false);
  };
  if (whole > rows.count) {
    for (int64_t s = 0; s < rows.count; ++s) LINFORMER_TRY(multiply(0, s, device_e_slice, whole, true));
  } else {
    for (int64_t i = 0; i < whole; ++i) LINFORMER_TRY(multiply(i, 0, device_e_slice, rows.count, false));
  }
  return rest > 0 ? multiply(whole, 0, rest, rows.count, false) : Status();
}

Status CudaExecutor::gemm(const Op& op, const Item& item) {
  const Operand out = operand(op.out, item);
  const float *bias = floats(op.bias), *row_bias = floats(op.row_bias);
  if (op.b.place != Place::weight) {
    // E times rows of the sequence.
    Operand rows = operand(op.b, item), made = out;
    rows.rows = item.n;
    if (item.stage.domain == Domain::source_columns) rows.cols = item.stage.extent;
    Result<Operand> narrow = narrowed(rows);
    if (!narrow.ok()) return narrow.status();
    made.rows = op.a.rows;
    LINFORMER_TRY(multiply_e(device_weights_->matrix(op.a), op.a.rows, *narrow, made));
    return finish(made, bias, row_bias, op.activation);
  }
  const DeviceTensor& weight = device_weights_->matrix(op.b);
  const Operand b{weight.data, weight.type, weight.rows, op.b.cols, weight.ld};
  // One product of all rows where they follow one another.
  Operand a = operand(op.a, item), c = out;
  if (c.follow() && a.follow()) {
    a = a.joined();
    c = c.joined();
  }
  bool adds = op.accumulate;
  if (op.residual.present()) {
    const Operand residual = operand(op.residual, item);
    if (residual.data != c.data) {
      LINFORMER_TRY(copy_converted(residual, c));
    }
    adds = true;
  }
  // Not of one column: cuBLASLt before 12 is said to add that wrongly.
  const bool adds_bias =
      bias != nullptr && row_bias == nullptr && c.type == ElementType::f32 && c.cols > 1 && aligned(bias);
  // Compressed rows are far fewer than others, and faster with another algorithm.
  const bool compressed = item.stage.domain == Domain::compressed_rows;
  const int64_t usual_rows = compressed ? item.stage.extent * program_.extents.sequences : 0;
  for (int64_t i = 0; i < a.count; ++i) {
    LINFORMER_TRY(product(a.one(i), b, true, c.one(i), adds, adds_bias ? bias : nullptr, usual_rows));
  }
  return finish(out, adds_bias ? nullptr : bias, row_bias, op.activation);
}

// out[j] += (E 1)[j] b: the part of E (Z W + 1 b^T) that (E Z) W lacks.
Status CudaExecutor::add_row_sums(const Op& op, const Item& item) {
  const DeviceTensor& e = device_weights_->matrix(op.a);
  float* const sums = reinterpret_cast<float*>(scratch(scratch_.sums));
  LINFORMER_TRY(typed(e.type, [&]<class T>(T*) {
    const EachRow<RowSums<T>> kernel{{reinterpret_cast<const T*>(e.data), e.ld, item.n, sums}, item.rows};
    return stream_->launch(kernel, kernel.grid());
  }));
  const Operand out = operand(op.out, item);
  for (int64_t i = 0; i < out.count; ++i) {
    const Operand c = out.one(i);
    LINFORMER_TRY(each_element(AddScaledBias{c.floats(), c.ld, sums, floats(op.bias)}, c.rows, c.cols));
  }
  return {};
}

// Compressed rows of texts of n rows, all rows of each.
Status CudaExecutor::scale_rows(LengthScale scale, const View& weight, int64_t n, const Operand& rows) {
  if (scale == LengthScale::none) return {};
  const DeviceTensor& e = device_weights_->matrix(weight);
  float* const factors = reinterpret_cast<float*>(scratch(scratch_.sums));
  LINFORMER_TRY(typed(e.type, [&]<class T>(T*) {
    const EachRow<LengthFactors<T>> kernel{{reinterpret_cast<const T*>(e.data), e.ld, n, weight.cols,
                                            scale == LengthScale::inverse_root, static_cast<float>(least_norm),
                                            factors},
                                           rows.rows};
    return stream_->launch(kernel, kernel.grid());
  }));
  for (int64_t i = 0; i < rows.count; ++i) {
    const Operand c = rows.one(i);
    LINFORMER_TRY(each_element(ScaleRow{c.floats(), c.ld, factors}, c.rows, c.cols));
  }
  return {};
}

// A head's keys or values from its columns of Z W.
Status CudaExecutor::compress(const Op& op, const Item& item) {
  const Attention& attention = attention_of(item);
  const KeyGroup& group = program_.group(attention, item.group);
  const HeadProjection& projection = group.projections[op.side];
  const int64_t n = item.n, d_head = attention.d_head;
  Operand from = operand(op.a, item), to = operand(op.out, item);
  from.data += group.column * int64_t{sizeof(float)};
  from.cols = d_head;
  from.rows = n;
  to.data += group.key_offset * int64_t{sizeof(float)};
  to.rows = projection.rows_of(n);
  const float *bias = floats(projection.bias), *row_bias = floats(projection.row_bias);
  if (projection.kind == ProjectionKind::mean_pool || projection.kind == ProjectionKind::max_pool) {
    for (int64_t i = 0; i < to.count; ++i) {
      const Operand x = from.one(i), y = to.one(i);
      LINFORMER_TRY(each_element(PoolWindows{y.floats(), y.ld, x.floats(), x.ld, std::min(projection.kernel, n),
                                             projection.stride, projection.kind == ProjectionKind::mean_pool},
                                 y.rows, y.cols));
    }
    return {};
  }
  Result<Operand> narrow = narrowed(from);
  if (!narrow.ok()) return narrow.status();
  const DeviceTensor& weight = device_weights_->matrix(projection.weight);
  if (projection.kind == ProjectionKind::linear) {
    LINFORMER_TRY(multiply_e(weight, projection.k, *narrow, to));
    LINFORMER_TRY(finish(to, bias, row_bias, Activation::none));
    return scale_rows(projection.length_scale, projection.weight, n, to);
  }
  // C = sum over t of (row t of every window) W_t^T. A rehearsal needs the taps whose algorithms differ, not all.
  const int64_t taps_here = std::min(projection.kernel, n);
  for (int64_t t = 0; t < (stream_->rehearses() ? std::min(taps_here, differing_taps) : taps_here); ++t) {
    Operand rows = *narrow, taps{weight.data, weight.type, d_head, d_head, weight.ld};
    rows.data += t * rows.ld * element_bytes(rows.type);
    if (to.rows > 1) rows.ld *= projection.stride;
    taps.data += t * d_head * weight.ld * element_bytes(weight.type);
    for (int64_t i = 0; i < to.count; ++i) LINFORMER_TRY(product(rows.one(i), taps, true, to.one(i), t > 0));
  }
  return finish(to, bias, nullptr, Activation::none);
}

}  // namespace LINFORMER_NAMESPACE::cuda
