// Full attention in blocks of keys with an online softmax, so that nothing n x n exists: Vaswani et al. 2017,
// section 3.2.1; Milakov and Gimelshein 2018 for the softmax.
#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "cpu/executor.h"

namespace LINFORMER_NAMESPACE {
namespace {

constexpr float masked_score = -1e30f;
// Of keys that a query's place keeps it from, now or in a block that is left out: they count for nothing even where
// all others are masked, so that the blocks that were left out make no difference.
constexpr float out_of_reach = -2e30f;

// What the scores of one block of keys are changed by before the softmax.
struct ScoreMask {
  int64_t row = 0;                 // position of the first query
  int64_t first = 0;               // of the first key
  const uint8_t* masks = nullptr;  // of the keys, where masked ones are excluded
  bool causal = false;
  int64_t window = 0;                    // keys further away are excluded; 0: none
  const float* position_bias = nullptr;  // for key position - query position = 0
  float scale = 1;
};

void apply(const ScoreMask& mask, MutableMatrix scores) {
  for (int64_t j = 0; mask.masks != nullptr && j < scores.cols; ++j) {
    for (int64_t r = 0; (mask.masks[mask.first + j] & mask_row) != 0 && r < scores.rows; ++r) {
      scores.row(r)[j] = masked_score;
    }
  }
  // The softmax multiplies by the scale, so what is added after scaling is divided by it first.
  for (int64_t r = 0; mask.position_bias != nullptr && r < scores.rows; ++r) {
    const float* bias = mask.position_bias + mask.first - mask.row - r;
    float* row = scores.row(r);
    for (int64_t j = 0; j < scores.cols; ++j) row[j] += bias[j] / mask.scale;
  }
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

}  // namespace

// Queries of positions [row, row + query.rows) of one sequence against its keys.
Status CpuExecutor::attend_full(const Attention& attention, const Source& source, int64_t sequence, int64_t row,
                                MutableMatrix query, HeadRange range) const {
  const int64_t block = program_.extents.block_rows, d_head = attention.d_head, m = query.rows;
  const int64_t padded = round_up(d_head, panel_width), n = source.length(sequence);
  const int64_t all_rows = round_up(n, panel_width);
  const bool packs = program_.target.packs;
  const int64_t begin_of_sequence = source.panel_start(sequence) * program_.full_width;
  const float* keys = buffer(packs ? BufferId::compressed_key : BufferId::keys) + begin_of_sequence;
  const float* values = buffer(packs                    ? BufferId::compressed_value
                               : attention.value_is_key ? BufferId::keys
                                                        : BufferId::values) +
                        begin_of_sequence;
  // Keys that none of these rows sees are left out: beyond the last row, or outside of every row's window.
  int64_t seen = attention.causal ? std::min(n, row + m) : n, first_seen = 0;
  if (attention.window > 0) {
    seen = std::min(seen, row + m + attention.window);
    first_seen = std::max<int64_t>(row - attention.window, 0) / block * block;
  }
  ScoreMask mask;
  mask.row = row;
  mask.causal = attention.causal;
  mask.window = attention.window;
  mask.scale = attention.scale;
  if (attention.excludes_masked && batch_.has_masks) mask.masks = source.masks + source.starts[sequence];

  float* context_rows = block_buffer(BufferId::softmax, range.thread);
  const MutableMatrix context = {context_rows, m, d_head, padded};
  float* row_max = context_rows + block * padded;
  const OnlineSoftmax softmax = {row_max, row_max + block, row_max + 2 * block};
  const int64_t scores_ld = program_.arena.value(Term::d_scores);
  for (int64_t head = range.begin; head < range.end; ++head) {
    const int64_t g = attention.groups == 1 ? 0 : head;
    const KeyGroup& group = program_.group(attention, head);
    const GemmIds::Group& ids = gemms_.groups[static_cast<size_t>(attention.first_group + g)];
    if (attention.position_bias.present()) {
      const View& bias = attention.position_bias;
      mask.position_bias = floats(bias) + head * bias.ld + bias.cols / 2;
    }
    const MutableMatrix q = query.part(0, head * d_head, m, d_head);
    LeftMatrix left = q;
    if (rounds_queries(attention)) {
      uint16_t* const rounded = reinterpret_cast<uint16_t*>(q.data);
      kernels_.round_rows(q, {rounded, m, d_head, 2 * q.ld});
      left = {rounded, ElementType::bf16, m, d_head, 2 * q.ld};
    }
    std::fill_n(softmax.row_max, m, -std::numeric_limits<float>::infinity());
    std::fill_n(softmax.row_sum, m, 0.f);
    for (int64_t first = first_seen; first < seen; first += block) {
      const int64_t count = std::min(block, n - first);
      const int64_t place = packs ? (g * all_rows + first) * padded : first * attention.key_ld + group.column;
      const MutableMatrix scores = {block_buffer(BufferId::scores, range.thread), m, count, scores_ld};
      GemmArgs args;
      args.a = left;
      args.b = {keys + place, attention.compute, packs ? RightLayout::panel16 : RightLayout::transposed, d_head,
                count,        attention.key_ld};
      args.c = scores;
      LINFORMER_TRY(provider_->run(ids.scores, args, scratch(range.thread)));
      mask.first = first;
      apply(mask, scores);
      if (attention.compute == ElementType::bf16) {
        kernels_.softmax_step_bf16(scores, attention.scale, softmax);
      } else {
        kernels_.softmax_step(scores, attention.scale, softmax);
      }
      args.a = probabilities_of(attention, scores);
      args.b = {values + place, attention.compute, packs ? RightLayout::panel16 : RightLayout::row_major, count,
                d_head,         attention.key_ld};
      args.c = context;
      const bool later = first > first_seen;
      if (later) {
        kernels_.scale_rows(context, softmax.rescale);
        args.epilogue.accumulate = true;
      }
      LINFORMER_TRY(provider_->run(later ? ids.context_add : ids.context, args, scratch(range.thread)));
    }
    for (int64_t r = 0; r < m; ++r) softmax.rescale[r] = 1.f / softmax.row_sum[r];
    kernels_.scale_rows(context, softmax.rescale);
    for (int64_t r = 0; r < m; ++r) std::copy_n(context.row(r), d_head, query.row(r) + head * d_head);
  }
  return {};
}

}  // namespace LINFORMER_NAMESPACE
