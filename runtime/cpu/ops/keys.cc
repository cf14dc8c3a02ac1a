// Keys and values on their way from Z W to what queries read: compressed head by head, or packed as panels.
// Source: paper section 4 ("additional efficiency techniques"); Nystromformer and tatp22/linformer-pytorch.
#include "cpu/ops/keys.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <new>

#include "base/checked.h"
#include "cpu/ops/run.h"

namespace LINFORMER_NAMESPACE::cpu {
namespace {

// out[window, :] = the mean or maximum of the window's rows.
void pool_windows(const HeadProjection& projection, ConstMatrix rows, float* out) {
  const bool mean = projection.kind == ProjectionKind::mean_pool;
  const int64_t count = projection.rows_of(rows.rows), length = std::min(projection.kernel, rows.rows);
  for (int64_t w = 0; w < count; ++w, out += rows.cols) {
    std::fill_n(out, rows.cols, mean ? 0.f : -std::numeric_limits<float>::infinity());
    for (int64_t t = 0; t < length; ++t) {
      const float* row = rows.row(w * projection.stride + t);
      for (int64_t i = 0; mean && i < rows.cols; ++i) out[i] += row[i];
      // A NaN stays.
      for (int64_t i = 0; !mean && i < rows.cols; ++i) out[i] = out[i] != out[i] || out[i] > row[i] ? out[i] : row[i];
    }
    const float share = mean ? 1.f / static_cast<float>(length) : 1.f;
    for (int64_t i = 0; i < rows.cols; ++i) out[i] *= share;
  }
}

}  // namespace

RightMatrix full_side(const Attention& attention, const Source& source, int64_t sequence, int64_t group, bool of_keys,
                      const Context& context) {
  const int64_t n = source.length(sequence), d_head = attention.d_head;
  const int64_t begin = source.panel_start(sequence) * context.program.full_width;
  RightMatrix whole;
  whole.type = attention.compute;
  whole.k = of_keys ? d_head : n;
  whole.n = of_keys ? n : d_head;
  if (context.program.target.packs) {
    // Room for f32; bf16 takes half of it.
    const int64_t room = round_up(n, panel_width) * round_up(d_head, panel_width);
    whole.data = context.buffer(of_keys ? BufferId::compressed_key : BufferId::compressed_value) + begin + group * room;
    return whole;
  }
  whole.layout = of_keys ? RightLayout::transposed : RightLayout::row_major;
  whole.ld = attention.key_ld;
  whole.data = context.buffer(of_keys || attention.value_is_key ? BufferId::keys : BufferId::values) + begin +
               context.program.group(attention, group).column;
  return whole;
}

Status run(const ops::Compress& op, const Context& context, const Item& item) {
  const Attention& attention = context.attention_of(item);
  const KeyGroup& group = context.program.group(attention, item.group);
  const HeadProjection& projection = group.projections[op.side];
  const GemmIds::Group& ids = context.gemms.groups[static_cast<size_t>(attention.first_group + item.group)];
  const int64_t n = context.source_of(attention).length(item.sequence), d_head = attention.d_head;
  Item whole = item;
  whole.row = 0;
  const float* projected = context.address(op.projected, whole) + group.column;
  float* out = context.address(op.out, whole) + group.key_offset;
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
  // C = sum over t of (row t of every window) W_t^T.
  const int64_t rows = projection.rows_of(n);
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

Status run(const ops::Pack&, const Context& context, const Item& item) {
  const Attention& attention = context.attention_of(item);
  const KeyGroup& group = context.program.group(attention, item.group);
  const int64_t k = group.projections[0].rows_of(context.source_of(attention).length(item.sequence));
  const int64_t place = item.sequence * context.program.key_slot + group.key_offset;
  const int64_t panels = item.sequence * context.program.compressed_slot + group.panels_offset;
  const float* values = context.buffer(attention.value_is_key ? BufferId::keys : BufferId::values);
  const ConstMatrix key_rows{context.buffer(BufferId::keys) + place, k, attention.d_head, attention.key_ld};
  const ConstMatrix value_rows{values + place, k, attention.d_head, attention.key_ld};
  float* key_panels = context.buffer(BufferId::compressed_key) + panels;
  float* value_panels = context.buffer(BufferId::compressed_value) + panels;
  if (attention.compute == ElementType::bf16) {
    context.kernels.pack_panel_bf16(key_rows, true, reinterpret_cast<uint16_t*>(key_panels));
    context.kernels.pack_panel_bf16(value_rows, false, reinterpret_cast<uint16_t*>(value_panels));
    return {};
  }
  context.kernels.pack_panel(key_rows, true, key_panels);
  context.kernels.pack_panel(value_rows, false, value_panels);
  return {};
}

// Of a short sequence what keys and values are compressed from, to where others have keys and values.
Status run(const ops::PackRows&, const Context& context, const Item& item) {
  const Attention& attention = context.attention_of(item);
  const int64_t n = context.source_of(attention).length(item.sequence);
  const int64_t column = context.program.groups[static_cast<size_t>(attention.first_group + item.group)].column;
  const int64_t to = item.sequence * context.program.key_slot + item.group * attention.short_panels;
  for (const bool of_keys : {true, false}) {
    const bool is_key = of_keys || attention.value_is_key;
    const float* projected = context.buffer(is_key ? BufferId::compressed_key : BufferId::compressed_value);
    const ConstMatrix rows{projected + item.sequence * context.program.compressed_slot + column, n, attention.d_head,
                           attention.key_width};
    float* const panels = context.buffer(of_keys ? BufferId::keys : BufferId::values) + to;
    if (attention.compute == ElementType::bf16) {
      context.kernels.pack_panel_bf16(rows, of_keys, reinterpret_cast<uint16_t*>(panels));
    } else {
      context.kernels.pack_panel(rows, of_keys, panels);
    }
  }
  return {};
}

// Full attention: a block's K or V as panels. Head after head, K^T lies there whole, V in one block of panels for each
// block of rows.
Status run(const ops::PackBlock& op, const Context& context, const Item& item) {
  const Attention& attention = context.attention_of(item);
  const Source source = context.source_of(attention);
  const float* projected = context.address(op.projected, item);
  const bool of_keys = op.side == 0;
  for (int32_t g = 0; g < attention.groups; ++g) {
    const float* const group = projected + context.program.group(attention, g).column;
    const RightMatrix whole = full_side(attention, source, item.sequence, g, of_keys, context);
    // Of K^T these rows are whole panels, of V a part of each.
    const int64_t at_once = of_keys ? attention.d_head : panel_width;
    for (int64_t col = 0; col < attention.d_head; col += at_once) {
      const int64_t cols = std::min(at_once, attention.d_head - col);
      const ConstMatrix rows{group + col, item.rows, cols, op.projected.ld};
      const RightMatrix to =
          of_keys ? whole.part(0, cols, item.row, item.rows) : whole.part(item.row, item.rows, col, cols);
      if (attention.compute == ElementType::bf16) {
        context.kernels.pack_panel_bf16(rows, of_keys, static_cast<uint16_t*>(const_cast<void*>(to.data)));
      } else {
        context.kernels.pack_panel(rows, of_keys, static_cast<float*>(const_cast<void*>(to.data)));
      }
    }
  }
  return {};
}

Status fill_projections(const Context& context) {
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
