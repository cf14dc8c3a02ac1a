// One encoder layer, post-norm or pre-norm, on blocks of rows that stay in the core's cache.
#include <algorithm>

#include "base/checked.h"
#include "session/state.h"

namespace linformer {

Status Session::State::run_layer(const LayerProgram& layer, const Norm* next_norm) {
  LINFORMER_TRY(compress(layer));
  LINFORMER_TRY(keys_and_values(layer));
  LINFORMER_TRY(pack_keys_and_values(layer));

  const LayerDescription& description = *layer.description;
  const bool pre_norm = encoder().norm_placement == NormPlacement::pre;
  const int64_t d = program.d;
  const int64_t step = rows_per_task(batch.rows);
  float* x = buffer(buffer_rows);
  float* normalized = buffer(buffer_normalized);

  return parallel(ceil_div(batch.rows, step), [&](int64_t task, int thread) -> Status {
    const int64_t first = task * step, rows = std::min(step, batch.rows - first);
    float* block = x + first * d;
    float* query = thread_buffer(buffer_query, thread, program.query_stride);
    float* ffn = thread_buffer(buffer_ffn, thread, program.ffn_stride);
    const float* z = pre_norm ? normalized + first * d : block;

    LINFORMER_TRY(
        run_linear(layer.query, description.attention.query, {rows, z, d, query, program.query_stride}, thread));
    LINFORMER_TRY(attend(layer, first, rows, query, thread));
    LinearCall output{rows, query, program.query_stride, block, d};
    output.residual = block;
    output.residual_stride = d;
    LINFORMER_TRY(run_linear(layer.output, description.attention.output, output, thread));

    const float* ffn_input = block;
    int64_t ffn_input_stride = d;
    if (pre_norm) {
      normalize(description.ffn_norm, block, d, rows, query, program.query_stride);
      ffn_input = query;
      ffn_input_stride = program.query_stride;
    } else {
      normalize(description.attention_norm, block, d, rows, block, d);
    }
    LinearCall ffn_in{rows, ffn_input, ffn_input_stride, ffn, program.ffn_stride};
    ffn_in.activation = description.activation;
    LINFORMER_TRY(run_linear(layer.ffn_in, description.ffn_in, ffn_in, thread));
    LinearCall ffn_out{rows, ffn, program.ffn_stride, block, d};
    ffn_out.residual = block;
    ffn_out.residual_stride = d;
    LINFORMER_TRY(run_linear(layer.ffn_out, description.ffn_out, ffn_out, thread));
    if (!pre_norm) normalize(description.ffn_norm, block, d, rows, block, d);
    if (next_norm != nullptr) normalize(*next_norm, block, d, rows, normalized + first * d, d);
    return {};
  });
}

}  // namespace linformer
