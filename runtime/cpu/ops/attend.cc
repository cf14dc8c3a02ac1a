// Attention of queries Q to compressed keys and values: section 4 and equation 7 of the Linformer paper. Z are the rows
// that keys and values are computed from, W is the weight of keys or values, and E the projection that compresses them.
#include "cpu/ops/attend.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "cpu/ops/declare.h"
#include "cpu/ops/run.h"

namespace LINFORMER_NAMESPACE::cpu {

LeftMatrix probabilities_of(const ops::Attend& op, MutableMatrix scores) {
  if (op.compute != ElementType::bf16) return scores;
  return {scores.data, ElementType::bf16, scores.rows, scores.cols, 2 * scores.ld};
}

namespace {

// Declares the four GEMMs of attention for sequences of up to n rows: S = Q (Z W)^T, S E^T, R = probabilities E, and
// R (Z W).
Status declare_short(GemmDesc scores, GemmDesc context, int64_t n, GemmIds::Group* ids, const GemmSink& sink) {
  // The product S E^T has k columns, one for each row of E, and the product of the probabilities and E has the inner
  // dimension k. Both are copied from `scores` and `context`.
  GemmDesc compress = scores, expand = context;
  scores.n = context.k = compress.k = expand.n = n;
  scores.varying_n = context.varying_k = compress.varying_k = expand.varying_n = true;
  context.left = ElementType::f32;
  LINFORMER_TRY(sink.add(scores, &ids->row_scores));
  LINFORMER_TRY(sink.add(compress, &ids->compress_scores));
  LINFORMER_TRY(sink.add(expand, &ids->expand));
  return sink.add(context, &ids->row_context);
}

Status declare_group(const ops::Attend& op, const KeyGroup& group, GemmIds::Group* ids, const Declaration& to) {
  const bool panels = op.keys.layout == RightLayout::panel16;
  const Extents& extents = to.program.extents;
  GemmDesc scores;
  scores.max_m = op.whole ? extents.full_attention_queries() : extents.block_rows;
  scores.n = op.whole ? std::min(full_keys, op.most_keys(to.longest_source())) : group.k;
  scores.varying_n = op.whole || group.projections[0].kind != ProjectionKind::linear;
  scores.k = op.d_head;
  scores.layout = panels ? RightLayout::panel16 : RightLayout::transposed;
  scores.type = scores.compute = op.compute;
  if (rounds_queries(op)) scores.left = op.compute;
  LINFORMER_TRY(to.sink.add(scores, &ids->scores));
  GemmDesc context;
  context.max_m = scores.max_m;
  context.n = op.d_head;
  context.k = scores.n;
  context.varying_k = scores.varying_n;
  context.layout = panels ? RightLayout::panel16 : RightLayout::row_major;
  context.left = context.type = context.compute = op.compute;
  LINFORMER_TRY(to.sink.add(context, &ids->context));
  if (op.short_rows > 0) LINFORMER_TRY(declare_short(scores, context, op.short_rows, ids, to.sink));
  if (!op.whole) return {};
  context.accumulate = true;
  return to.sink.add(context, &ids->context_add);
}

// The number of rows of scores that are computed at once. They stay in the L1 cache until the product with V reads
// them.
constexpr int64_t attend_rows = 64;

// Turns rows of scores into probabilities. `row` is the position of the first row in its sequence. If attention is
// computed in bf16, the probabilities are not normalised, and the caller multiplies the context by `inverse_sums`
// instead. This is faster, because a row of the context has fewer columns than a row of scores.
void softmax(const ops::Attend& op, MutableMatrix scores, int64_t row, float* inverse_sums, const Context& context) {
  const int64_t k = scores.cols;
  for (int64_t r = 0, rows = op.causal ? 1 : scores.rows; r < scores.rows; r += rows) {
    const int64_t seen = op.causal ? std::min(k, row + r + 1) : k;
    const MutableMatrix part = scores.part(r, 0, rows, seen);
    if (op.compute != ElementType::bf16) {
      context.kernels.softmax_rows(part, op.scale);
      std::fill_n(scores.row(r) + seen, k - seen, 0.f);
      continue;
    }
    float row_max[attend_rows], rescale[attend_rows];
    std::fill_n(row_max, rows, -std::numeric_limits<float>::infinity());
    std::fill_n(inverse_sums + r, rows, 0.f);
    context.kernels.softmax_step_bf16(part, op.scale, {row_max, inverse_sums + r, rescale});
    for (int64_t i = r; i < r + rows; ++i) inverse_sums[i] = 1.f / inverse_sums[i];
    if (seen == k) continue;
    uint16_t* unseen = reinterpret_cast<uint16_t*>(part.data) + seen;
    std::fill_n(unseen, round_up(k, 32) - seen, uint16_t{0});
  }
}

}  // namespace

RightMatrix compressed_keys_or_values(const View& side, const ops::Attend& op, const KeyGroup& group, int64_t k,
                                      bool transposed, const Context& context, const Item& item) {
  const bool panels = side.layout == RightLayout::panel16;
  const std::byte* const data = context.bytes(side, item, panels ? group.panels_offset : group.key_offset);
  const RightLayout rows = transposed ? RightLayout::transposed : RightLayout::row_major;
  return {data,   op.compute, panels ? side.layout : rows, transposed ? op.d_head : k, transposed ? k : op.d_head,
          side.ld};
}

namespace {

Status attend_compressed(const ops::Attend& op, const QueryBlock& block, const Context& context, const Item& item) {
  const int64_t d_head = op.d_head, n = context.key_source_of(item).length(item.sequence);
  const int64_t scores_ld = op.scores.ld;
  void* const own = context.scratch(block.thread);
  for (int64_t head = block.begin; head < block.end; ++head) {
    const int64_t g = op.groups.of_head(head);
    const KeyGroup& group = context.program.group(op.groups, g);
    const GemmIds::Group& ids = context.gemms.groups[static_cast<size_t>(op.groups.first + g)];
    const int64_t k = group.projections[0].key_count(n);
    const RightMatrix keys = compressed_keys_or_values(op.keys, op, group, k, true, context, item);
    const RightMatrix values = compressed_keys_or_values(op.values, op, group, k, false, context, item);
    for (int64_t first = 0; first < block.queries.rows; first += attend_rows) {
      const int64_t rows = std::min(attend_rows, block.queries.rows - first);
      const MutableMatrix q = block.queries.part(first, head * d_head, rows, d_head);
      const MutableMatrix scores = {context.thread_buffer(op.scores.buffer, block.thread), rows, k, scores_ld};
      LINFORMER_TRY(context.provider->run(ids.scores, {q, keys, scores, {}}, own));
      float sums[attend_rows];
      softmax(op, scores, block.position + first, sums, context);
      LINFORMER_TRY(context.provider->run(ids.context, {probabilities_of(op, scores), values, q, {}}, own));
      if (op.compute == ElementType::bf16) context.kernels.scale_rows(q, sums);
    }
  }
  return {};
}

// Attends to a short sequence by compressing scores instead of keys: softmax(Q (Z W)^T E^T) E (Z W). A bias of the
// compressed keys is left out, because it adds the same number to all scores of a query and the softmax doesn't change.
// A bias of the compressed values is added to the context, because the probabilities of a query add up to 1.
Status attend_short(const ops::Attend& op, const QueryBlock& block, const Context& context, const Item& item) {
  constexpr RightLayout panels = RightLayout::panel16;
  const int64_t d_head = op.d_head, n = context.key_source_of(item).length(item.sequence);
  const int64_t scores_ld = op.scores.ld;
  const ElementType compute = op.compute;
  const RightMatrix e_transposed = {context.bytes(op.e_transposed, item), compute, panels, op.e_transposed.rows,
                                    op.e_transposed.cols};
  const RightMatrix e = {context.bytes(op.e, item), compute, panels, op.e.rows, op.e.cols};
  void* const own = context.scratch(block.thread);
  for (int64_t head = block.begin; head < block.end; ++head) {
    const int64_t g = op.groups.of_head(head), place = g * op.short_panels;
    const KeyGroup& group = context.program.group(op.groups, g);
    const GemmIds::Group& ids = context.gemms.groups[static_cast<size_t>(op.groups.first + g)];
    const int64_t k = group.k;
    const RightMatrix row_keys = {context.bytes(op.row_keys, item, place), compute, panels, d_head, n},
                      row_values = {context.bytes(op.row_values, item, place), compute, panels, n, d_head};
    const float* const bias = context.floats(group.projections[op.value_side].bias);
    for (int64_t first = 0; first < block.queries.rows; first += attend_rows) {
      const int64_t rows = std::min(attend_rows, block.queries.rows - first);
      const MutableMatrix q = block.queries.part(first, head * d_head, rows, d_head);
      float* const room = context.thread_buffer(op.scores.buffer, block.thread);
      const MutableMatrix scores = {room, rows, k, scores_ld};
      const MutableMatrix of_rows = {room + round_up(k, panel_width), rows, n, scores_ld};
      LINFORMER_TRY(context.provider->run(ids.row_scores, {q, row_keys, of_rows, {}}, own));
      LINFORMER_TRY(
          context.provider->run(ids.compress_scores, {of_rows, e_transposed.part(0, n, 0, k), scores, {}}, own));
      float sums[attend_rows];
      softmax(op, scores, block.position + first, sums, context);
      const GemmArgs expands = {probabilities_of(op, scores), e.part(0, k, 0, n), of_rows, {}};
      LINFORMER_TRY(context.provider->run(ids.expand, expands, own));
      LINFORMER_TRY(context.provider->run(ids.row_context, {of_rows, row_values, q, {}}, own));
      if (compute == ElementType::bf16) context.kernels.scale_rows(q, sums);
      for (int64_t r = 0; bias != nullptr && r < rows; ++r) context.kernels.add(q.row(r), bias, d_head);
    }
  }
  return {};
}

}  // namespace

Status declare_gemms(const ops::Attend& op, const Declaration& to) {
  if (op.query.present() || op.keys.type != op.compute) {
    return Status::error(Code::internal, "the op 'attend' has operands that the CPU doesn't take");
  }
  for (int32_t g = 0; g < op.groups.count; ++g) {
    GemmIds::Group& ids = to.ids.groups[static_cast<size_t>(op.groups.first + g)];
    LINFORMER_TRY(declare_group(op, to.program.group(op.groups, g), &ids, to));
  }
  return {};
}

// `out` holds the queries of a block of packed rows, with the columns of all heads. The context of each head replaces
// the queries of that head. Queries that the caller has masked (Input::query_mask) are set to zero first.
Status run(const ops::Attend& op, const Context& context, const Item& item) {
  const MutableMatrix all = context.matrix(op.out, item);
  const Source source = context.key_source_of(item);
  QueryBlock block;
  block.begin = item.from / op.d_head;
  block.end = item.to > 0 ? item.to / op.d_head : op.heads;
  block.thread = item.worker;
  Item own = item;
  own.row = 0;
  return context.for_each_sequence(item, [&](int64_t sequence, int64_t position, int64_t first, int64_t rows) {
    own.sequence = sequence;
    block.queries = all.part(first, 0, rows, all.cols);
    block.position = position;
    const uint8_t* masks = context.batch.masks + context.batch.row_starts[sequence] + position;
    for (int64_t r = 0; context.batch.has_masks && r < rows; ++r) {
      if ((masks[r] & mask_query) == 0) continue;
      std::fill_n(block.queries.row(r) + block.begin * op.d_head, (block.end - block.begin) * op.d_head, 0.f);
    }
    if (source.length(sequence) < op.short_below) return attend_short(op, block, context, own);
    return op.whole ? attend_whole(op, block, context, own) : attend_compressed(op, block, context, own);
  });
}

}  // namespace LINFORMER_NAMESPACE::cpu
