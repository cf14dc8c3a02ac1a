// What leaves the session: hidden states, pooled vectors, class logits and probabilities, masked-LM logits.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/checked.h"
#include "session/state.h"

namespace linformer {

void Session::State::copy_hidden(std::span<const Tokens> texts, const Norm* norm, float* destination) const {
  const int64_t d = program.d;
  const float* x = buffer(buffer_rows);
  for (int64_t t = 0; t < batch.texts; ++t) {
    const int64_t kept = batch.length(t), given = static_cast<int64_t>(texts[static_cast<size_t>(t)].size());
    const float* source = x + batch.row_starts[t] * d;
    if (norm != nullptr) {
      normalize(*norm, source, d, kept, destination, d);
    } else {
      std::memcpy(destination, source, static_cast<size_t>(kept * d) * sizeof(float));
    }
    std::fill_n(destination + kept * d, (given - kept) * d, 0.f);
    destination += given * d;
  }
}

Status Session::State::classify(const Outputs& outputs) {
  const bool wants_scores = !outputs.logits.empty() || !outputs.probabilities.empty();
  if (outputs.pooled.empty() && !wants_scores) return {};
  const int64_t d = program.d;
  const Norm& final_norm = encoder().final_norm;
  float* pooled = buffer(buffer_pooled);
  const float* x = buffer(buffer_rows);
  for (int64_t t = 0; t < batch.texts; ++t) {
    std::memcpy(pooled + t * d, x + batch.row_starts[t] * d, static_cast<size_t>(d) * sizeof(float));
  }
  if (final_norm.present()) normalize(final_norm, pooled, d, batch.texts, pooled, d);
  if (!outputs.pooled.empty()) {
    std::memcpy(outputs.pooled.data(), pooled, static_cast<size_t>(batch.texts * d) * sizeof(float));
  }
  if (!wants_scores) return {};

  const ClassificationHead& head = description().heads[static_cast<size_t>(outputs.head)];
  const HeadProgram& products = program.heads[static_cast<size_t>(outputs.head)];
  const int64_t classes = static_cast<int64_t>(description().tensors[head.output.weight].shape[0]);
  float* logits = outputs.logits.empty() ? buffer(buffer_logits) : outputs.logits.data();
  const int64_t step = rows_per_task(batch.texts);
  const auto score = [&](int64_t task, int thread) -> Status {
    const int64_t first = task * step, rows = std::min(step, batch.texts - first);
    const float* input = pooled + first * d;
    int64_t input_stride = d;
    if (head.dense.present()) {
      float* dense = buffer(buffer_head) + first * program.head_stride;
      LinearCall call{rows, input, d, dense, program.head_stride};
      call.activation = head.activation;
      LINFORMER_TRY(run_linear(products.dense, head.dense, call, thread));
      input = dense;
      input_stride = program.head_stride;
    }
    return run_linear(products.output, head.output, {rows, input, input_stride, logits + first * classes, classes},
                      thread);
  };
  LINFORMER_TRY(parallel(ceil_div(batch.texts, step), score));
  if (outputs.probabilities.empty()) return {};
  float* probabilities = outputs.probabilities.data();
  std::memcpy(probabilities, logits, static_cast<size_t>(batch.texts * classes) * sizeof(float));
  if (head.multi_label) {
    program.kernels->activate(Activation::sigmoid, probabilities, batch.texts * classes);
  } else {
    program.kernels->softmax_rows(probabilities, classes, batch.texts, classes, 1.f);
  }
  return {};
}

Status Session::State::masked_lm(const Outputs& outputs) {
  if (outputs.mlm_logits.empty()) return {};
  const MaskedLmHead& mlm = description().mlm;
  const Norm& final_norm = encoder().final_norm;
  const int64_t d = program.d, vocabulary = encoder().vocab_size;
  const int64_t count = static_cast<int64_t>(outputs.mlm_positions.size());
  const int64_t step = rows_per_task(count);
  return parallel(ceil_div(count, step), [&](int64_t task, int thread) -> Status {
    const int64_t first = task * step, rows = std::min(step, count - first);
    float* z = thread_buffer(buffer_query, thread, program.query_stride);
    float* dense = thread_buffer(buffer_ffn, thread, program.ffn_stride);
    for (int64_t r = 0; r < rows; ++r) {
      const MaskPosition& position = outputs.mlm_positions[static_cast<size_t>(first + r)];
      std::memcpy(z + r * program.query_stride,
                  buffer(buffer_rows) + (batch.row_starts[position.text] + position.position) * d,
                  static_cast<size_t>(d) * sizeof(float));
    }
    if (final_norm.present()) normalize(final_norm, z, program.query_stride, rows, z, program.query_stride);
    float* input = z;
    int64_t input_stride = program.query_stride;
    if (mlm.dense.present()) {
      LinearCall call{rows, z, program.query_stride, dense, program.ffn_stride};
      call.activation = mlm.activation;
      LINFORMER_TRY(run_linear(program.mlm_dense, mlm.dense, call, thread));
      input = dense;
      input_stride = program.ffn_stride;
    }
    if (mlm.norm.present()) normalize(mlm.norm, input, input_stride, rows, input, input_stride);
    return run_linear(program.mlm_output, mlm.output,
                      {rows, input, input_stride, outputs.mlm_logits.data() + first * vocabulary, vocabulary}, thread);
  });
}

}  // namespace linformer
