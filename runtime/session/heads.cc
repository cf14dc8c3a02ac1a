// Classification: pool, compare two texts, norm, dense, output; or each row by itself.
#include <algorithm>

#include "base/checked.h"
#include "session/state.h"

namespace linformer {

// logits[rows, classes] from input[rows, width].
Status Session::State::score_rows_of(const ClassificationHead& head, const HeadProgram& products, const float* input,
                                     int64_t input_stride, int64_t rows_in_all, float* logits) {
  const int64_t classes = outputs_of(head.output);
  return parallel_rows(rows_in_all, [&](int64_t first, int64_t rows, int thread) -> Status {
    const float* x = input + first * input_stride;
    int64_t x_stride = input_stride;
    if (head.norm.present()) {
      const int64_t width = static_cast<int64_t>(description().tensors[static_cast<size_t>(head.norm.scale)].shape[0]);
      float* normalized = buffer(buffer_paired) + first * program.paired_stride;
      normalize(head.norm, x, x_stride, rows, width, normalized, program.paired_stride);
      x = normalized;
      x_stride = program.paired_stride;
    }
    if (head.dense.present()) {
      float* dense = buffer(buffer_head) + first * program.head_stride;
      LinearCall call{rows, x, x_stride, dense, program.head_stride};
      call.activation = head.activation;
      LINFORMER_TRY(run_linear(products.dense, head.dense, call, thread));
      x = dense;
      x_stride = program.head_stride;
    }
    return run_linear(products.output, head.output, {rows, x, x_stride, logits + first * classes, classes}, thread);
  });
}

Status Session::State::classify(const HeadScores& scores) {
  if (scores.logits.empty() && scores.probabilities.empty()) return {};
  const ClassificationHead& head = description().heads[static_cast<size_t>(scores.head)];
  const HeadProgram& products = program.heads[static_cast<size_t>(scores.head)];
  const int64_t classes = outputs_of(head.output), width = program.output_width;
  float* logits = scores.logits.empty() ? buffer(buffer_logits) : scores.logits.data();
  int64_t rows = score_rows(head, batch.texts, 0);

  if (head.pooling == Pooling::none) {
    // Scores of stripped tokens are zero, as their hidden states are.
    LINFORMER_TRY(score_rows_of(head, products, buffer(buffer_rows), program.d, batch.rows, buffer(buffer_logits)));
    const bool given = !scores.logits.empty();
    float* to = given ? scores.logits.data() : scores.probabilities.data();
    const float* from = buffer(buffer_logits);
    for (int64_t t = 0; t < batch.texts; ++t) {
      const int64_t kept = batch.length(t) * classes;
      const int64_t all = output_rows(given_rows(batch.inputs[static_cast<size_t>(t)])) * classes;
      std::copy_n(from, kept, to);
      std::fill_n(to + kept, all - kept, 0.f);
      from += kept;
      to += all;
      rows += all / classes;
    }
    logits = given ? scores.logits.data() : scores.probabilities.data();
  } else {
    float* pooled = buffer(buffer_pooled);
    pool(head.pooling, pooled);
    const float* input = pooled;
    int64_t stride = width;
    if (head.pairing == Pairing::product_difference) {
      float* paired = buffer(buffer_paired);
      for (int64_t p = 0; p < rows; ++p) {
        const float* a = pooled + 2 * p * width;
        const float* b = a + width;
        float* to = paired + p * program.paired_stride;
        for (int64_t i = 0; i < width; ++i) {
          to[i] = a[i];
          to[width + i] = b[i];
          to[2 * width + i] = a[i] * b[i];
          to[3 * width + i] = a[i] - b[i];
        }
      }
      input = paired;
      stride = program.paired_stride;
    }
    LINFORMER_TRY(score_rows_of(head, products, input, stride, rows, logits));
  }
  if (scores.probabilities.empty()) return {};
  float* probabilities = scores.probabilities.data();
  if (probabilities != logits) std::copy_n(logits, rows * classes, probabilities);
  if (head.multi_label) {
    program.kernels->activate(Activation::sigmoid, {probabilities, rows, classes, classes});
  } else {
    program.kernels->softmax_rows({probabilities, rows, classes, classes}, 1.f);
  }
  return {};
}

}  // namespace linformer
