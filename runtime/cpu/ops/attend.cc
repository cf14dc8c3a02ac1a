// Queries against compressed keys and values: paper section 4, equation 7.
#include "cpu/ops/attend.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "cpu/ops/run.h"

namespace LINFORMER_NAMESPACE::cpu {

// What the softmax left of `scores`.
LeftMatrix probabilities_of(const Attention& attention, MutableMatrix scores) {
  if (attention.compute != ElementType::bf16) return scores;
  return {scores.data, ElementType::bf16, scores.rows, scores.cols, 2 * scores.ld};
}

namespace {

// Of scores, which so stay in the nearest cache until the product with V reads them.
constexpr int64_t attend_rows = 64;

// Rows of scores, the first of which is row `row` of its sequence, become probabilities; of bf16 what is to be
// multiplied by `inverse_sums`, after the product with V: rows are shorter there.
void softmax(const Attention& attention, MutableMatrix scores, int64_t row, float* inverse_sums,
             const Context& context) {
  const int64_t k = scores.cols;
  for (int64_t r = 0, rows = attention.causal ? 1 : scores.rows; r < scores.rows; r += rows) {
    const int64_t seen = attention.causal ? std::min(k, row + r + 1) : k;
    const MutableMatrix part = scores.part(r, 0, rows, seen);
    if (attention.compute != ElementType::bf16) {
      context.kernels.softmax_rows(part, attention.scale);
      std::fill_n(scores.row(r) + seen, k - seen, 0.f);
      continue;
    }
    float row_max[attend_rows], rescale[attend_rows];
    std::fill_n(row_max, rows, -std::numeric_limits<float>::infinity());
    std::fill_n(inverse_sums + r, rows, 0.f);
    context.kernels.softmax_step_bf16(part, attention.scale, {row_max, inverse_sums + r, rescale});
    for (int64_t i = r; i < r + rows; ++i) inverse_sums[i] = 1.f / inverse_sums[i];
    if (seen == k) continue;
    uint16_t* unseen = reinterpret_cast<uint16_t*>(part.data) + seen;
    std::fill_n(unseen, round_up(k, 32) - seen, uint16_t{0});
  }
}

Status attend_compressed(const Attention& attention, const Source& source, int64_t sequence, int64_t row,
                         MutableMatrix query, HeadRange range, const Context& context) {
  const int64_t d_head = attention.d_head, n = source.length(sequence);
  const bool packs = context.program.target.packs;
  const float* keys = packs ? context.buffer(BufferId::compressed_key) + sequence * context.program.compressed_slot
                            : context.buffer(BufferId::keys) + sequence * context.program.key_slot;
  const float* values = packs ? context.buffer(BufferId::compressed_value) + sequence * context.program.compressed_slot
                              : context.buffer(attention.value_is_key ? BufferId::keys : BufferId::values) +
                                    sequence * context.program.key_slot;
  const int64_t scores_ld = context.program.arena.value(Term::d_scores);
  // In bf16 rows are divided by their sums when they are short: after the product with V.
  for (int64_t head = range.begin; head < range.end; ++head) {
    const KeyGroup& group = context.program.group(attention, head);
    const GemmIds::Group& ids = context.gemms.groups[static_cast<size_t>(&group - context.program.groups.data())];
    const int64_t k = group.projections[0].rows_of(n), place = packs ? group.panels_offset : group.key_offset;
    const RightLayout layout = packs ? RightLayout::panel16 : RightLayout::transposed;
    const RightMatrix key_panels = {keys + place, attention.compute, layout, d_head, k, attention.key_ld};
    const RightMatrix value_panels = {values + place, attention.compute, packs ? layout : RightLayout::row_major, k,
                                      d_head,         attention.key_ld};
    for (int64_t first = 0; first < query.rows; first += attend_rows) {
      const int64_t rows = std::min(attend_rows, query.rows - first);
      const MutableMatrix q = query.part(first, head * d_head, rows, d_head);
      const MutableMatrix scores = {context.block_buffer(BufferId::scores, range.thread), rows, k, scores_ld};
      LINFORMER_TRY(context.provider->run(ids.scores, {q, key_panels, scores, {}}, context.scratch(range.thread)));
      float sums[attend_rows];
      softmax(attention, scores, row + first, sums, context);
      const LeftMatrix probabilities = probabilities_of(attention, scores);
      LINFORMER_TRY(
          context.provider->run(ids.context, {probabilities, value_panels, q, {}}, context.scratch(range.thread)));
      if (attention.compute == ElementType::bf16) context.kernels.scale_rows(q, sums);
    }
  }
  return {};
}

// Queries against a sequence's own rows, whose scores E^T then makes those of the compressed keys:
// softmax(Q (Z W)^T E^T) E (Z W). A bias of the compressed keys adds the same to all of a query's scores; that of the
// values is added to the context, for probabilities add up to 1.
Status attend_short(const Attention& attention, int64_t sequence, int64_t n, int64_t row, MutableMatrix query,
                    HeadRange range, const Context& context) {
  constexpr RightLayout panels = RightLayout::panel16;
  const int64_t d_head = attention.d_head, scores_ld = context.program.arena.value(Term::d_scores);
  const float* const keys = context.buffer(BufferId::keys) + sequence * context.program.key_slot;
  const float* const values = context.buffer(BufferId::values) + sequence * context.program.key_slot;
  const float* const tables = context.buffer(BufferId::projection_table);
  const ElementType compute = attention.compute;
  for (int64_t head = range.begin; head < range.end; ++head) {
    const int64_t g = attention.groups == 1 ? 0 : head, place = g * attention.short_panels;
    const KeyGroup& group = context.program.group(attention, head);
    const GemmIds::Group& ids = context.gemms.groups[static_cast<size_t>(attention.first_group + g)];
    const int64_t k = group.k;
    const RightMatrix row_keys = {keys + place, compute, panels, d_head, n},
                      row_values = {values + place, compute, panels, n, d_head};
    const RightMatrix compress = {tables + attention.tables[0], compute, panels, attention.short_rows, k};
    const RightMatrix expand = {tables + attention.tables[1], compute, panels, k, attention.short_rows};
    const float* const bias = context.floats(group.projections[attention.value_is_key ? 0 : 1].bias);
    for (int64_t first = 0; first < query.rows; first += attend_rows) {
      const int64_t rows = std::min(attend_rows, query.rows - first);
      const MutableMatrix q = query.part(first, head * d_head, rows, d_head);
      float* const room = context.block_buffer(BufferId::scores, range.thread);
      const MutableMatrix scores = {room, rows, k, scores_ld};
      const MutableMatrix of_rows = {room + round_up(k, panel_width), rows, n, scores_ld};
      void* const own = context.scratch(range.thread);
      LINFORMER_TRY(context.provider->run(ids.row_scores, {q, row_keys, of_rows, {}}, own));
      LINFORMER_TRY(context.provider->run(ids.compress_scores, {of_rows, compress.part(0, n, 0, k), scores, {}}, own));
      float sums[attend_rows];
      softmax(attention, scores, row + first, sums, context);
      LINFORMER_TRY(context.provider->run(
          ids.expand, {probabilities_of(attention, scores), expand.part(0, k, 0, n), of_rows, {}}, own));
      LINFORMER_TRY(context.provider->run(ids.row_context, {of_rows, row_values, q, {}}, own));
      if (compute == ElementType::bf16) context.kernels.scale_rows(q, sums);
      for (int64_t r = 0; bias != nullptr && r < rows; ++r) context.kernels.add(q.row(r), bias, d_head);
    }
  }
  return {};
}

}  // namespace

// out: Q of a block of packed rows, all heads; replaced by the context, head by head.
Status run(const ops::Attend& op, const Context& context, const Item& item) {
  const Attention& attention = context.attention_of(item);
  const Source source = context.source_of(attention);
  const MutableMatrix query = context.matrix(op.out, item);
  const int64_t d_head = attention.d_head;
  const HeadRange range{item.from / d_head, item.to > 0 ? item.to / d_head : attention.heads, item.worker};
  return context.for_each_sequence(item, [&](int64_t sequence, int64_t position, int64_t first, int64_t m) {
    const MutableMatrix q = query.part(first, 0, m, query.cols);
    const uint8_t* masks = context.batch.masks + context.batch.row_starts[sequence] + position;
    for (int64_t r = 0; context.batch.has_masks && r < m; ++r) {
      if ((masks[r] & mask_query) == 0) continue;
      std::fill_n(q.row(r) + range.begin * d_head, (range.end - range.begin) * d_head, 0.f);
    }
    const int64_t n = source.length(sequence);
    if (n < attention.short_below) return attend_short(attention, sequence, n, position, q, range, context);
    return attention.full ? attend_full(attention, source, sequence, position, q, range, context)
                          : attend_compressed(attention, source, sequence, position, q, range, context);
  });
}

}  // namespace LINFORMER_NAMESPACE::cpu
