// Keys and values on their way from Z W to what queries read: compressed head by head, or packed as panels.
// Source: paper section 4 ("additional efficiency techniques"); Nystromformer and tatp22/linformer-pytorch.
#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

#include "base/checked.h"
#include "cpu/executor.h"

namespace LINFORMER_NAMESPACE {
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

double sum_of_squares(const Kernels& kernels, const View& e, const std::byte* row, int64_t from, int64_t to) {
  constexpr int lanes = 8;  // a fixed order of summation
  constexpr int64_t chunk = 32 * lanes;
  double sums[lanes] = {}, sum = 0;
  float wide[chunk];
  for (int64_t t = from; t < to; t += chunk) {
    const int64_t count = std::min(chunk, to - t);
    kernels.widen(e.type, row + t * element_bytes(e.type), wide, count);
    for (int64_t i = 0; i < count; ++i) sums[i % lanes] += double{wide[i]} * double{wide[i]};
  }
  for (const double lane : sums) sum += lane;
  return sum;
}

}  // namespace

void CpuExecutor::scale_rows(LengthScale scale, const View& e, int64_t first, int64_t n,
                             const MutableMatrix& rows) const {
  if (scale == LengthScale::none) return;
  float factor = 1.f / std::sqrt(static_cast<float>(n));
  for (int64_t j = 0; j < rows.rows; ++j) {
    if (scale == LengthScale::restored_norm) {
      const std::byte* row = tensor(e) + (first + j) * e.ld * element_bytes(e.type);
      const double used = sum_of_squares(kernels_, e, row, 0, n), rest = sum_of_squares(kernels_, e, row, n, e.cols);
      factor = static_cast<float>(std::sqrt(used + rest) / std::max(std::sqrt(used), least_norm));
    }
    for (int64_t i = 0; i < rows.cols; ++i) rows.row(j)[i] *= factor;
  }
}

void CpuExecutor::scale_by_length(const Op& op, const Item& item) const {
  scale_rows(op.length_scale, op.a, item.row, source_of(attention_of(item)).length(item.sequence),
             matrix(op.out, item));
}

Status CpuExecutor::compress(const Op& op, const Item& item) const {
  const Attention& attention = attention_of(item);
  const KeyGroup& group = program_.group(attention, item.group);
  const HeadProjection& projection = group.projections[op.side];
  const GemmIds::Group& ids = gemms_.groups[static_cast<size_t>(attention.first_group + item.group)];
  const int64_t n = source_of(attention).length(item.sequence), d_head = attention.d_head;
  Item whole = item;
  whole.row = 0;
  const float* projected = address(op.a, whole) + group.column;
  float* out = address(op.out, whole) + group.key_offset;
  GemmArgs args;
  args.b.n = d_head;
  if (projection.kind == ProjectionKind::linear) {
    args.a = left(projection.weight, projection.k, n);
    args.b = {projected, ElementType::f32, RightLayout::row_major, n, d_head, op.a.ld};
    args.c = MutableMatrix{out, projection.k, d_head, d_head};
    args.epilogue.row_bias = floats(projection.row_bias);
    args.epilogue.bias = floats(projection.bias);
    LINFORMER_TRY(provider_->run(ids.compress[op.side], args, scratch(item.thread)));
    scale_rows(projection.length_scale, projection.weight, 0, n, {out, projection.k, d_head, d_head});
    return {};
  }
  if (projection.kind != ProjectionKind::convolution) {
    pool_windows(projection, {projected, n, d_head, op.a.ld}, out);
    return {};
  }
  // C = sum over t of (row t of every window) W_t^T.
  const int64_t rows = projection.rows_of(n);
  for (int64_t t = 0; t < std::min(projection.kernel, n); ++t) {
    args.a = ConstMatrix{projected + t * op.a.ld, rows, d_head, projection.stride * op.a.ld};
    args.b = {floats(projection.weight) + t * d_head * d_head,
              ElementType::f32,
              RightLayout::transposed,
              d_head,
              d_head,
              d_head};
    args.c = MutableMatrix{out, rows, d_head, d_head};
    args.epilogue = {};
    args.epilogue.accumulate = t > 0;
    if (t == 0) args.epilogue.bias = floats(projection.bias);
    LINFORMER_TRY(
        provider_->run(t == 0 ? ids.compress[op.side] : ids.compress_more[op.side], args, scratch(item.thread)));
  }
  return {};
}

void CpuExecutor::pack(const Item& item) const {
  const Attention& attention = attention_of(item);
  const KeyGroup& group = program_.group(attention, item.group);
  const int64_t k = group.projections[0].rows_of(source_of(attention).length(item.sequence));
  const int64_t place = item.sequence * program_.key_slot + group.key_offset;
  const int64_t panels = item.sequence * program_.compressed_slot + group.panels_offset;
  const float* values = buffer(attention.value_is_key ? BufferId::keys : BufferId::values);
  const ConstMatrix key_rows{buffer(BufferId::keys) + place, k, attention.d_head, attention.key_ld};
  const ConstMatrix value_rows{values + place, k, attention.d_head, attention.key_ld};
  float* key_panels = buffer(BufferId::compressed_key) + panels;
  float* value_panels = buffer(BufferId::compressed_value) + panels;
  if (attention.compute == ElementType::bf16) {
    kernels_.pack_panel_bf16(key_rows, true, reinterpret_cast<uint16_t*>(key_panels));
    kernels_.pack_panel_bf16(value_rows, false, reinterpret_cast<uint16_t*>(value_panels));
    return;
  }
  kernels_.pack_panel(key_rows, true, key_panels);
  kernels_.pack_panel(value_rows, false, value_panels);
}

// Of a short sequence what keys and values are compressed from, to where others have keys and values.
void CpuExecutor::pack_rows(const Item& item) const {
  const Attention& attention = attention_of(item);
  const int64_t n = source_of(attention).length(item.sequence);
  const int64_t column = program_.groups[static_cast<size_t>(attention.first_group + item.group)].column;
  const int64_t to = item.sequence * program_.key_slot + item.group * attention.short_panels;
  for (const bool of_keys : {true, false}) {
    const bool is_key = of_keys || attention.value_is_key;
    const float* projected = buffer(is_key ? BufferId::compressed_key : BufferId::compressed_value);
    const ConstMatrix rows{projected + item.sequence * program_.compressed_slot + column, n, attention.d_head,
                           attention.key_width};
    float* const panels = buffer(of_keys ? BufferId::keys : BufferId::values) + to;
    if (attention.compute == ElementType::bf16) {
      kernels_.pack_panel_bf16(rows, of_keys, reinterpret_cast<uint16_t*>(panels));
    } else {
      kernels_.pack_panel(rows, of_keys, panels);
    }
  }
}

// E and E^T as panels, once for a session.
Status CpuExecutor::fill_projections() {
  for (const ProjectionTable& table : program_.projections) {
    const View& e = table.e;
    const std::unique_ptr<float[]> wide(new (std::nothrow) float[static_cast<size_t>(e.rows * table.n)]);
    if (!wide) return Status::error(Code::out_of_memory, "no memory for a projection's panels");
    for (int64_t row = 0; row < e.rows; ++row) {
      kernels_.widen(e.type, tensor(e) + row * e.ld * element_bytes(e.type), wide.get() + row * table.n, table.n);
    }
    const ConstMatrix rows{wide.get(), e.rows, table.n, table.n};
    float* const panels = buffer(BufferId::projection_table) + table.offset;
    if (table.compute == ElementType::bf16) {
      kernels_.pack_panel_bf16(rows, table.transposed, reinterpret_cast<uint16_t*>(panels));
    } else {
      kernels_.pack_panel(rows, table.transposed, panels);
    }
  }
  return {};
}

// Full attention: a block's K or V as panels. Head after head, K^T lies there whole, V in one block of panels for each
// block of rows.
void CpuExecutor::pack_block(const Op& op, const Item& item) const {
  const Attention& attention = attention_of(item);
  const Source source = source_of(attention);
  const float* projected = address(op.a, item);
  const bool of_keys = op.side == 0;
  for (int32_t g = 0; g < attention.groups; ++g) {
    const float* const group = projected + program_.group(attention, g).column;
    const RightMatrix whole = full_side(attention, source, item.sequence, g, of_keys);
    // Of K^T these rows are whole panels, of V a part of each.
    const int64_t at_once = of_keys ? attention.d_head : panel_width;
    for (int64_t col = 0; col < attention.d_head; col += at_once) {
      const int64_t cols = std::min(at_once, attention.d_head - col);
      const ConstMatrix rows{group + col, item.rows, cols, op.a.ld};
      const RightMatrix to =
          of_keys ? whole.part(0, cols, item.row, item.rows) : whole.part(item.row, item.rows, col, cols);
      if (attention.compute == ElementType::bf16) {
        kernels_.pack_panel_bf16(rows, of_keys, static_cast<uint16_t*>(const_cast<void*>(to.data)));
      } else {
        kernels_.pack_panel(rows, of_keys, static_cast<float*>(const_cast<void*>(to.data)));
      }
    }
  }
}

}  // namespace LINFORMER_NAMESPACE
