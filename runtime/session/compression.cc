// Linformer's compression of keys and values, with one projection for all heads: paper section 4, equation 7.
// Nothing of size heads x n x k exists.
#include <algorithm>

#include "base/checked.h"
#include "session/state.h"

namespace linformer {
namespace {

// K[j, :] += (sum over t < n of E[j, t]) * b, the part of E (Z W + 1 b^T) that (E Z) W lacks.
void add_row_sums(const float* projection, int64_t projection_stride, int64_t n, const float* bias, int64_t rows,
                  int64_t width, float* c, int64_t c_stride) {
  for (int64_t j = 0; j < rows; ++j) {
    constexpr int lanes = 8;  // a fixed order of summation
    float sums[lanes] = {};
    const float* row = projection + j * projection_stride;
    int64_t t = 0;
    for (; t + lanes <= n; t += lanes) {
      for (int lane = 0; lane < lanes; ++lane) sums[lane] += row[t + lane];
    }
    for (int lane = 0; t < n; ++t, ++lane) sums[lane] += row[t];
    const float sum = ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
    for (int64_t i = 0; i < width; ++i) c[j * c_stride + i] += sum * bias[i];
  }
}

}  // namespace

Source Session::State::source_of(const LayerProgram& layer) const {
  const KeySource from = layer.description->attention.key_source;
  if (from == KeySource::memory || (from == KeySource::memory_or_own && batch.has_memory)) {
    return {buffer(buffer_memory), encoder().memory_width, batch.memory_starts, batch.memory_masks};
  }
  const bool normalized = encoder().norm_placement == NormPlacement::pre && layer.description->attention_norm.present();
  const BufferId stream = encoder().residual == ResidualKind::reversible ? buffer_second_rows : buffer_rows;
  return {buffer(normalized ? buffer_normalized : stream), program.d, batch.row_starts, batch.masks};
}

// out[rows, D] = Z W of a text's rows from `first` on; masked ones are zero where the dialect says so.
Status Session::State::project_rows(const LayerProgram& layer, Side which, const Source& source, int64_t text,
                                    int64_t first, int64_t rows, float* out, int thread) const {
  const SideProgram& side = layer.sides[which];
  Linear linear = *side.linear;
  if (side.bias_after) linear.bias = absent;
  const int64_t width = layer.key_width;
  LINFORMER_TRY(run_linear(side.linear_first, linear,
                           {rows, source.text(text) + first * source.stride, source.stride, out, width}, thread));
  if (layer.description->attention.row_mask != RowMask::zeroed) return {};
  for (int64_t r = 0; r < rows; ++r) {
    if (source.masks[source.starts[text] + first + r] & mask_row) std::fill_n(out + r * width, width, 0.f);
  }
  return {};
}

// Texts of project_first_below rows or more: compressed = E Z, in tasks of some columns each.
// Shorter ones, and all where each head has its own projection: compressed = Z W, whole.
Status Session::State::compress(const LayerProgram& layer) {
  const int64_t d = layer.source_width;
  const int64_t chunks = ceil_div(d, compress_columns);
  const int64_t sides = layer.value_is_key ? 1 : 2;
  const int64_t tasks_per_text = sides * chunks;
  const Source source = source_of(layer);

  return parallel(batch.texts * tasks_per_text, [&](int64_t task, int thread) -> Status {
    const int64_t text = task / tasks_per_text;
    const Side which = task % tasks_per_text < chunks ? key_side : value_side;
    const int64_t chunk = task % chunks;
    const SideProgram& side = layer.sides[which];
    const int64_t n = source.length(text);
    float* compressed = buffer(which == key_side ? buffer_compressed_key : buffer_compressed_value) +
                        text * program.compressed_elements;
    if (n < layer.project_first_below) {
      // The rows of Z are dealt out to as many tasks as there are chunks.
      const int64_t step = std::min(round_up(ceil_div(n, chunks), panel_width), program.plan.block_rows);
      for (int64_t first = chunk * step; first < n; first += chunks * step) {
        LINFORMER_TRY(project_rows(layer, which, source, text, first, std::min(step, n - first),
                                   compressed + first * layer.key_width, thread));
      }
      return {};
    }
    if (side.compress < 0) return {};  // E = F: the key side's E Z serves both
    const int64_t column = chunk * compress_columns, columns = std::min(compress_columns, d - column);
    const GemmArgs gemm{
        {floats(side.projection->weight), layer.k, n, encoder().max_tokens},
        {source.text(text) + column, ElementType::f32, RightLayout::row_major, n, columns, source.stride},
        {compressed + column, layer.k, columns, d},
        {}};
    return program.gemm->run(side.compress, gemm, scratch(thread));
  });
}

Status Session::State::keys_and_values(const LayerProgram& layer) {
  const int64_t d = layer.source_width, k = layer.k, width = layer.key_width;
  const int64_t sides = layer.value_is_key ? 1 : 2;
  // Enough tasks for every thread when there are few texts.
  const int64_t splits =
      std::max<int64_t>(ceil_div(team.size(), sides * batch.texts), ceil_div(k, program.plan.block_rows));
  const int64_t step = std::min(round_up(ceil_div(k, splits), panel_width), program.plan.block_rows);
  const int64_t steps = ceil_div(k, step);
  const Source source = source_of(layer);

  return parallel(batch.texts * sides * steps, [&](int64_t task, int thread) -> Status {
    const int64_t text = task / (sides * steps);
    const Side which = task / steps % sides == 0 ? key_side : value_side;
    const int64_t first = task % steps * step, rows = std::min(step, k - first);
    const SideProgram& side = layer.sides[which];
    const int64_t n = source.length(text);
    const bool linear_first = n < layer.project_first_below;
    const Side from = !linear_first && layer.shared_projection ? key_side : which;
    const float* compressed =
        buffer(from == key_side ? buffer_compressed_key : buffer_compressed_value) + text * program.compressed_elements;
    const float* projection = floats(side.projection->weight) + first * encoder().max_tokens;
    float* out = buffer(which == key_side ? buffer_keys : buffer_values) + text * program.key_elements + first * width;
    GemmArgs gemm;
    gemm.c = {out, rows, width, width};
    if (side.projection->bias != absent) gemm.epilogue.row_bias = floats(side.projection->bias) + first;
    if (side.bias_after) gemm.epilogue.bias = floats(side.linear->bias);
    if (linear_first) {
      gemm.a = {projection, rows, n, encoder().max_tokens};
      gemm.b = {compressed, ElementType::f32, RightLayout::row_major, n, width, width};
      return program.gemm->run(side.compress_after, gemm, scratch(thread));
    }
    gemm.a = {compressed + first * d, rows, d, d};
    gemm.b = weight(*side.linear);
    LINFORMER_TRY(program.gemm->run(side.linear_after, gemm, scratch(thread)));
    if (side.needs_row_sums) {
      add_row_sums(projection, encoder().max_tokens, n, floats(side.linear->bias), rows, width, out, width);
    }
    return {};
  });
}

}  // namespace linformer
