// Ops that turn Z W, the product of a layer's rows and the weight of its keys or values, into the keys and values that
// queries read: they compress the rows of each head, or pack rows into panels.
// Source: section 4 of the Linformer paper ("additional efficiency techniques"); Nystromformer and
// tatp22/linformer-pytorch.
#include "cpu/ops/keys.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <new>

#include "base/checked.h"
#include "cpu/ops/declare.h"
#include "cpu/ops/run.h"

namespace LINFORMER_NAMESPACE::cpu {
namespace {

// Writes the mean or the maximum of each window of rows to `out`, one row for each window.
void pool_windows(const HeadProjection& projection, ConstMatrix rows, float* out) {
  const bool mean = projection.kind == ProjectionKind::mean_pool;
  const int64_t count = projection.key_count(rows.rows), length = std::min(projection.kernel, rows.rows);
  for (int64_t w = 0; w < count; ++w, out += rows.cols) {
    std::fill_n(out, rows.cols, mean ? 0.f : -std::numeric_limits<float>::infinity());
    for (int64_t t = 0; t < length; ++t) {
      const float* row = rows.row(w * projection.stride + t);
      for (int64_t i = 0; mean && i < rows.cols; ++i) out[i] += row[i];
      // Once out[i] is NaN, it stays NaN. A NaN in row[i] is taken over, because no number compares greater than it.
      for (int64_t i = 0; !mean && i < rows.cols; ++i) out[i] = out[i] != out[i] || out[i] > row[i] ? out[i] : row[i];
    }
    const float share = mean ? 1.f / static_cast<float>(length) : 1.f;
    for (int64_t i = 0; i < rows.cols; ++i) out[i] *= share;
  }
}

}  // namespace

RightMatrix whole_keys_or_values(const View& side, const KeyGroups& groups, int64_t group, int64_t d_head,
                                 bool transposed, const Context& context, const Item& item) {
  Item whole = item;
  whole.row = 0;
  const int64_t n = context.key_source_of(item).length(item.sequence);
  RightMatrix b{nullptr, side.type, side.layout, transposed ? d_head : n, transposed ? n : d_head, side.ld};
  if (side.layout == RightLayout::panel16) {
    // The panels of each group have room for f32. Panels in bf16 take half of that room.
    b.data = context.bytes(side, whole, group * round_up(n, panel_width) * round_up(d_head, panel_width));
  } else {
    b.layout = transposed ? RightLayout::transposed : RightLayout::row_major;
    b.data = context.bytes(side, whole, context.program.group(groups, group).column);
  }
  return b;
}

namespace {

// Declares the GEMMs that compress the keys or values of one head: E (Z W), or the first and the later taps of a
// convolution. Pooling needs none.
Status declare_packed_group(const ops::Compress& op, const KeyGroup& group, GemmIds::Group* ids,
                            const Declaration& to) {
  const int side = op.side;
  const HeadProjection& projection = group.projections[side];
  GemmDesc desc;
  desc.max_m = projection.k;
  desc.n = op.d_head;
  desc.bias = projection.bias.present();
  desc.row_bias = projection.row_bias.present();
  if (projection.kind == ProjectionKind::linear) {
    desc.layout = RightLayout::row_major;
    desc.left = projection.weight.type;
    desc.compute = to.program.target.compute_type(desc.left);
    desc.k = to.longest_source();
    desc.varying_k = true;
    return to.sink.add(desc, &ids->compress[side]);
  }
  if (projection.kind != ProjectionKind::convolution) return {};
  desc.layout = RightLayout::transposed;
  desc.k = op.d_head;
  LINFORMER_TRY(to.sink.add(desc, &ids->compress[side]));
  desc.bias = false;
  desc.accumulate = true;
  return to.sink.add(desc, &ids->compress_more[side]);
}

}  // namespace

Status declare_gemms(const ops::Compress& op, const Declaration& to) {
  for (int32_t g = 0; g < op.groups.count; ++g) {
    GemmIds::Group& ids = to.ids.groups[static_cast<size_t>(op.groups.first + g)];
    LINFORMER_TRY(declare_packed_group(op, to.program.group(op.groups, g), &ids, to));
  }
  return {};
}

Status run(const ops::Compress& op, const Context& context, const Item& item) {
  const KeyGroup& group = context.program.group(op.groups, item.group);
  const HeadProjection& projection = group.projections[op.side];
  const GemmIds::Group& ids = context.gemms.groups[static_cast<size_t>(op.groups.first + item.group)];
  const int64_t n = context.key_source_of(item).length(item.sequence), d_head = op.d_head;
  const float* projected = context.address<float>(op.projected, item) + group.column;
  float* out = context.address<float>(op.out, item) + group.key_offset;
  GemmArgs args;
  args.b.n = d_head;
  if (projection.kind == ProjectionKind::linear) {
    args.a = context.left(projection.weight, projection.k, n);
    args.b = {projected, ElementType::f32, RightLayout::row_major, n, d_head, op.projected.ld};
    args.c = MutableMatrix{out, projection.k, d_head, d_head};
    args.epilogue.row_bias = context.floats(projection.row_bias);
    args.epilogue.bias = context.floats(projection.bias);
    LINFORMER_TRY(context.provider->run(ids.compress[op.side], args, context.scratch(item.thread)));
    scale_by_length(projection.length_scale, projection.weight, 0, n, {out, projection.k, d_head, d_head}, context);
    return {};
  }
  if (projection.kind != ProjectionKind::convolution) {
    pool_windows(projection, {projected, n, d_head, op.projected.ld}, out);
    return {};
  }
  // The convolution is the sum over its taps t of (row t of every window) W_t^T.
  const int64_t rows = projection.key_count(n);
  for (int64_t t = 0; t < std::min(projection.kernel, n); ++t) {
    args.a = ConstMatrix{projected + t * op.projected.ld, rows, d_head, projection.stride * op.projected.ld};
    args.b = {context.floats(projection.weight) + t * d_head * d_head,
              ElementType::f32,
              RightLayout::transposed,
              d_head,
              d_head,
              d_head};
    args.c = MutableMatrix{out, rows, d_head, d_head};
    args.epilogue = {};
    args.epilogue.accumulate = t > 0;
    if (t == 0) args.epilogue.bias = context.floats(projection.bias);
    const int product = t == 0 ? ids.compress[op.side] : ids.compress_more[op.side];
    LINFORMER_TRY(context.provider->run(product, args, context.scratch(item.thread)));
  }
  return {};
}

Status run(const ops::PutTokens& op, const Context& context, const Item& item) {
  const Source source = context.key_source_of(item);
  const int64_t begin = source.starts[item.sequence], n = source.length(item.sequence);
  const int32_t* const ids = context.batch.ids + begin;
  const auto is_masked = [&](int64_t r) {
    return context.batch.has_masks && (source.masks[begin + r] & mask_row) != 0;
  };
  const MutableMatrix out = context.matrix(op.out, item);
  Item whole = item;
  whole.row = 0;
  const float* const rows = context.address<float>(op.rows, whole);
  for (int64_t j = item.row; j < std::min<int64_t>(item.row + item.rows, op.count); ++j) {
    const auto token = static_cast<int32_t>(op.tokens[j]);
    int64_t r = 0;
    while (r < n && (ids[r] != token || is_masked(r))) ++r;
    if (r < n) std::copy_n(rows + r * op.rows.ld, out.cols, out.row(j - item.row));
  }
  return {};
}

namespace {

void pack(const ConstMatrix& rows, bool transposed, ElementType type, void* to, const Context& context) {
  if (type == ElementType::bf16) {
    context.kernels.pack_panel_bf16(rows, transposed, static_cast<uint16_t*>(to));
  } else {
    context.kernels.pack_panel(rows, transposed, static_cast<float*>(to));
  }
}

}  // namespace

Status run(const ops::Pack& op, const Context& context, const Item& item) {
  const KeyGroup& group = context.program.group(op.groups, item.group);
  const int64_t k = group.projections[0].key_count(context.key_source_of(item).length(item.sequence));
  const ConstMatrix rows{context.address<float>(op.rows, item) + group.key_offset, k, op.d_head, op.rows.ld};
  pack(rows, op.transposed, op.out.type, context.bytes(op.out, item, group.panels_offset), context);
  return {};
}

Status run(const ops::PackRows& op, const Context& context, const Item& item) {
  const int64_t n = context.key_source_of(item).length(item.sequence);
  const int64_t column = context.program.group(op.groups, item.group).column;
  const ConstMatrix rows{context.address<float>(op.rows, item) + column, n, op.d_head, op.rows.ld};
  pack(rows, op.transposed, op.out.type, context.bytes(op.out, item, item.group * op.panels), context);
  return {};
}

// Packs the rows of a block into the panels of each group. The groups lie one after the other.
Status run(const ops::PackBlock& op, const Context& context, const Item& item) {
  const float* const projected = context.address<float>(op.rows, item);
  for (int32_t g = 0; g < op.groups.count; ++g) {
    const float* const group = projected + context.program.group(op.groups, g).column;
    const RightMatrix whole = whole_keys_or_values(op.out, op.groups, g, op.d_head, op.transposed, context, item);
    // The block's rows are whole panels of K^T, but only a part of each panel of V, so V is packed panel by panel.
    const int64_t at_once = op.transposed ? op.d_head : panel_width;
    for (int64_t col = 0; col < op.d_head; col += at_once) {
      const int64_t cols = std::min(at_once, op.d_head - col);
      const RightMatrix to =
          op.transposed ? whole.part(0, cols, item.row, item.rows) : whole.part(item.row, item.rows, col, cols);
      pack({group + col, item.rows, cols, op.rows.ld}, op.transposed, op.out.type, const_cast<void*>(to.data), context);
    }
  }
  return {};
}

Status fill_projection_table(const Context& context) {
  for (const ProjectionTable& table : context.program.projections) {
    const View& e = table.e;
    const std::unique_ptr<float[]> wide(new (std::nothrow) float[static_cast<size_t>(e.rows * table.n)]);
    if (!wide) return Status::error(Code::out_of_memory, "no memory for a projection's panels");
    for (int64_t row = 0; row < e.rows; ++row) {
      context.kernels.widen(e.type, context.tensor(e) + row * e.ld * element_bytes(e.type), wide.get() + row * table.n,
                            table.n);
    }
    const ConstMatrix rows{wide.get(), e.rows, table.n, table.n};
    float* const panels = context.buffer(BufferId::projection_table) + table.offset;
    if (table.compute == ElementType::bf16) {
      context.kernels.pack_panel_bf16(rows, table.transposed, reinterpret_cast<uint16_t*>(panels));
    } else {
      context.kernels.pack_panel(rows, table.transposed, panels);
    }
  }
  return {};
}

}  // namespace LINFORMER_NAMESPACE::cpu
