// X = norm(token + position), and what the dialect does around it. Source: fairseq's TransformerEncoder with
// layernorm_embedding, learned positions counted over the non-pad tokens, and quant_noise.
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "session/state.h"

namespace linformer {

Status Session::State::embed() {
  const EncoderDescription& e = encoder();
  const EmbeddingDescription& embedding = e.embedding;
  const Kernels& kernels = *program.kernels;
  const int64_t d = program.d;
  float* x = buffer(buffer_rows);
  const ElementType token_type = description().tensors[embedding.tokens].type;
  const std::byte* tokens = model->data(embedding.tokens);
  const bool has_positions = embedding.position_kind == PositionKind::learned;
  const ElementType position_type = has_positions ? description().tensors[embedding.positions].type : ElementType::f32;
  const std::byte* positions = has_positions ? model->data(embedding.positions) : nullptr;
  const bool pre_norm = e.norm_placement == NormPlacement::pre;
  const int64_t step = rows_per_task(batch.rows);

  return parallel(ceil_div(batch.rows, step), [&](int64_t task, int thread) -> Status {
    const int64_t first = task * step, rows = std::min(step, batch.rows - first);
    float* block = x + first * d;
    float* spare = thread_buffer(buffer_query, thread, program.query_stride);
    for (int64_t r = 0; r < rows; ++r) {
      float* row = block + r * d;
      kernels.widen(token_type, tokens + batch.ids[first + r] * d * element_bytes(token_type), row, d);
      if (embedding.scale != 1.f) {
        for (int64_t i = 0; i < d; ++i) row[i] *= embedding.scale;
      }
      if (has_positions) {
        kernels.widen(position_type, positions + batch.positions[first + r] * d * element_bytes(position_type), spare,
                      d);
        kernels.add(row, spare, d);
      }
    }
    const auto transform = [&]() -> Status {
      LinearCall call{rows, block, d, spare, program.query_stride};
      LINFORMER_TRY(run_linear(program.transform, embedding.transform, call, thread));
      for (int64_t r = 0; r < rows; ++r)
        std::memcpy(block + r * d, spare + r * program.query_stride, d * sizeof(float));
      return {};
    };
    if (embedding.transform.present() && embedding.transform_before_norm) LINFORMER_TRY(transform());
    if (embedding.norm.present()) normalize(embedding.norm, block, d, rows, block, d);
    if (embedding.transform.present() && !embedding.transform_before_norm) LINFORMER_TRY(transform());
    if (embedding.zero_pad_rows) {
      for (int64_t r = 0; r < rows; ++r) {
        if (batch.ids[first + r] == e.pad_id) std::fill_n(block + r * d, d, 0.f);
      }
    }
    if (pre_norm) {
      normalize(program.layers[0].description->attention_norm, block, d, rows, buffer(buffer_normalized) + first * d,
                d);
    }
    return {};
  });
}

}  // namespace linformer
