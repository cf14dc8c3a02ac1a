// Linformer attention: paper section 4, equation 7. Keys and values are compressed over the positions; the rows
// then attend to k compressed rows. Nothing of size heads x n x k exists.
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

// Texts of project_first_below tokens or more: compressed = E Z, in tasks of some columns each.
// Shorter ones: compressed = Z W, whole.
Status Session::State::compress(const LayerProgram& layer) {
  const int64_t d = program.d;
  const int64_t chunks = ceil_div(d, compress_columns);
  const bool pre_norm = encoder().norm_placement == NormPlacement::pre;
  const float* z = buffer(pre_norm ? buffer_normalized : buffer_rows);
  const int64_t tasks_per_text = 2 * chunks;

  return parallel(batch.texts * tasks_per_text, [&](int64_t task, int thread) -> Status {
    const int64_t text = task / tasks_per_text;
    const Side which = task % tasks_per_text < chunks ? key_side : value_side;
    const int64_t chunk = task % chunks;
    const CompressedSide& side = layer.sides[which];
    const int64_t n = batch.length(text);
    const float* rows = z + batch.row_starts[text] * d;
    float* compressed = buffer(which == key_side ? buffer_compressed_key : buffer_compressed_value) +
                        text * program.compressed_elements;
    if (n < layer.project_first_below) {
      // The rows of Z are dealt out to as many tasks as there are chunks.
      const int64_t step = std::min(round_up(ceil_div(n, chunks), panel_width), program.plan.block_rows);
      Linear linear = *side.linear;
      if (side.projection->order == ProjectionOrder::before_linear) linear.bias = absent;  // added after E
      const int64_t width = static_cast<int64_t>(description().tensors[linear.weight].shape[0]);
      for (int64_t first = chunk * step; first < n; first += chunks * step) {
        const LinearCall call{std::min(step, n - first), rows + first * d, d, compressed + first * width, width};
        LINFORMER_TRY(run_linear(side.linear_first, linear, call, thread));
      }
      return {};
    }
    if (side.compress < 0) return {};  // E = F: the key side's E Z serves both
    Product product{};
    product.m = layer.k;
    product.n = std::min(compress_columns, d - chunk * compress_columns);
    product.k = n;
    product.a = floats(side.projection->weight);
    product.a_stride = encoder().max_tokens;
    product.b = rows + chunk * compress_columns;
    product.b_stride = d;
    product.c = compressed + chunk * compress_columns;
    product.c_stride = d;
    return program.backend->run(side.compress, product, scratch(thread));
  });
}

Status Session::State::keys_and_values(const LayerProgram& layer) {
  const int64_t d = program.d, k = layer.k;
  const int64_t width = int64_t{layer.description->attention.heads} * layer.description->attention.head_dim;
  // Enough tasks for every thread when there are few texts.
  const int64_t splits =
      std::max<int64_t>(ceil_div(team.size(), 2 * batch.texts), ceil_div(k, program.plan.block_rows));
  const int64_t step = std::min(round_up(ceil_div(k, splits), panel_width), program.plan.block_rows);
  const int64_t steps = ceil_div(k, step);

  return parallel(batch.texts * 2 * steps, [&](int64_t task, int thread) -> Status {
    const int64_t text = task / (2 * steps);
    const Side which = task / steps % 2 == 0 ? key_side : value_side;
    const int64_t first = task % steps * step, rows = std::min(step, k - first);
    const CompressedSide& side = layer.sides[which];
    const int64_t n = batch.length(text);
    const bool linear_first = n < layer.project_first_below;
    const Side source = !linear_first && layer.shared_projection ? key_side : which;
    const float* compressed = buffer(source == key_side ? buffer_compressed_key : buffer_compressed_value) +
                              text * program.compressed_elements;
    const float* projection = floats(side.projection->weight) + first * encoder().max_tokens;
    const float* row_bias = side.projection->bias == absent ? nullptr : floats(side.projection->bias) + first;
    const bool bias_before_projection = side.projection->order == ProjectionOrder::after_linear;
    Product product{};
    product.m = rows;
    product.n = width;
    product.c = buffer(which == key_side ? buffer_keys : buffer_values) + text * program.key_elements + first * width;
    product.c_stride = width;
    product.epilogue.row_bias = row_bias;
    if (!bias_before_projection) product.epilogue.bias = floats(side.linear->bias);
    if (linear_first) {
      product.k = n;
      product.a = projection;
      product.a_stride = encoder().max_tokens;
      product.b = compressed;
      product.b_stride = width;
      return program.backend->run(side.compress_after, product, scratch(thread));
    }
    product.k = d;
    product.a = compressed + first * d;
    product.a_stride = d;
    product.b = model->data(side.linear->weight);
    LINFORMER_TRY(program.backend->run(side.linear_after, product, scratch(thread)));
    if (side.needs_row_sums) {
      add_row_sums(projection, encoder().max_tokens, n, floats(side.linear->bias), rows, width, product.c, width);
    }
    return {};
  });
}

Status Session::State::pack_keys_and_values(const LayerProgram& layer) {
  if (!program.packs) return {};
  const int64_t heads = layer.description->attention.heads, head_dim = layer.description->attention.head_dim;
  const int64_t k = layer.k, width = heads * head_dim;
  return parallel(batch.texts * heads, [&](int64_t task, int) -> Status {
    const int64_t text = task / heads, head = task % heads;
    const float* keys = buffer(buffer_keys) + text * program.key_elements + head * head_dim;
    const float* values = buffer(buffer_values) + text * program.key_elements + head * head_dim;
    float* packed_keys = buffer(buffer_compressed_key) + text * program.compressed_elements;
    float* packed_values = buffer(buffer_compressed_value) + text * program.compressed_elements;
    program.kernels->pack_panel(keys, width, true, head_dim, k, packed_keys + head * panel_elements(head_dim, k));
    program.kernels->pack_panel(values, width, false, k, head_dim, packed_values + head * panel_elements(k, head_dim));
    return {};
  });
}

// query: Q of `rows` packed rows from first_row on, all heads; replaced by the context, head by head.
Status Session::State::attend(const LayerProgram& layer, int64_t first_row, int64_t rows, float* query,
                              int thread) const {
  const AttentionDescription& attention = layer.description->attention;
  const int64_t heads = attention.heads, head_dim = attention.head_dim, k = layer.k, width = heads * head_dim;
  const int64_t stride = program.query_stride, scores_stride = program.scores_stride;
  float* scores = thread_buffer(buffer_scores, thread, scores_stride);
  const int64_t end = first_row + rows;
  int64_t text = std::upper_bound(batch.row_starts, batch.row_starts + batch.texts, first_row) - batch.row_starts - 1;
  for (int64_t row = first_row; row < end; ++text) {
    const int64_t m = std::min(end, batch.row_starts[text + 1]) - row;
    float* q = query + (row - first_row) * stride;
    for (int64_t head = 0; head < heads; ++head) {
      Product product{};
      product.m = m;
      product.n = k;
      product.k = head_dim;
      product.a = q + head * head_dim;
      product.a_stride = stride;
      product.c = scores;
      product.c_stride = scores_stride;
      if (program.packs) {
        product.b =
            buffer(buffer_compressed_key) + text * program.compressed_elements + head * panel_elements(head_dim, k);
      } else {
        product.b = buffer(buffer_keys) + text * program.key_elements + head * head_dim;
        product.b_stride = width;
      }
      LINFORMER_TRY(program.backend->run(layer.scores, product, scratch(thread)));
      program.kernels->softmax_rows(scores, scores_stride, m, k, attention.scale);

      product.n = head_dim;
      product.k = k;
      product.a = scores;
      product.a_stride = scores_stride;
      product.c = q + head * head_dim;
      product.c_stride = stride;
      if (program.packs) {
        product.b =
            buffer(buffer_compressed_value) + text * program.compressed_elements + head * panel_elements(k, head_dim);
      } else {
        product.b = buffer(buffer_values) + text * program.key_elements + head * head_dim;
      }
      LINFORMER_TRY(program.backend->run(layer.context, product, scratch(thread)));
    }
    row += m;
  }
  return {};
}

}  // namespace linformer
