#include <algorithm>

#include "cpu/ops/run.h"

namespace LINFORMER_NAMESPACE::cpu {

Status run(const ops::Zero& op, const Context& context, const Item& item) {
  const MutableMatrix out = context.matrix(op.out, item);
  const bool of_source = item.stage.domain == Domain::source_rows;
  const uint8_t* masks = context.batch.masks + item.row;
  if (of_source) {
    const Source source = context.key_source_of(item);
    masks = source.masks + source.starts[item.sequence] + item.row;
  }
  if (op.which == ZeroRows::masked && !context.batch.has_masks) return {};
  const auto is_masked = [&](int64_t r) {
    const bool first_only = item.stage.domain == Domain::first_rows;
    return (masks[first_only ? context.batch.row_starts[item.row + r] - item.row : r] & mask_row) != 0;
  };
  for (int64_t r = 0; r < out.rows; ++r) {
    const bool zeroed =
        op.which == ZeroRows::all ||
        (op.which == ZeroRows::pads ? context.batch.ids[item.row + r] == context.program.pad_id : is_masked(r));
    if (zeroed) std::fill_n(out.row(r), out.cols, 0.f);
  }
  return {};
}

Status run(const ops::Copy& op, const Context& context, const Item& item) {
  const MutableMatrix from = context.matrix(op.from, item), to = context.matrix(op.out, item);
  for (int64_t r = 0; r < to.rows; ++r) std::copy_n(from.row(r), to.cols, to.row(r));
  return {};
}

Status run(const ops::Convert& op, const Context& context, const Item& item) {
  const MutableMatrix from = context.matrix(op.from, item);
  if (op.out.type == ElementType::bf16) {
    context.kernels.round_rows(from, {context.address<uint16_t>(op.out, item), from.rows, from.cols, op.out.ld});
    return {};
  }
  uint8_t* const codes = context.address<uint8_t>(op.out, item);
  RowScale* const scales = reinterpret_cast<RowScale*>(codes + int8_codes_bytes(from.cols));
  const int64_t scales_ld = op.out.ld / static_cast<int64_t>(sizeof(RowScale));
  context.kernels.quantize_rows(from, {codes, op.out.ld, scales, scales_ld});
  return {};
}

Status run(const ops::Add& op, const Context& context, const Item& item) {
  const MutableMatrix from = context.matrix(op.from, item), to = context.matrix(op.out, item);
  for (int64_t r = 0; r < to.rows; ++r) context.kernels.add(to.row(r), from.row(r), to.cols);
  return {};
}

}  // namespace LINFORMER_NAMESPACE::cpu
