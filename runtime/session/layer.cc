// One encoder layer, post-norm or pre-norm, on blocks of rows that stay in the core's cache.
#include <algorithm>

#include "base/checked.h"
#include "session/state.h"

namespace linformer {

// target += the output projection of the context in `query`, or target = it where there is no residual.
Status Session::State::attention_output(const LayerProgram& layer, float* query, float* target, int64_t rows,
                                        int thread) const {
  const LayerDescription& description = *layer.description;
  const AttentionDescription& attention = description.attention;
  const int64_t stride = program.d, query_stride = program.query_stride, ffn_stride = program.ffn_stride;
  float* spare = thread_buffer(buffer_ffn, thread, ffn_stride);
  const bool adds = encoder().residual != ResidualKind::none;
  if (attention.output_activation != Activation::none) {
    program.kernels->activate(attention.output_activation, {query, rows, layer.query_width, query_stride});
  }
  const float* residual = target;
  int64_t residual_stride = stride;
  const int64_t inner = attention.output_second.present() ? outputs_of(attention.output) : 0;
  if (description.attention_resample.present()) {
    LINFORMER_TRY(run_linear(layer.attention_resample, description.attention_resample,
                             {rows, target, stride, spare + inner, ffn_stride}, thread));
    residual = spare + inner;
    residual_stride = ffn_stride;
  }
  if (!attention.output.present()) {
    for (int64_t r = 0; r < rows; ++r) {
      float* row = target + r * stride;
      if (!adds) std::fill_n(row, layer.query_width, 0.f);
      if (residual != target) std::copy_n(residual + r * residual_stride, layer.query_width, row);
      program.kernels->add(row, query + r * query_stride, layer.query_width);
    }
    return {};
  }
  LinearCall last{rows, query, query_stride, target, stride};
  if (adds) {
    last.residual = residual;
    last.residual_stride = residual_stride;
  }
  if (!attention.output_second.present()) return run_linear(layer.output, attention.output, last, thread);
  LINFORMER_TRY(run_linear(layer.output, attention.output, {rows, query, query_stride, spare, ffn_stride}, thread));
  last.a = spare;
  last.a_stride = ffn_stride;
  return run_linear(layer.output_second, attention.output_second, last, thread);
}

// target += ffn(norm(input)) pre-norm, or target += ffn(input) post-norm. `input` is `target` but in a reversible
// model.
Status Session::State::feed_forward(const LayerProgram& layer, float* input, float* target, int64_t rows,
                                    int thread) const {
  const LayerDescription& description = *layer.description;
  const int64_t stride = program.d;
  float* spare = thread_buffer(buffer_query, thread, program.query_stride);
  float* ffn = thread_buffer(buffer_ffn, thread, program.ffn_stride);
  LinearCall in{rows, input, stride, ffn, program.ffn_stride};
  in.activation = description.activation;
  if (encoder().norm_placement == NormPlacement::pre && description.ffn_norm.present()) {
    normalize(description.ffn_norm, input, stride, rows, layer.width_between, spare, program.query_stride);
    in.a = spare;
    in.a_stride = program.query_stride;
  }
  LINFORMER_TRY(run_linear(layer.ffn_in, description.ffn_in, in, thread));
  LinearCall out{rows, ffn, program.ffn_stride, target, stride};
  if (encoder().residual != ResidualKind::none) {
    out.residual = target;
    out.residual_stride = stride;
  }
  if (description.ffn_resample.present()) {
    LINFORMER_TRY(run_linear(layer.ffn_resample, description.ffn_resample,
                             {rows, target, stride, spare, program.query_stride}, thread));
    if (out.residual != nullptr) {
      out.residual = spare;
      out.residual_stride = program.query_stride;
    }
  }
  return run_linear(layer.ffn_out, description.ffn_out, out, thread);
}

Status Session::State::run_layer(const LayerProgram& layer, const LayerProgram* next) {
  if (layer.path == AttentionPath::full) {
    LINFORMER_TRY(full_keys_and_values(layer));
  } else {
    LINFORMER_TRY(compress(layer));
    LINFORMER_TRY(layer.path == AttentionPath::by_head ? keys_and_values_by_head(layer) : keys_and_values(layer));
    LINFORMER_TRY(pack_keys_and_values(layer));
  }

  const LayerDescription& description = *layer.description;
  const bool pre_norm = encoder().norm_placement == NormPlacement::pre;
  const bool reversible = encoder().residual == ResidualKind::reversible;
  const int64_t stride = program.d;
  return parallel_rows(batch.rows, [&](int64_t first, int64_t rows, int thread) -> Status {
    float* x = buffer(buffer_rows) + first * stride;
    // A reversible layer reads its second stream where others read their only one.
    float* second = reversible ? buffer(buffer_second_rows) + first * stride : x;
    float* normalized = buffer(buffer_normalized) + first * stride;
    float* query = thread_buffer(buffer_query, thread, program.query_stride);
    const float* z = pre_norm && description.attention_norm.present() ? normalized : second;
    LINFORMER_TRY(
        run_linear(layer.query, description.attention.query, {rows, z, stride, query, program.query_stride}, thread));
    LINFORMER_TRY(attend(layer, first, rows, query, thread));
    LINFORMER_TRY(attention_output(layer, query, x, rows, thread));
    if (!pre_norm && description.attention_norm.present()) {
      normalize(description.attention_norm, x, stride, rows, layer.width_between, x, stride);
    }
    if (description.ffn_in.present()) {
      LINFORMER_TRY(feed_forward(layer, x, second, rows, thread));
      if (!pre_norm && description.ffn_norm.present()) {
        normalize(description.ffn_norm, x, stride, rows, layer.width_out, x, stride);
      }
    }
    if (pre_norm && next != nullptr && next->description->attention_norm.present()) {
      normalize(next->description->attention_norm, second, stride, rows, layer.width_out, normalized, stride);
    }
    return {};
  });
}

// From the last layer's rows to the encoder's output, in place.
Status Session::State::finish() {
  const EncoderDescription& e = encoder();
  const bool reversible = e.residual == ResidualKind::reversible;
  const bool zeroes = e.zero_masked_rows && batch.has_masks;
  if (!reversible && !e.final_norm.present() && !e.output.present() && !zeroes) return {};
  const int64_t stride = program.d, width = program.layers.back().width_out;
  return parallel_rows(batch.rows, [&](int64_t first, int64_t rows, int thread) -> Status {
    float* x = buffer(buffer_rows) + first * stride;
    if (reversible) program.kernels->add(x, buffer(buffer_second_rows) + first * stride, rows * stride);
    if (e.final_norm.present()) normalize(e.final_norm, x, stride, rows, width, x, stride);
    if (e.output.present()) {
      float* out = thread_buffer(buffer_query, thread, program.query_stride);
      LINFORMER_TRY(run_linear(program.output, e.output, {rows, x, stride, out, program.query_stride}, thread));
      for (int64_t r = 0; r < rows; ++r) {
        std::copy_n(out + r * program.query_stride, program.output_width, x + r * stride);
      }
    }
    for (int64_t r = 0; zeroes && r < rows; ++r) {
      if (batch.masks[first + r] & mask_row) std::fill_n(x + r * stride, program.output_width, 0.f);
    }
    return {};
  });
}

}  // namespace linformer
