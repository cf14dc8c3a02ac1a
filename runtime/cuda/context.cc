#include "cuda/context.h"

namespace LINFORMER_NAMESPACE::cuda {

Source Context::key_source_of(const KeyRows& key_rows) const {
  if (key_rows.reads_states(batch.has_states)) {
    return {device_buffer(BufferId::encoder_states), program.states_width, BufferId::state_starts,
            BufferId::state_masks, batch.state_starts};
  }
  return {device_buffer(key_rows.own.buffer), key_rows.own.ld, BufferId::row_starts, BufferId::masks, batch.row_starts};
}

Operand Context::operand(const View& view, const Item& item) const {
  Operand x;
  x.type = view.type;
  x.rows = item.rows;
  x.cols = view.cols;
  x.ld = view.ld;
  x.count = item.count;
  switch (view.place) {
    case Place::none:
    case Place::weight:
      break;
    case Place::rows:
    case Place::scored:
      x.data = device_buffer(view.buffer) + (item.row * view.ld + view.offset) * element_bytes(view.type);
      break;
    case Place::source: {
      const Source source = key_source_of(item);
      x.ld = source.ld;
      x.step = item.n * source.ld;
      x.data = source.rows + source.host_starts[item.sequence] * source.ld * int64_t{sizeof(float)};
      break;
    }
    case Place::sequence:
      x.step = program.slot_elements(view.buffer);
      x.data = device_buffer(view.buffer) + (item.sequence * x.step + view.offset) * int64_t{sizeof(float)};
      break;
    case Place::key_rows:
      x.step = item.n * view.ld;
      x.data = device_buffer(view.buffer) +
               int64_t{key_source_of(item).host_starts[item.sequence]} * view.ld * int64_t{sizeof(float)};
      break;
    case Place::block:
      x.step = item.rows * view.ld;
      x.data = device_buffer(view.buffer) + view.offset * element_bytes(view.type);
      break;
    case Place::table:
      x.data = device_buffer(view.buffer) + view.offset * int64_t{sizeof(float)};
      break;
    case Place::output:
      x.data = scratch(regions.outputs);
      break;
  }
  return x;
}

const float* Context::floats(const View& view) const {
  if (!view.present()) return nullptr;
  return reinterpret_cast<const float*>(weights->vector(view).data) + view.offset;
}

}  // namespace LINFORMER_NAMESPACE::cuda
