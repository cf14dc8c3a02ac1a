// What leaves the session beside scores: hidden states, pooled vectors, sentence embeddings, masked-LM logits.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/checked.h"
#include "session/state.h"

namespace linformer {
namespace {

// Columns that are summed at once.
constexpr int64_t pool_columns = 64;

}  // namespace

void Session::State::copy_hidden(int layer, float* destination) const {
  const bool both = layer >= 0 && encoder().residual == ResidualKind::reversible;
  const int64_t width = hidden_width(layer), stream = both ? width / 2 : width, stride = program.d;
  for (int64_t t = 0; t < batch.texts; ++t) {
    const int64_t kept = batch.length(t);
    const int64_t rows = output_rows(given_rows(batch.inputs[static_cast<size_t>(t)]));
    const int64_t first = batch.row_starts[t] * stride;
    for (int64_t r = 0; r < kept; ++r) {
      std::copy_n(buffer(buffer_rows) + first + r * stride, stream, destination + r * width);
      if (both) std::copy_n(buffer(buffer_second_rows) + first + r * stride, stream, destination + r * width + stream);
    }
    std::fill_n(destination + kept * width, (rows - kept) * width, 0.f);
    destination += rows * width;
  }
}

// pooled[texts, output width]. Masked rows don't count, but for the mean over N, where they do as they are.
void Session::State::pool(Pooling pooling, float* pooled) const {
  const int64_t width = program.output_width, stride = program.d;
  for (int64_t t = 0; t < batch.texts; ++t, pooled += width) {
    const float* rows = buffer(buffer_rows) + batch.row_starts[t] * stride;
    const uint8_t* masks = batch.masks + batch.row_starts[t];
    const int64_t n = batch.length(t);
    if (pooling == Pooling::first_token) {
      std::copy_n(rows, width, pooled);
      continue;
    }
    const bool all = pooling == Pooling::mean_over_max_tokens;
    for (int64_t first = 0; first < width; first += pool_columns) {
      const int64_t columns = std::min(pool_columns, width - first);
      double sums[pool_columns] = {};
      float highest[pool_columns];
      int64_t count = 0;
      for (int64_t r = 0; r < n; ++r) {
        if (!all && (masks[r] & mask_row) != 0) continue;
        const float* row = rows + r * stride + first;
        for (int64_t i = 0; i < columns; ++i) {
          sums[i] += static_cast<double>(row[i]);
          highest[i] = count == 0 || row[i] > highest[i] ? row[i] : highest[i];
        }
        ++count;
      }
      const double divisor = all ? encoder().max_tokens : static_cast<double>(std::max<int64_t>(count, 1));
      for (int64_t i = 0; i < columns; ++i) {
        const float mean = static_cast<float>(sums[i] / divisor);
        pooled[first + i] = pooling == Pooling::max && count > 0 ? highest[i] : mean;
      }
    }
  }
}

int64_t Session::State::embedding_width() const {
  const SentenceEmbedding& embedding = description().embedding;
  if (!embedding.present || !program.has_heads) return 0;
  return embedding.dense.present() ? outputs_of(embedding.dense) : program.output_width;
}

Status Session::State::embed_texts(const Outputs& outputs) {
  if (outputs.embeddings.empty()) return {};
  const SentenceEmbedding& embedding = description().embedding;
  const int64_t width = embedding_width();
  float* result = outputs.embeddings.data();
  float* pooled = embedding.dense.present() ? buffer(buffer_pooled) : result;
  pool(embedding.pooling, pooled);
  if (embedding.dense.present()) {
    LINFORMER_TRY(parallel_rows(batch.texts, [&](int64_t first, int64_t rows, int thread) {
      LinearCall call{rows, pooled + first * program.output_width, program.output_width, result + first * width, width};
      call.activation = embedding.activation;
      return run_linear(program.embedding_dense, embedding.dense, call, thread);
    }));
  }
  for (int64_t t = 0; embedding.normalize && t < batch.texts; ++t) {
    double squares = 0;
    for (int64_t i = 0; i < width; ++i) {
      squares += static_cast<double>(result[t * width + i]) * static_cast<double>(result[t * width + i]);
    }
    // As torch.nn.functional.normalize: never divided by less than this.
    const float length = static_cast<float>(std::max(std::sqrt(squares), 1e-12));
    for (int64_t i = 0; i < width; ++i) result[t * width + i] /= length;
  }
  return {};
}

Status Session::State::masked_lm(const Outputs& outputs) {
  if (outputs.mlm_logits.empty()) return {};
  const MaskedLmHead& mlm = description().mlm;
  const int64_t width = program.output_width, vocabulary = encoder().vocab_size;
  const int64_t count = static_cast<int64_t>(outputs.mlm_positions.size());
  return parallel_rows(count, [&](int64_t first, int64_t rows, int thread) -> Status {
    float* z = thread_buffer(buffer_query, thread, program.query_stride);
    float* dense = thread_buffer(buffer_ffn, thread, program.ffn_stride);
    for (int64_t r = 0; r < rows; ++r) {
      const MaskPosition& position = outputs.mlm_positions[static_cast<size_t>(first + r)];
      std::copy_n(buffer(buffer_rows) + (batch.row_starts[position.text] + position.position) * program.d, width,
                  z + r * program.query_stride);
    }
    float* input = z;
    int64_t input_stride = program.query_stride;
    if (mlm.dense.present()) {
      LinearCall call{rows, z, program.query_stride, dense, program.ffn_stride};
      call.activation = mlm.activation;
      LINFORMER_TRY(run_linear(program.mlm_dense, mlm.dense, call, thread));
      input = dense;
      input_stride = program.ffn_stride;
      if (mlm.norm.present()) {
        normalize(mlm.norm, input, input_stride, rows, outputs_of(mlm.dense), input, input_stride);
      }
    }
    return run_linear(program.mlm_output, mlm.output,
                      {rows, input, input_stride, outputs.mlm_logits.data() + first * vocabulary, vocabulary}, thread);
  });
}

}  // namespace linformer
