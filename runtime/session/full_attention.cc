// Full attention in blocks of rows with a running softmax, so that nothing n x n exists: Vaswani et al. 2017,
// section 3.2.1; Milakov and Gimelshein 2018 for the softmax.
#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "session/state.h"

namespace linformer {
namespace {

constexpr float masked_score = -1e30f;

}  // namespace

// K and V of every block of rows. A text's panels begin at its panel_start() x full width, head after head; K^T lies
// there whole, V in one block of panels for each block of rows.
Status Session::State::full_keys_and_values(const LayerProgram& layer) {
  const int64_t block = program.plan.block_rows, head_dim = layer.description->attention.head_dim;
  const int64_t width = layer.key_width, groups = static_cast<int64_t>(layer.groups.size());
  const int64_t padded = round_up(head_dim, panel_width);
  const int64_t sides = layer.value_is_key ? 1 : 2;
  const Source source = source_of(layer);
  int64_t longest = 0;
  for (int64_t t = 0; t < batch.texts; ++t) longest = std::max(longest, source.length(t));
  const int64_t blocks = ceil_div(longest, block);

  return parallel(batch.texts * sides * blocks, [&](int64_t task, int thread) -> Status {
    const int64_t text = task / (sides * blocks), first = task % blocks * block, n = source.length(text);
    if (first >= n) return {};
    const Side which = task / blocks % sides == 0 ? key_side : value_side;
    const int64_t rows = std::min(block, n - first);
    if (!program.packs) {
      float* out = buffer(which == key_side ? buffer_keys : buffer_values) +
                   (source.panel_start(text) + first) * program.full_width;
      return project_rows(layer, which, source, text, first, rows, out, thread);
    }
    float* projected = thread_buffer(buffer_ffn, thread, program.ffn_stride);
    LINFORMER_TRY(project_rows(layer, which, source, text, first, rows, projected, thread));
    const int64_t all_rows = round_up(n, panel_width);
    for (int64_t g = 0; g < groups; ++g) {
      const float* head = projected + layer.groups[static_cast<size_t>(g)].column;
      const int64_t place = source.panel_start(text) * program.full_width + (g * all_rows + first) * padded;
      if (which == key_side) {
        program.kernels->pack_panel({head, rows, head_dim, width}, true, buffer(buffer_compressed_key) + place);
      }
      if (which == value_side || layer.value_is_key) {
        program.kernels->pack_panel({head, rows, head_dim, width}, false, buffer(buffer_compressed_value) + place);
      }
    }
    return {};
  });
}

// Rows [row, row + m) of one text against all of its keys.
Status Session::State::attend_fully(const LayerProgram& layer, int64_t text, int64_t row, int64_t m, float* query,
                                    int thread) const {
  const AttentionDescription& attention = layer.description->attention;
  const int64_t block = program.plan.block_rows, head_dim = attention.head_dim, stride = program.query_stride;
  const int64_t padded = round_up(head_dim, panel_width), scores_stride = program.scores_stride;
  const Kernels& kernels = *program.kernels;
  const Source source = source_of(layer);
  const int64_t n = source.length(text), all_rows = round_up(n, panel_width);
  const int64_t first_position = row - batch.row_starts[text];
  // Causal: keys beyond the last of these rows count for none of them.
  const int64_t seen = attention.causal ? std::min(n, first_position + m) : n;
  const uint8_t* masks = source.masks + source.starts[text];
  const bool excludes = attention.row_mask == RowMask::excluded && batch.has_masks;

  float* scores = thread_buffer(buffer_scores, thread, scores_stride);
  float* context = thread_buffer(buffer_context, thread, program.context_stride + 3);
  float* row_max = context + block * program.context_stride;
  float* row_sum = row_max + block;
  float* rescale = row_sum + block;
  const MutableMatrix sums{context, m, head_dim, program.context_stride};
  for (int64_t head = 0; head < attention.heads; ++head) {
    const int64_t g = layer.groups.size() == 1 ? 0 : head;
    const GroupProgram& group = layer.groups[static_cast<size_t>(g)];
    std::fill_n(row_max, m, -std::numeric_limits<float>::infinity());
    std::fill_n(row_sum, m, 0.f);
    for (int64_t first = 0; first < seen; first += block) {
      const int64_t keys = std::min(block, n - first);
      const int64_t place = program.packs
                                ? source.panel_start(text) * program.full_width + (g * all_rows + first) * padded
                                : (source.panel_start(text) + first) * program.full_width + group.column;
      const BufferId plain_values = layer.value_is_key ? buffer_keys : buffer_values;
      const MutableMatrix s{scores, m, keys, scores_stride};
      GemmArgs gemm;
      gemm.a = {query + head * head_dim, m, head_dim, stride};
      gemm.b = {buffer(program.packs ? buffer_compressed_key : buffer_keys) + place,
                ElementType::f32,
                program.packs ? RightLayout::panel16 : RightLayout::transposed,
                head_dim,
                keys,
                layer.key_width};
      gemm.c = s;
      LINFORMER_TRY(program.gemm->run(group.scores, gemm, scratch(thread)));
      for (int64_t j = 0; excludes && j < keys; ++j) {
        for (int64_t r = 0; (masks[first + j] & mask_row) != 0 && r < m; ++r)
          scores[r * scores_stride + j] = masked_score;
      }
      for (int64_t r = 0; attention.causal && r < m; ++r) {
        const int64_t visible = std::clamp<int64_t>(first_position + r + 1 - first, 0, keys);
        std::fill_n(scores + r * scores_stride + visible, keys - visible, masked_score);
      }
      kernels.softmax_step(s, attention.scale, {row_max, row_sum, rescale});
      gemm.a = s;
      gemm.b = {buffer(program.packs ? buffer_compressed_value : plain_values) + place,
                ElementType::f32,
                program.packs ? RightLayout::panel16 : RightLayout::row_major,
                keys,
                head_dim,
                layer.key_width};
      gemm.c = sums;
      if (first > 0) {
        kernels.scale_rows(sums, rescale);
        gemm.epilogue.accumulate = true;
      }
      LINFORMER_TRY(program.gemm->run(first > 0 ? layer.context_add : group.context, gemm, scratch(thread)));
    }
    for (int64_t r = 0; r < m; ++r) rescale[r] = 1.f / row_sum[r];
    kernels.scale_rows(sums, rescale);
    for (int64_t r = 0; r < m; ++r) {
      std::copy_n(context + r * program.context_stride, head_dim, query + r * stride + head * head_dim);
    }
  }
  return {};
}

}  // namespace linformer
