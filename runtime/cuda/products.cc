#include "cuda/products.h"

#include <algorithm>

#include "cuda/rows.h"

namespace LINFORMER_NAMESPACE::cuda {
namespace {

constexpr int64_t most_at_once = 1 << 15;  // Products in one call. cuBLASLt is limited by the 65,535 blocks of a grid.

}  // namespace

Status product(Context& context, const Operand& a, const Operand& b, bool transposed, const Operand& c, bool adds,
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
  p.batched = !transposed;  // A call with one sequence then uses the algorithm of calls with several.
  p.count = c.count;
  p.a_step = a.step;
  p.b_step = b.step;
  p.c_step = c.step;
  return context.stream->multiply(p);
}

Status finish(Context& context, const Operand& all, const float* bias, const float* row_bias, Activation activation) {
  if (bias == nullptr && row_bias == nullptr && activation == Activation::none) return {};
  const Operand joined = all.as_one_matrix();
  for (int64_t i = 0; i < joined.count; ++i) {
    const Operand c = joined.matrix_at(i);
    LINFORMER_TRY(with_element_type(c.type, [&]<class T>(T*) {
      constexpr int width = 16 / sizeof(T);
      T* const data = reinterpret_cast<T*>(c.data);
      const bool whole = c.cols % width == 0 && c.ld % width == 0 && aligned(data) && aligned(bias);
      Status done;
      if (whole || context.stream->in_dry_run()) {
        done = context.launch_each_element(
            AddBiasAndActivate<T, width>{data, c.ld, bias, row_bias, all.rows, activation}, c.rows, c.cols / width);
      }
      if (!done.ok() || (whole && !context.stream->in_dry_run())) return done;
      return context.launch_each_element(AddBiasAndActivate<T, 1>{data, c.ld, bias, row_bias, all.rows, activation},
                                         c.rows, c.cols);
    }));
  }
  return {};
}

Status copy_converted(Context& context, const Operand& from, const Operand& to) {
  const bool one = from.rows == to.rows && from.forms_one_matrix() && to.forms_one_matrix();
  const Operand x = one ? from.as_one_matrix() : from, y = one ? to.as_one_matrix() : to;
  return with_element_type(to.type, [&]<class T>(T*) {
    constexpr int width = 4;
    T* const out = reinterpret_cast<T*>(y.data);
    const auto copy = [&]<int columns>(Copy<T, columns> kernel) {
      kernel = {out, y.ld, y.step, x.floats(), x.ld, x.step, x.rows, y.rows};
      return context.launch_each_element(kernel, y.rows * y.count, x.cols / columns);
    };
    const bool whole = x.cols % width == 0 && x.ld % width == 0 && y.ld % width == 0 && x.step % width == 0 &&
                       y.step % width == 0 && aligned(out) && aligned(x.data);
    Status done;
    if (whole || context.stream->in_dry_run()) done = copy(Copy<T, width>{});
    if (!done.ok() || (whole && !context.stream->in_dry_run())) return done;
    return copy(Copy<T, 1>{});
  });
}

Result<Operand> narrowed(Context& context, const Operand& x) {
  if (context.type == ElementType::f32) return x;
  Operand to = x;
  to.data = context.scratch(context.regions.narrow);
  to.type = context.type;
  to.rows = round_up(x.rows, device_row_multiple);
  to.ld = round_up(x.cols, device_row_multiple);
  to.step = to.rows * to.ld;
  if (to.step * to.count > context.regions.narrow_elements) {
    return Status::error(Code::internal, "rows don't fit into their buffer");
  }
  LINFORMER_TRY(copy_converted(context, x, to));
  return to;
}

namespace {

// Multiplies each slice of E by the same slice of the rows. `part` is the place for the result of the first sequence's
// first slice. Results are stored by sequence, and for each sequence by slice. A batched call multiplies one slice of
// all sequences, or all slices of one sequence, whichever has more products, because few products don't keep a GPU
// busy.
Status multiply_slices(Context& context, const Operand& e, const Operand& rows, const Operand& part) {
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
    return product(context, left, right, false, c, false);
  };
  if (whole > rows.count) {
    for (int64_t s = 0; s < rows.count; ++s) LINFORMER_TRY(multiply(0, s, device_e_slice, whole, true));
  } else {
    for (int64_t i = 0; i < whole; ++i) LINFORMER_TRY(multiply(i, 0, device_e_slice, rows.count, false));
  }
  return rest > 0 ? multiply(whole, 0, rest, rows.count, false) : Status();
}

}  // namespace

Status multiply_e(Context& context, const DeviceTensor& e, int64_t k, const Operand& rows, const Operand& out) {
  Operand left{e.data, e.type, k, rows.rows, e.ld};
  Operand to = out;
  to.rows = k;
  const int64_t whole = rows.rows / device_e_slice, rest = rows.rows % device_e_slice, slices = whole + (rest > 0);
  const int64_t at_once = slices > 1 ? std::max<int64_t>(1, context.regions.slices_at_once / slices) : most_at_once;
  for (int64_t s = 0; s < to.count; s += at_once) {
    Operand right = rows.matrix_at(s), some = to.matrix_at(s);
    left.count = right.count = some.count = std::min(at_once, to.count - s);
    if (slices <= 1) {
      LINFORMER_TRY(product(context, left, right, false, some, false));
      continue;
    }
    LINFORMER_TRY(multiply_slices(context, left, right,
                                  {context.scratch(context.regions.slices), ElementType::f32, k, to.cols, to.cols}));
    const SumParts sum{
        some.floats(), some.ld, some.step, reinterpret_cast<float*>(context.scratch(context.regions.slices)),
        to.cols,       k,       slices};
    LINFORMER_TRY(context.launch_each_element(sum, k * some.count, to.cols));
  }
  return {};
}

}  // namespace LINFORMER_NAMESPACE::cuda
