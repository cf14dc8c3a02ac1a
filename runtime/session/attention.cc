// Queries against compressed keys and values: paper section 4, equation 7.
#include <algorithm>

#include "base/checked.h"
#include "session/state.h"

namespace linformer {
namespace {

// Compressed rows of a text of n rows.
int64_t compressed_rows(const GroupProgram& group, int64_t n) {
  const Projection& projection = *group.projections[key_side];
  return projection.kind == ProjectionKind::linear ? group.k : windows(projection, n);
}

}  // namespace

Status Session::State::pack_keys_and_values(const LayerProgram& layer) {
  if (!program.packs) return {};
  const int64_t head_dim = layer.description->attention.head_dim;
  const bool by_head = layer.path == AttentionPath::by_head;
  const int64_t stride = by_head ? head_dim : layer.key_width;
  const int64_t groups = static_cast<int64_t>(layer.groups.size());
  const BufferId values_buffer = layer.value_is_key ? buffer_keys : buffer_values;
  const Source source = source_of(layer);
  return parallel(batch.texts * groups, [&](int64_t task, int) -> Status {
    const int64_t text = task / groups;
    const GroupProgram& group = layer.groups[static_cast<size_t>(task % groups)];
    const int64_t k = compressed_rows(group, source.length(text));
    const int64_t place = text * program.key_elements + (by_head ? group.key_row : group.column);
    const int64_t packed = text * program.compressed_elements + group.packed;
    program.kernels->pack_panel({buffer(buffer_keys) + place, k, head_dim, stride}, true,
                                buffer(buffer_compressed_key) + packed);
    program.kernels->pack_panel({buffer(values_buffer) + place, k, head_dim, stride}, false,
                                buffer(buffer_compressed_value) + packed);
    return {};
  });
}

// query: Q of `rows` packed rows from first_row on, all heads; replaced by the context, head by head.
Status Session::State::attend(const LayerProgram& layer, int64_t first_row, int64_t rows, float* query,
                              int thread) const {
  const int64_t stride = program.query_stride, end = first_row + rows;
  int64_t text = std::upper_bound(batch.row_starts, batch.row_starts + batch.texts, first_row) - batch.row_starts - 1;
  for (int64_t row = first_row; row < end; ++text) {
    const int64_t m = std::min(end, batch.row_starts[text + 1]) - row;
    float* q = query + (row - first_row) * stride;
    for (int64_t r = 0; batch.has_masks && r < m; ++r) {
      if (batch.masks[row + r] & mask_query) std::fill_n(q + r * stride, layer.query_width, 0.f);
    }
    LINFORMER_TRY(layer.path == AttentionPath::full ? attend_fully(layer, text, row, m, q, thread)
                                                    : attend_compressed(layer, text, row, m, q, thread));
    row += m;
  }
  return {};
}

Status Session::State::attend_compressed(const LayerProgram& layer, int64_t text, int64_t row, int64_t m, float* query,
                                         int thread) const {
  const AttentionDescription& attention = layer.description->attention;
  const int64_t head_dim = attention.head_dim, stride = program.query_stride, scores_stride = program.scores_stride;
  const bool by_head = layer.path == AttentionPath::by_head;
  float* scores = thread_buffer(buffer_scores, thread, scores_stride);
  const int64_t n = source_of(layer).length(text);
  const int64_t first_position = row - batch.row_starts[text];
  for (int64_t head = 0; head < attention.heads; ++head) {
    const GroupProgram& group = layer.groups[layer.groups.size() == 1 ? 0 : static_cast<size_t>(head)];
    const int64_t k = compressed_rows(group, n);
    const int64_t packed = text * program.compressed_elements + group.packed;
    const int64_t place = text * program.key_elements + (by_head ? group.key_row : group.column);
    const int64_t ld = by_head ? head_dim : layer.key_width;
    const MutableMatrix q{query + head * head_dim, m, head_dim, stride}, s{scores, m, k, scores_stride};
    GemmArgs gemm{q, {}, s, {}};
    gemm.b = program.packs
                 ? RightMatrix{buffer(buffer_compressed_key) + packed,
                               ElementType::f32,
                               RightLayout::panel16,
                               head_dim,
                               k,
                               0}
                 : RightMatrix{buffer(buffer_keys) + place, ElementType::f32, RightLayout::transposed, head_dim, k, ld};
    LINFORMER_TRY(program.gemm->run(group.scores, gemm, scratch(thread)));
    if (attention.causal) {
      for (int64_t r = 0; r < m; ++r) {
        const int64_t seen = std::min(k, first_position + r + 1);
        program.kernels->softmax_rows(s.part(r, 0, 1, seen), attention.scale);
        std::fill_n(s.row(r) + seen, k - seen, 0.f);
      }
    } else {
      program.kernels->softmax_rows(s, attention.scale);
    }
    const BufferId values = layer.value_is_key ? buffer_keys : buffer_values;
    gemm.a = s;
    gemm.b = program.packs
                 ? RightMatrix{buffer(buffer_compressed_value) + packed,
                               ElementType::f32,
                               RightLayout::panel16,
                               k,
                               head_dim,
                               0}
                 : RightMatrix{buffer(values) + place, ElementType::f32, RightLayout::row_major, k, head_dim, ld};
    gemm.c = q;
    LINFORMER_TRY(program.gemm->run(group.context, gemm, scratch(thread)));
  }
  return {};
}

}  // namespace linformer
