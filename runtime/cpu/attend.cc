// Queries against compressed keys and values: paper section 4, equation 7.
#include <algorithm>

#include "base/checked.h"
#include "cpu/executor.h"

namespace linformer {

// out: Q of a block of packed rows, all heads; replaced by the context, head by head.
Status CpuExecutor::attend(const Op& op, const Item& item) const {
  const Attention& attention = attention_of(item);
  const Source source = source_of(attention);
  const MutableMatrix query = matrix(op.out, item);
  const int64_t end = item.row + item.rows;
  int64_t sequence = batch_.sequence_of(item.row);
  for (int64_t row = item.row; row < end; ++sequence) {
    const int64_t m = std::min<int64_t>(end, batch_.row_starts[sequence + 1]) - row;
    const MutableMatrix q = query.part(row - item.row, 0, m, query.cols);
    for (int64_t r = 0; batch_.has_masks && r < m; ++r) {
      if (batch_.masks[row + r] & mask_query) std::fill_n(q.row(r), q.cols, 0.f);
    }
    const int64_t position = row - batch_.row_starts[sequence];
    LINFORMER_TRY(attention.full ? attend_full(attention, source, sequence, position, q, item.thread)
                                 : attend_compressed(attention, source, sequence, position, q, item.thread));
    row += m;
  }
  return {};
}

Status CpuExecutor::attend_compressed(const Attention& attention, const Source& source, int64_t sequence, int64_t row,
                                      MutableMatrix query, int thread) const {
  const int64_t d_head = attention.d_head, n = source.length(sequence);
  const bool packs = program_.target.packs;
  const float* keys = packs ? buffer(BufferId::compressed_key) + sequence * program_.compressed_slot
                            : buffer(BufferId::keys) + sequence * program_.key_slot;
  const float* values =
      packs ? buffer(BufferId::compressed_value) + sequence * program_.compressed_slot
            : buffer(attention.value_is_key ? BufferId::keys : BufferId::values) + sequence * program_.key_slot;
  const int64_t scores_ld = program_.arena.value(Term::d_scores);
  for (int64_t head = 0; head < attention.heads; ++head) {
    const KeyGroup& group = program_.group(attention, head);
    const GemmIds::Group& ids = gemms_.groups[static_cast<size_t>(&group - program_.groups.data())];
    const int64_t k = group.projections[0].rows_of(n), place = packs ? group.panels_offset : group.key_offset;
    const MutableMatrix scores = {block_buffer(BufferId::scores, thread), query.rows, k, scores_ld};
    GemmArgs args;
    args.a = query.part(0, head * d_head, query.rows, d_head);
    args.b = {keys + place,    attention.compute, packs ? RightLayout::panel16 : RightLayout::transposed, d_head, k,
              attention.key_ld};
    args.c = scores;
    LINFORMER_TRY(provider_->run(ids.scores, args, scratch(thread)));
    if (attention.causal) {
      for (int64_t r = 0; r < query.rows; ++r) {
        const int64_t seen = std::min(k, row + r + 1);
        kernels_.softmax_rows(scores.part(r, 0, 1, seen), attention.scale);
        std::fill_n(scores.row(r) + seen, k - seen, 0.f);
      }
    } else {
      kernels_.softmax_rows(scores, attention.scale);
    }
    args.c = query.part(0, head * d_head, query.rows, d_head);
    args.a = scores;
    args.b = {values + place, attention.compute, packs ? RightLayout::panel16 : RightLayout::row_major, k,
              d_head,         attention.key_ld};
    LINFORMER_TRY(provider_->run(ids.context, args, scratch(thread)));
  }
  return {};
}

}  // namespace linformer
