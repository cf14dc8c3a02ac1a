#include "cpu/context.h"

#include "base/storage.h"

namespace LINFORMER_NAMESPACE::cpu {
namespace {

// Returns the whole weight as the right operand B[k, n] of a product.
RightMatrix right_of(const View& view, const std::byte* data, int64_t k, int64_t n) {
  RightMatrix b{data, view.type, view.layout, k, n, view.ld};
  if (view.type != ElementType::int8) return b;
  StoredParts storage;  // compute_part_offsets() can't fail here, because loading the model has checked the tensor.
  const bool panels = view.layout == RightLayout::panel16;
  if (!compute_part_offsets(view.type, panels ? TensorLayout::panel16 : TensorLayout::row_major,
                            static_cast<uint64_t>(view.rows), static_cast<uint64_t>(view.cols), &storage)) {
    return b;
  }
  b.scales = reinterpret_cast<const float*>(data + storage.scales);
  b.sums = reinterpret_cast<const int32_t*>(data + storage.sums);
  b.sums_ld = round_up(view.rows, panel_width);
  return b;
}

RightMatrix right_of(const ops::Gemm& op, const std::byte* data) {
  const View& view = op.b;
  const bool panels = view.layout == RightLayout::panel16;
  const RightMatrix whole = right_of(view, data, panels ? view.cols : op.a.cols, panels ? view.rows : op.out.cols);
  return panels ? whole.part(op.first_k, op.a.cols, op.first_n, op.out.cols) : whole;
}

}  // namespace

Status Context::prepare_weights() {
  if (!rights.try_resize(program.ops.size())) {
    return Status::error(Code::out_of_memory, "no memory for %zu ops", program.ops.size());
  }
  for (size_t i = 0; i < program.ops.size(); ++i) {
    const auto* gemm = program.ops[i].get<ops::Gemm>();
    if (gemm != nullptr && !gemm->multiplies_e()) rights[i] = right_of(*gemm, tensor(gemm->b));
  }
  return {};
}

Source Context::key_source_of(const KeyRows& key_rows) const {
  if (key_rows.reads_states(batch.has_states)) {
    return {buffer(BufferId::encoder_states), program.states_width, batch.state_starts, batch.state_masks};
  }
  return {buffer(key_rows.own.buffer), key_rows.own.ld, batch.row_starts, batch.masks};
}

const float* Context::scales(const View& view) const {
  return right_of(view, tensor(view), view.cols, view.rows).scales;
}

LeftMatrix Context::left(const View& view, const Item& item) const {
  LeftMatrix a;
  a.data = bytes(view, item);
  a.type = view.type;
  a.rows = item.rows;
  a.cols = view.cols;
  a.ld = ld_of(view, item);
  if (view.type == ElementType::int8) {
    // The scales of a row follow its elements.
    a.scales = reinterpret_cast<const RowScale*>(static_cast<const std::byte*>(a.data) + int8_codes_bytes(view.cols));
    a.scales_ld = view.ld / static_cast<int64_t>(sizeof(RowScale));
  }
  return a;
}

OutMatrix Context::out(const View& view, const Item& item) const {
  OutMatrix c;
  c.data = bytes(view, item);
  c.type = view.type;
  c.rows = item.rows;
  c.cols = view.cols;
  c.ld = view.ld;
  return c;
}

std::byte* Context::bytes(const View& view, const Item& item, int64_t four_byte_units) const {
  constexpr int64_t unit = sizeof(float);
  const int64_t size = element_bytes(view.type), row = item.row * view.ld;
  switch (view.place) {
    case Place::none:
      return nullptr;
    case Place::weight:
      return const_cast<std::byte*>(tensor(view)) + (view.offset + row) * size;
    case Place::rows:
    case Place::scored:
      return buffer<std::byte>(view.buffer) + (row + view.offset) * size + four_byte_units * unit;
    case Place::source: {
      const Source source = key_source_of(item);
      return reinterpret_cast<std::byte*>(
          const_cast<float*>(source.rows + (source.starts[item.sequence] + item.row) * source.ld));
    }
    case Place::sequence: {
      const int64_t first = item.sequence * program.slot_elements(view.buffer) + view.offset;
      return buffer<std::byte>(view.buffer) + (first + row + four_byte_units) * unit;
    }
    case Place::key_rows:
      return buffer<std::byte>(view.buffer) +
             (key_source_of(item).panel_start(item.sequence) * program.full_width + row + four_byte_units) * unit;
    case Place::block:
      return buffer<std::byte>(view.buffer) +
             static_cast<uint64_t>(item.thread) * layout.strides[static_cast<int>(view.buffer)] + view.offset * size;
    case Place::table:
      return buffer<std::byte>(view.buffer) + view.offset * unit;
    case Place::output:
      return reinterpret_cast<std::byte*>(item.call.values + row);
  }
  return nullptr;
}

}  // namespace LINFORMER_NAMESPACE::cpu
