// Full attention (Vaswani et al. 2017, section 3.2.1), computed in blocks of keys with an online softmax (Milakov and
// Gimelshein 2018), so that no n x n matrix is stored. Compressed keys beside a window are further blocks of keys.
#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "cpu/ops/attend.h"
#include "cpu/ops/keys.h"

namespace LINFORMER_NAMESPACE::cpu {
namespace {

constexpr float masked_score = -1e30f;
// The score of a key outside the causal or window range. It is below masked_score, so that such a key has probability 0
// even if all keys in range are masked: a block of keys that is skipped gives the same result as one that is computed.
constexpr float out_of_reach = -2e30f;

// The masks and the position bias that are applied to the scores of one block of keys before the softmax.
struct ScoreMask {
  int64_t row = 0;                 // The position of the first query.
  int64_t first = 0;               // The position of the first key.
  const uint8_t* masks = nullptr;  // The masks of the sequence's rows, or null if no key is excluded by its mask.
  bool causal = false;
  int64_t window = 0;                    // Keys further away than this are excluded. If 0, there is no such limit.
  const float* position_bias = nullptr;  // The bias for key position - query position = 0, or null.
  float inverse_scale = 1;               // 1 / the scale of the scores.
};

// Adds the position bias to the scores. The softmax multiplies scores by the scale, but the model adds the bias after
// scaling, so the bias is divided by the scale first. The bias depends on key position - query position alone. So all
// rows read the same array, and each row begins one element before the row above it.
void add_position_bias(const Kernels& kernels, const ScoreMask& mask, MutableMatrix scores) {
  float divided[most_full_queries + full_keys];
  const int64_t distances = scores.rows + scores.cols - 1;
  std::copy_n(mask.position_bias + mask.first - mask.row - (scores.rows - 1), distances, divided);
  kernels.scale_rows({divided, 1, distances, distances}, &mask.inverse_scale);
  for (int64_t r = 0; r < scores.rows; ++r) kernels.add(scores.row(r), divided + scores.rows - 1 - r, scores.cols);
}

void apply(const Kernels& kernels, const ScoreMask& mask, MutableMatrix scores) {
  for (int64_t j = 0; mask.masks != nullptr && j < scores.cols; ++j) {
    for (int64_t r = 0; (mask.masks[mask.first + j] & mask_row) != 0 && r < scores.rows; ++r) {
      scores.row(r)[j] = masked_score;
    }
  }
  if (mask.position_bias != nullptr) add_position_bias(kernels, mask, scores);
  for (int64_t r = 0; mask.causal && r < scores.rows; ++r) {
    const int64_t visible = std::clamp<int64_t>(mask.row + r + 1 - mask.first, 0, scores.cols);
    std::fill_n(scores.row(r) + visible, scores.cols - visible, out_of_reach);
  }
  for (int64_t r = 0; mask.window > 0 && r < scores.rows; ++r) {
    const int64_t begin = std::clamp<int64_t>(mask.row + r - mask.window - mask.first, 0, scores.cols);
    const int64_t end = std::clamp<int64_t>(mask.row + r + mask.window + 1 - mask.first, 0, scores.cols);
    std::fill_n(scores.row(r), begin, out_of_reach);
    std::fill_n(scores.row(r) + end, scores.cols - end, out_of_reach);
  }
}

// The keys [begin, end) that at least one query of a block sees, extended to multiples of full_panel_rows. The bits of
// a query's result don't depend on the other queries: keys that it doesn't see itself are masked, and their probability
// is exactly 0.
struct Reach {
  int64_t begin, end;
};

Reach reach_of(const ops::Attend& op, int64_t row, int64_t rows, int64_t n) {
  Reach reach{0, op.causal ? std::min(n, row + rows) : n};
  if (op.window > 0) {
    reach.begin = std::max<int64_t>(row - op.window, 0) / full_panel_rows * full_panel_rows;
    reach.end = std::min(reach.end, row + rows + op.window);
  }
  reach.end = std::min(n, round_up(reach.end, full_panel_rows));
  return reach;
}

// Returns the part of K^T (if `of_keys`) or V that belongs to the keys [first, first + count).
RightMatrix part_of_side(const RightMatrix& whole, bool of_keys, int64_t first, int64_t count) {
  if (whole.layout == RightLayout::panel16) {
    return of_keys ? whole.part(0, whole.k, first, count) : whole.part(first, count, 0, whole.n);
  }
  RightMatrix part = whole;
  part.data = static_cast<const float*>(whole.data) + first * whole.ld;
  (of_keys ? part.n : part.k) = count;
  return part;
}

LeftMatrix rows_of(const LeftMatrix& whole, int64_t first, int64_t count) {
  LeftMatrix part = whole;
  part.data = static_cast<const char*>(whole.data) + first * whole.ld * element_bytes(whole.type);
  part.rows = count;
  return part;
}

// One head's queries of a block, and the state of their online softmax.
struct HeadQueries {
  const ops::Attend& op;
  const Context& context;
  const GemmIds::Group& gemms;
  int thread;
  int64_t position;                    // The position of the first query in its sequence.
  LeftMatrix queries;                  // [m, d_head]
  MutableMatrix sums;                  // [m, d_head]: the weighted sums of values, not yet divided by row_sum.
  float *row_max, *row_sum, *rescale;  // [m]
};

// Attends from queries [first, first + rows) to the given keys. `later` is true if these queries have already attended
// to other keys, so that their online softmax goes on. `mask` is null if every query sees every key.
Status attend_to(const HeadQueries& of, int64_t first, int64_t rows, const RightMatrix& keys, const RightMatrix& values,
                 const ScoreMask* mask, bool later) {
  const ops::Attend& op = of.op;
  const Context& context = of.context;
  const MutableMatrix scores = {context.thread_buffer(op.scores.buffer, of.thread), rows, keys.n, op.scores.ld};
  GemmArgs args;
  args.a = rows_of(of.queries, first, rows);
  args.b = keys;
  args.c = scores;
  LINFORMER_TRY(context.provider->run(of.gemms.scores, args, context.scratch(of.thread)));
  if (mask != nullptr) apply(context.kernels, *mask, scores);
  const OnlineSoftmax state = {of.row_max + first, of.row_sum + first, of.rescale + first};
  if (op.compute == ElementType::bf16) {
    context.kernels.softmax_step_bf16(scores, op.scale, state);
  } else {
    context.kernels.softmax_step(scores, op.scale, state);
  }
  const MutableMatrix sums = of.sums.part(first, 0, rows, op.d_head);
  args.a = probabilities_of(op, scores);
  args.b = values;
  args.c = sums;
  if (later) {
    context.kernels.scale_rows(sums, state.rescale);
    args.epilogue.accumulate = true;
  }
  return context.provider->run(later ? of.gemms.context_add : of.gemms.context, args, context.scratch(of.thread));
}

// Attends from all queries to the first k compressed keys beside the window.
Status attend_beside(const HeadQueries& of, int64_t group, int64_t k, const Item& item) {
  const ops::Attend& op = of.op;
  const KeyGroup& described = of.context.program.group(op.groups, group);
  const int64_t m = of.sums.rows, rows_at_once = of.context.program.extents.full_attention_queries();
  const RightMatrix keys = compressed_keys_or_values(op.keys_beside, op, described, k, true, of.context, item);
  const RightMatrix values = compressed_keys_or_values(op.values_beside, op, described, k, false, of.context, item);
  for (int64_t first = 0; first < k; first += full_keys) {
    const int64_t count = std::min(full_keys, k - first);
    for (int64_t r = 0; r < m; r += rows_at_once) {
      LINFORMER_TRY(attend_to(of, r, std::min(rows_at_once, m - r), part_of_side(keys, true, first, count),
                              part_of_side(values, false, first, count), nullptr, first > 0));
    }
  }
  return {};
}

// Attends from all queries to those uncompressed keys of their sequence that `mask` and the window let them see. The
// keys are split into the same blocks for all queries, so that the result of a query doesn't depend on other queries.
// `later` is true if the queries have already attended to other keys.
Status attend_own(const HeadQueries& of, int64_t group, ScoreMask mask, bool later, const Item& item) {
  const ops::Attend& op = of.op;
  const int64_t n = of.context.key_source_of(item).length(item.sequence), m = of.sums.rows;
  const int64_t rows_at_once = of.context.program.extents.full_attention_queries();
  const RightMatrix keys = whole_keys_or_values(op.keys, op.groups, group, op.d_head, true, of.context, item);
  const RightMatrix values = whole_keys_or_values(op.values, op.groups, group, op.d_head, false, of.context, item);
  const Reach all = reach_of(op, of.position, m, n);
  for (int64_t first = all.begin / full_keys * full_keys; first < all.end; first += full_keys) {
    for (int64_t r = 0; r < m; r += rows_at_once) {
      const int64_t rows = std::min(rows_at_once, m - r);
      const Reach reach = reach_of(op, of.position + r, rows, n);
      mask.row = of.position + r;
      mask.first = std::max(first, reach.begin);
      const int64_t count = std::min(first + full_keys, reach.end) - mask.first;
      if (count <= 0) continue;
      LINFORMER_TRY(attend_to(of, r, rows, part_of_side(keys, true, mask.first, count),
                              part_of_side(values, false, mask.first, count), &mask,
                              later || mask.first > reach.begin));
    }
  }
  return {};
}

}  // namespace

Status attend_whole(const ops::Attend& op, const QueryBlock& block, const Context& context, const Item& item) {
  const Source source = context.key_source_of(item);
  const int64_t d_head = op.d_head, m = block.queries.rows;
  ScoreMask mask;
  mask.causal = op.causal;
  mask.window = op.window;
  mask.inverse_scale = 1 / op.scale;
  if (op.excludes_masked && context.batch.has_masks) mask.masks = source.masks + source.starts[item.sequence];

  const int64_t most = context.program.extents.block_rows, padded = round_up(d_head, panel_width);
  float* const sums = context.thread_buffer(op.softmax.buffer, block.thread);
  float* const row_max = sums + most * padded;
  float* const row_sum = row_max + most;
  float* const rescale = row_sum + most;
  for (int64_t head = block.begin; head < block.end; ++head) {
    const int64_t group = op.groups.of_head(head);
    if (op.position_bias.present()) {
      const View& bias = op.position_bias;
      mask.position_bias = context.floats(bias) + head * bias.ld + bias.cols / 2;
    }
    const MutableMatrix q = block.queries.part(0, head * d_head, m, d_head);
    HeadQueries of{op,
                   context,
                   context.gemms.groups[static_cast<size_t>(op.groups.first + group)],
                   block.thread,
                   block.position,
                   q,
                   {sums, m, d_head, padded},
                   row_max,
                   row_sum,
                   rescale};
    if (rounds_queries(op)) {
      uint16_t* const rounded = reinterpret_cast<uint16_t*>(q.data);
      context.kernels.round_rows(q, {rounded, m, d_head, 2 * q.ld});
      of.queries = {rounded, ElementType::bf16, m, d_head, 2 * q.ld};
    }
    std::fill_n(row_max, m, -std::numeric_limits<float>::infinity());
    std::fill_n(row_sum, m, 0.f);
    const HeadProjection& projection = context.program.group(op.groups, group).projections[0];
    const int64_t beside = op.beside > 0 ? projection.key_count(source.length(item.sequence)) : 0;
    if (beside > 0) LINFORMER_TRY(attend_beside(of, group, beside, item));
    LINFORMER_TRY(attend_own(of, group, mask, beside > 0, item));
    for (int64_t r = 0; r < m; ++r) rescale[r] = 1.f / row_sum[r];
    context.kernels.scale_rows(of.sums, rescale);
    for (int64_t r = 0; r < m; ++r) std::copy_n(of.sums.row(r), d_head, block.queries.row(r) + head * d_head);
  }
  return {};
}

}  // namespace LINFORMER_NAMESPACE::cpu
