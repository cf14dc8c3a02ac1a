// Queries against compressed keys and values: paper section 4, equation 7.
#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "cpu/executor.h"

namespace LINFORMER_NAMESPACE {

namespace {

// Of scores, which so stay in the nearest cache until the product with V reads them.
constexpr int64_t attend_rows = 64;

}  // namespace

// out: Q of a block of packed rows, all heads; replaced by the context, head by head.
Status CpuExecutor::attend(const Op& op, const Item& item) const {
  const Attention& attention = attention_of(item);
  const Source source = source_of(attention);
  const MutableMatrix query = matrix(op.out, item);
  const int64_t d_head = attention.d_head;
  const HeadRange range{item.from / d_head, item.to > 0 ? item.to / d_head : attention.heads, item.worker};
  return for_each_sequence(item, [&](int64_t sequence, int64_t position, int64_t first, int64_t m) {
    const MutableMatrix q = query.part(first, 0, m, query.cols);
    const uint8_t* masks = batch_.masks + batch_.row_starts[sequence] + position;
    for (int64_t r = 0; batch_.has_masks && r < m; ++r) {
      if ((masks[r] & mask_query) == 0) continue;
      std::fill_n(q.row(r) + range.begin * d_head, (range.end - range.begin) * d_head, 0.f);
    }
    const int64_t n = source.length(sequence);
    if (n < attention.short_below) return attend_short(attention, sequence, n, position, q, range);
    return attention.full ? attend_full(attention, source, sequence, position, q, range)
                          : attend_compressed(attention, source, sequence, position, q, range);
  });
}

// What the softmax left of `scores`.
LeftMatrix CpuExecutor::probabilities_of(const Attention& attention, MutableMatrix scores) {
  if (attention.compute != ElementType::bf16) return scores;
  return {scores.data, ElementType::bf16, scores.rows, scores.cols, 2 * scores.ld};
}

// Rows of scores, the first of which is row `row` of its sequence, become probabilities; of bf16 what is to be
// multiplied by `inverse_sums`, after the product with V: rows are shorter there.
void CpuExecutor::softmax(const Attention& attention, MutableMatrix scores, int64_t row, float* inverse_sums) const {
  const int64_t k = scores.cols;
  for (int64_t r = 0, rows = attention.causal ? 1 : scores.rows; r < scores.rows; r += rows) {
    const int64_t seen = attention.causal ? std::min(k, row + r + 1) : k;
    const MutableMatrix part = scores.part(r, 0, rows, seen);
    if (attention.compute != ElementType::bf16) {
      kernels_.softmax_rows(part, attention.scale);
      std::fill_n(scores.row(r) + seen, k - seen, 0.f);
      continue;
    }
    float row_max[attend_rows], rescale[attend_rows];
    std::fill_n(row_max, rows, -std::numeric_limits<float>::infinity());
    std::fill_n(inverse_sums + r, rows, 0.f);
    kernels_.softmax_step_bf16(part, attention.scale, {row_max, inverse_sums + r, rescale});
    for (int64_t i = r; i < r + rows; ++i) inverse_sums[i] = 1.f / inverse_sums[i];
    if (seen == k) continue;
    uint16_t* unseen = reinterpret_cast<uint16_t*>(part.data) + seen;
    std::fill_n(unseen, round_up(k, 32) - seen, uint16_t{0});
  }
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
  for (int64_t head = range.begin; head < range.end; ++head) {
    const KeyGroup& group = program_.group(attention, head);
    const GemmIds::Group& ids = gemms_.groups[static_cast<size_t>(&group - program_.groups.data())];
    const int64_t k = group.projections[0].rows_of(n), place = packs ? group.panels_offset : group.key_offset;
    const RightLayout layout = packs ? RightLayout::panel16 : RightLayout::transposed;
    const RightMatrix key_panels = {keys + place, attention.compute, layout, d_head, k, attention.key_ld};
    const RightMatrix value_panels = {values + place, attention.compute, packs ? layout : RightLayout::row_major, k,
                                      d_head,         attention.key_ld};
    for (int64_t first = 0; first < query.rows; first += attend_rows) {
      const int64_t rows = std::min(attend_rows, query.rows - first);
      const MutableMatrix q = query.part(first, head * d_head, rows, d_head);
      const MutableMatrix scores = {block_buffer(BufferId::scores, range.thread), rows, k, scores_ld};
      LINFORMER_TRY(provider_->run(ids.scores, {q, key_panels, scores, {}}, scratch(range.thread)));
      float sums[attend_rows];
      softmax(attention, scores, row + first, sums);
      const LeftMatrix probabilities = probabilities_of(attention, scores);
      LINFORMER_TRY(provider_->run(ids.context, {probabilities, value_panels, q, {}}, scratch(range.thread)));
      if (attention.compute == ElementType::bf16) kernels_.scale_rows(q, sums);
    }
  }
  return {};
}

// Queries against a sequence's own rows, whose scores E^T then makes those of the compressed keys:
// softmax(Q (Z W)^T E^T) E (Z W). A bias of the compressed keys adds the same to all of a query's scores; that of the
// values is added to the context, for probabilities add up to 1.
Status CpuExecutor::attend_short(const Attention& attention, int64_t sequence, int64_t n, int64_t row,
                                 MutableMatrix query, HeadRange range) const {
  constexpr RightLayout panels = RightLayout::panel16;
  const int64_t d_head = attention.d_head, scores_ld = program_.arena.value(Term::d_scores);
  const float* const keys = buffer(BufferId::keys) + sequence * program_.key_slot;
  const float* const values = buffer(BufferId::values) + sequence * program_.key_slot;
  const float* const tables = buffer(BufferId::projection_table);
  const ElementType compute = attention.compute;
  for (int64_t head = range.begin; head < range.end; ++head) {
    const int64_t g = attention.groups == 1 ? 0 : head, place = g * attention.short_panels;
    const KeyGroup& group = program_.group(attention, head);
    const GemmIds::Group& ids = gemms_.groups[static_cast<size_t>(attention.first_group + g)];
    const int64_t k = group.k;
    const RightMatrix row_keys = {keys + place, compute, panels, d_head, n},
                      row_values = {values + place, compute, panels, n, d_head};
    const RightMatrix compress = {tables + attention.tables[0], compute, panels, attention.short_rows, k};
    const RightMatrix expand = {tables + attention.tables[1], compute, panels, k, attention.short_rows};
    const float* const bias = floats(group.projections[attention.value_is_key ? 0 : 1].bias);
    for (int64_t first = 0; first < query.rows; first += attend_rows) {
      const int64_t rows = std::min(attend_rows, query.rows - first);
      const MutableMatrix q = query.part(first, head * d_head, rows, d_head);
      float* const room = block_buffer(BufferId::scores, range.thread);
      const MutableMatrix scores = {room, rows, k, scores_ld};
      const MutableMatrix of_rows = {room + round_up(k, panel_width), rows, n, scores_ld};
      void* const own = scratch(range.thread);
      LINFORMER_TRY(provider_->run(ids.row_scores, {q, row_keys, of_rows, {}}, own));
      LINFORMER_TRY(provider_->run(ids.compress_scores, {of_rows, compress.part(0, n, 0, k), scores, {}}, own));
      float sums[attend_rows];
      softmax(attention, scores, row + first, sums);
      LINFORMER_TRY(
          provider_->run(ids.expand, {probabilities_of(attention, scores), expand.part(0, k, 0, n), of_rows, {}}, own));
      LINFORMER_TRY(provider_->run(ids.row_context, {of_rows, row_values, q, {}}, own));
      if (compute == ElementType::bf16) kernels_.scale_rows(q, sums);
      for (int64_t r = 0; bias != nullptr && r < rows; ++r) kernels_.add(q.row(r), bias, d_head);
    }
  }
  return {};
}

}  // namespace LINFORMER_NAMESPACE
