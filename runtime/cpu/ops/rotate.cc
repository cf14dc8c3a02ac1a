#include "cpu/ops/run.h"

namespace LINFORMER_NAMESPACE::cpu {

// Pairs (x1, x2), of the first and second half of each head, are turned by their position's angles:
// (x1 cos - x2 sin, x2 cos + x1 sin). Su et al. 2021; the pairing is GPT-NeoX's and xformers'.
Status run(const ops::Rotate& op, const Context& context, const Item& item) {
  const MutableMatrix out = context.matrix(op.out, item);
  const int64_t d_head = op.table.cols, half = d_head / 2;
  const bool packed = item.stage.domain == Domain::row_blocks;
  int64_t sequence = packed ? context.batch.sequence_of(item.row) : item.sequence;
  for (int64_t r = 0; r < out.rows; ++r) {
    while (packed && item.row + r >= context.batch.row_starts[sequence + 1]) ++sequence;
    const int64_t position = item.row + r - (packed ? context.batch.row_starts[sequence] : 0);
    const float* cosines = context.address<float>(op.table, item) + position * op.table.ld;
    const float* sines = cosines + half;
    for (float* x = out.row(r); x < out.row(r) + out.cols; x += d_head) {
      for (int64_t i = 0; i < half; ++i) {
        const float first = x[i], second = x[half + i];
        x[i] = first * cosines[i] - second * sines[i];
        x[half + i] = second * cosines[i] + first * sines[i];
      }
    }
  }
  return {};
}

}  // namespace LINFORMER_NAMESPACE::cpu
