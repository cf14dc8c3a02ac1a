#include "cuda/ops/norm.h"

#include "cuda/ops/run.h"
#include "cuda/rows.h"

namespace LINFORMER_NAMESPACE::cuda {

namespace {

Status norm_rows(const ops::Norm& op, const Operand& from, const Operand& out, const Operand& narrow,
                 Context& context) {
  const float *scale = context.floats(op.scale), *bias = context.floats(op.bias);
  const int64_t parts = op.out.cols / op.scale.cols;
  return with_element_type(narrow.type, [&]<class T>(T*) {
    T* const rounded = reinterpret_cast<T*>(narrow.data);
    const auto run = [&]<int width>(Norm<T, width> norm) {
      norm = {from.floats(), from.ld,       out.floats(), out.ld,     scale,
              bias,          op.scale.cols, parts,        op.epsilon, op.kind == NormKind::layer,
              rounded,       narrow.ld};
      const EachRow<Norm<T, width>> kernel{norm, out.rows * parts};
      return context.stream->launch(kernel, kernel.grid());
    };
    const bool whole = (op.scale.cols | from.ld | out.ld | narrow.ld) % 4 == 0 && aligned(from.data) &&
                       aligned(out.data) && aligned(scale) && aligned(bias) && aligned(rounded);
    Status done;
    if (whole || context.stream->in_dry_run()) done = run(Norm<T, 4>{});
    if (!done.ok() || (whole && !context.stream->in_dry_run())) return done;
    return run(Norm<T, 1>{});
  });
}

}  // namespace

Status norm(const ops::Norm& op, const ops::Convert* convert, Context& context, const Item& item) {
  const Operand out = context.operand(op.out, item), from = context.operand(op.from, item);
  const Operand narrow = convert != nullptr ? context.operand(convert->out, item) : Operand();
  // The keys of several sequences are separate matrices, so each of them has a launch.
  for (int64_t i = 0; i < out.count; ++i) {
    LINFORMER_TRY(norm_rows(op, from.matrix_at(i), out.matrix_at(i), narrow.matrix_at(i), context));
  }
  return {};
}

Status run(const ops::Norm& op, Context& context, const Item& item) { return norm(op, nullptr, context, item); }

}  // namespace LINFORMER_NAMESPACE::cuda
