// Queries against compressed keys and values: paper section 4, equation 7.
#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "cpu/executor.h"

namespace linformer {

// out: Q of a block of packed rows, all heads; replaced by the context, head by head.
Status CpuExecutor::attend(const Op& op, const Item& item) const {
  const Attention& attention = attention_of(item);
  const Source source = source_of(attention);
  const MutableMatrix query = matrix(op.out, item);
  const int64_t end = item.row + item.rows, d_head = attention.d_head;
  const HeadRange range{item.from / d_head, item.to > 0 ? item.to / d_head : attention.heads, item.worker};
  int64_t sequence = batch_.sequence_of(item.row);
  for (int64_t row = item.row; row < end; ++sequence) {
    const int64_t m = std::min<int64_t>(end, batch_.row_starts[sequence + 1]) - row;
    const MutableMatrix q = query.part(row - item.row, 0, m, query.cols);
    for (int64_t r = 0; batch_.has_masks && r < m; ++r) {
      if ((batch_.masks[row + r] & mask_query) == 0) continue;
      std::fill_n(q.row(r) + range.begin * d_head, (range.end - range.begin) * d_head, 0.f);
    }
    const int64_t position = row - batch_.row_starts[sequence];
    LINFORMER_TRY(attention.full ? attend_full(attention, source, sequence, position, q, range)
                                 : attend_compressed(attention, source, sequence, position, q, range));
    row += m;
  }
  return {};
}

// What the softmax left of `scores`.
LeftMatrix CpuExecutor::probabilities_of(const Attention& attention, MutableMatrix scores) {
  if (attention.compute != ElementType::bf16) return scores;
  return {scores.data, ElementType::bf16, scores.rows, scores.cols, 2 * scores.ld};
}

Status CpuExecutor::attend_compressed(const Attention& attention, const Source& source, int64_t sequence, int64_t row,
                                      MutableMatrix query, HeadRange range) const {
  const int64_t d_head = attention.d_head, n = source.length(sequence);
  const bool packs = program_.target.packs;
  const float* keys = packs ? buffer(BufferId::compressed_key) + sequence * program_.compressed_slot
                            : buffer(BufferId::keys) + sequence * program_.key_slot;
  const float* values =
      packs ? buffer(BufferId::compressed_value) + sequence * program_.compressed_slot
            : buffer(attention.value_is_key ? BufferId::keys : BufferId::values) + sequence * program_.key_slot;
  const int64_t scores_ld = program_.arena.value(Term::d_scores);
  // In bf16 rows are divided by their sums when they are short: after the product with V.
  float row_max[max_block_rows], row_sum[max_block_rows], rescale[max_block_rows];
  const OnlineSoftmax softmax = {row_max, row_sum, rescale};
  for (int64_t head = range.begin; head < range.end; ++head) {
    const KeyGroup& group = program_.group(attention, head);
    const GemmIds::Group& ids = gemms_.groups[static_cast<size_t>(&group - program_.groups.data())];
    const int64_t k = group.projections[0].rows_of(n), place = packs ? group.panels_offset : group.key_offset;
    const MutableMatrix scores = {block_buffer(BufferId::scores, range.thread), query.rows, k, scores_ld};
    GemmArgs args;
    args.a = query.part(0, head * d_head, query.rows, d_head);
    args.b = {keys + place,    attention.compute, packs ? RightLayout::panel16 : RightLayout::transposed, d_head, k,
              attention.key_ld};
    args.c = scores;
    LINFORMER_TRY(provider_->run(ids.scores, args, scratch(range.thread)));
    if (attention.compute == ElementType::bf16) {
      std::fill_n(softmax.row_max, query.rows, -std::numeric_limits<float>::infinity());
      std::fill_n(softmax.row_sum, query.rows, 0.f);
    }
    for (int64_t r = 0, rows = attention.causal ? 1 : query.rows; r < query.rows; r += rows) {
      const int64_t seen = attention.causal ? std::min(k, row + r + 1) : k;
      const MutableMatrix part = scores.part(r, 0, rows, seen);
      if (attention.compute == ElementType::bf16) {
        kernels_.softmax_step_bf16(part, attention.scale,
                                   {softmax.row_max + r, softmax.row_sum + r, softmax.rescale + r});
        if (seen < k) {
          uint16_t* unseen = reinterpret_cast<uint16_t*>(part.data) + seen;
          std::fill_n(unseen, round_up(k, 32) - seen, uint16_t{0});
        }
      } else {
        kernels_.softmax_rows(part, attention.scale);
        std::fill_n(scores.row(r) + seen, k - seen, 0.f);
      }
    }
    args.c = query.part(0, head * d_head, query.rows, d_head);
    args.a = probabilities_of(attention, scores);
    args.b = {values + place, attention.compute, packs ? RightLayout::panel16 : RightLayout::row_major, k,
              d_head,         attention.key_ld};
    LINFORMER_TRY(provider_->run(ids.context, args, scratch(range.thread)));
    if (attention.compute != ElementType::bf16) continue;
    for (int64_t r = 0; r < query.rows; ++r) softmax.rescale[r] = 1.f / softmax.row_sum[r];
    kernels_.scale_rows(args.c.floats(), softmax.rescale);
  }
  return {};
}

}  // namespace linformer
