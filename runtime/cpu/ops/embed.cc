#include <algorithm>

#include "cpu/ops/run.h"

namespace LINFORMER_NAMESPACE::cpu {
namespace {

// Adds row indices[r] of a table to each row r of `to`. The table may have any element type.
template <class Index>
void add_table_rows(const View& to, const View& table, const Index* indices, const Context& context, const Item& item) {
  const MutableMatrix out = context.matrix(to, item);
  const int64_t row_bytes = table.ld * element_bytes(table.type);
  const std::byte* const first =
      table.place == Place::weight ? context.tensor(table) : context.buffer<std::byte>(table.buffer);
  const float* steps = table.place == Place::weight ? context.scales(table) : nullptr;
  constexpr int64_t chunk = 256;
  float wide[chunk];
  for (int64_t r = 0; r < out.rows; ++r) {
    const std::byte* row = first + indices[item.row + r] * row_bytes;
    if (table.type == ElementType::f32) {
      context.kernels.add(out.row(r), reinterpret_cast<const float*>(row), out.cols);
      continue;
    }
    for (int64_t i = 0; i < out.cols; i += chunk) {
      const int64_t count = std::min(chunk, out.cols - i);
      context.kernels.widen(table.type, row + i * element_bytes(table.type), wide, count);
      if (steps != nullptr) context.kernels.scale_rows({wide, 1, count, count}, steps + indices[item.row + r]);
      context.kernels.add(out.row(r) + i, wide, count);
    }
  }
}

}  // namespace

Status run(const ops::Gather& op, const Context& context, const Item& item) {
  const MutableMatrix out = context.matrix(op.out, item);
  const std::byte* table = context.tensor(op.table);
  const float* steps = context.scales(op.table);
  const int64_t row_bytes = op.table.ld * element_bytes(op.table.type);
  for (int64_t r = 0; r < out.rows; ++r) {
    float* row = out.row(r);
    const int32_t token = context.batch.ids[item.row + r];
    // The rows of two tokens may lie far apart in memory, so the next token's row is prefetched while this one is
    // widened.
    if (r + 1 < out.rows) {
      const std::byte* next = table + context.batch.ids[item.row + r + 1] * row_bytes;
      for (int64_t byte = 0; byte < row_bytes; byte += 64) __builtin_prefetch(next + byte);
    }
    context.kernels.widen(op.table.type, table + token * row_bytes, row, out.cols);
    if (steps != nullptr) context.kernels.scale_rows({row, 1, out.cols, out.cols}, steps + token);
    if (op.scale != 1.f) context.kernels.scale_rows({row, 1, out.cols, out.cols}, &op.scale);
  }
  return {};
}

Status run(const ops::AddPosition& op, const Context& context, const Item& item) {
  add_table_rows(op.out, op.table, context.batch.positions, context, item);
  return {};
}

Status run(const ops::AddType& op, const Context& context, const Item& item) {
  add_table_rows(op.out, op.table, context.batch.types, context, item);
  return {};
}

Status run(const ops::ReadVectors& op, const Context& context, const Item& item) {
  const MutableMatrix out = context.matrix(op.out, item);
  int64_t sequence = context.batch.sequence_of(item.row);
  for (int64_t r = 0; r < out.rows; ++r) {
    while (item.row + r >= context.batch.row_starts[sequence + 1]) ++sequence;
    const int32_t vector = context.batch.ids[item.row + r];
    if (vector < 0) {
      std::fill_n(out.row(r), out.cols, 0.f);
    } else {
      std::copy_n(context.batch.vectors(context.batch.inputs, sequence) + vector * out.cols, out.cols, out.row(r));
    }
  }
  return {};
}

Status run(const ops::PutPrefix& op, const Context& context, const Item& item) {
  const MutableMatrix out = context.matrix(op.out, item);
  for (int64_t r = 0; r < out.rows; ++r) {
    if (context.batch.ids[item.row + r] < 0) std::copy_n(context.floats(op.prefix), out.cols, out.row(r));
  }
  return {};
}

}  // namespace LINFORMER_NAMESPACE::cpu
