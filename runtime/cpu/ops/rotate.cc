#include <algorithm>

#include "cpu/ops/run.h"

namespace LINFORMER_NAMESPACE::cpu {

// Rotary positions (Su et al. 2021). Columns are paired as in GPT-NeoX and xformers. A block of packed rows may have
// rows of several sequences.
Status run(const ops::Rotate& op, const Context& context, const Item& item) {
  const MutableMatrix out = context.matrix(op.out, item);
  const bool packed = item.stage.domain == Domain::row_blocks;
  int64_t sequence = packed ? context.batch.sequence_of(item.row) : item.sequence;
  for (int64_t r = 0; r < out.rows; ++sequence) {
    const int64_t position = item.row + r - (packed ? context.batch.row_starts[sequence] : 0);
    const int64_t rows = packed ? std::min(out.rows - r, context.batch.length(sequence) - position) : out.rows;
    const float* const table = context.address<float>(op.table, item) + position * op.table.ld;
    context.kernels.rotate_rows(out.part(r, 0, rows, out.cols), {table, rows, op.table.cols, op.table.ld});
    r += rows;
  }
  return {};
}

}  // namespace LINFORMER_NAMESPACE::cpu
