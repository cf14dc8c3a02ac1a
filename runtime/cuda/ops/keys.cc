#include <algorithm>

#include "cuda/ops/check.h"
#include "cuda/ops/run.h"
#include "cuda/products.h"
#include "cuda/rows.h"

namespace LINFORMER_NAMESPACE::cuda {
namespace {

// The number of taps of a convolution that may need different algorithms. The first tap doesn't add to the sums. The
// others begin at one of eight alignments.
constexpr int64_t differing_taps = 9;

}  // namespace

Status no_kernel(OpKind kind) {
  return Status::error(Code::unsupported, "the op '%s' has no kernel on a GPU: use the CPU", name_of(kind));
}

// Computes the keys or values of a group of heads from its columns of Z W.
Status run(const ops::Compress& op, Context& context, const Item& item) {
  const KeyGroup& group = context.program.group(op.groups, item.group);
  const HeadProjection& projection = group.projections[op.side];
  const int64_t n = item.n, d_head = op.d_head;
  Operand from = context.operand(op.projected, item), to = context.operand(op.out, item);
  from.data += group.column * int64_t{sizeof(float)};
  from.cols = d_head;
  from.rows = n;
  to.data += group.key_offset * int64_t{sizeof(float)};
  to.rows = projection.key_count(n);
  const float *bias = context.floats(projection.bias), *row_bias = context.floats(projection.row_bias);
  if (projection.kind == ProjectionKind::mean_pool || projection.kind == ProjectionKind::max_pool) {
    for (int64_t i = 0; i < to.count; ++i) {
      const Operand x = from.matrix_at(i), y = to.matrix_at(i);
      LINFORMER_TRY(
          context.launch_each_element(PoolWindows{y.floats(), y.ld, x.floats(), x.ld, std::min(projection.kernel, n),
                                                  projection.stride, projection.kind == ProjectionKind::mean_pool},
                                      y.rows, y.cols));
    }
    return {};
  }
  Result<Operand> narrow = narrowed(context, from);
  if (!narrow.ok()) return narrow.status();
  const DeviceTensor& weight = context.weights->matrix(projection.weight);
  if (projection.kind == ProjectionKind::linear) {
    LINFORMER_TRY(multiply_e(context, weight, projection.k, *narrow, to));
    LINFORMER_TRY(finish(context, to, bias, row_bias, Activation::none));
    return scale_by_length(context, projection.length_scale, projection.weight, n, to);
  }
  // Convolution: C = sum over t of (row t of every window) W_t^T. A dry run only needs the taps whose algorithms
  // differ.
  const int64_t taps_here = std::min(projection.kernel, n);
  for (int64_t t = 0; t < (context.stream->in_dry_run() ? std::min(taps_here, differing_taps) : taps_here); ++t) {
    Operand rows = *narrow, taps{weight.data, weight.type, d_head, d_head, weight.ld};
    rows.data += t * rows.ld * element_bytes(rows.type);
    if (to.rows > 1) rows.ld *= projection.stride;
    taps.data += t * d_head * weight.ld * element_bytes(weight.type);
    for (int64_t i = 0; i < to.count; ++i) {
      LINFORMER_TRY(product(context, rows.matrix_at(i), taps, true, to.matrix_at(i), t > 0));
    }
  }
  return finish(context, to, bias, nullptr, Activation::none);
}

Status run(const ops::PutTokens& op, Context& context, const Item& item) {
  static_assert(PutTokens::most_tokens == max_exact_tokens);
  const Operand rows = context.operand(op.rows, item), out = context.operand(op.out, item);
  const int64_t begin = context.key_source_of(item).host_starts[item.sequence];
  PutTokens put{out.floats(),
                out.ld,
                out.step,
                rows.floats(),
                rows.ld,
                context.device_buffer_as<int32_t>(BufferId::ids) + begin,
                context.batch.has_masks ? context.device_buffer_as<uint8_t>(BufferId::masks) + begin : nullptr,
                item.n,
                out.cols,
                op.count,
                {}};
  std::copy_n(op.tokens, op.count, put.tokens);
  const EachRow<PutTokens> kernel{put, item.count * op.count};
  return context.stream->launch(kernel, kernel.grid());
}

// These ops are refused. A program for a GPU doesn't contain them, because only the kernels of CPUs read panels.
Status check_supported(const ops::Pack&) { return no_kernel(OpKind::pack); }
Status check_supported(const ops::PackRows&) { return no_kernel(OpKind::pack_rows); }
Status check_supported(const ops::PackBlock&) { return no_kernel(OpKind::pack_block); }
Status run(const ops::Pack& op, Context&, const Item&) { return check_supported(op); }
Status run(const ops::PackRows& op, Context&, const Item&) { return check_supported(op); }
Status run(const ops::PackBlock& op, Context&, const Item&) { return check_supported(op); }

}  // namespace LINFORMER_NAMESPACE::cuda
