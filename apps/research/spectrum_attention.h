// Computes the attention matrices of a text, one for each layer and head: P = softmax(Q K^T scale), n x n, which the
// runtime itself never holds. Rotary positions, a bias by position, a window and a causal mask are applied as the
// runtime applies them. The values V that P multiplies are computed too.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/description.h"
#include "linformer/session.h"

namespace linformer::research {

// Throws DataError if a layer of the encoder has no attention matrix between the positions of the text. The message
// names the first layer of this kind.
void require_full_attention(const Model& model, const std::string& path);

// Does the work for one head.
using HeadTask = std::function<void(size_t layer, size_t head)>;
// A callback that is called after each head, by only one thread at a time.
using HeadDone = std::function<void()>;

class AttentionMatrices {
 public:
  // `model` must have full attention and must outlive this object. A pass of the model gives the hidden states of as
  // many layers as fit into `hidden_bytes`, at least one, and the remaining layers take further passes. By default all
  // layers of a base-sized model fit at up to 7,281 rows.
  explicit AttentionMatrices(const Model& model, int64_t hidden_bytes = int64_t{256} << 20);

  int layers() const { return static_cast<int>(encoder_.layers.size()); }
  int heads(int layer) const;
  size_t total_heads() const;            // The number of heads of all layers together.
  int64_t value_width(int layer) const;  // The number of columns of a head's values.
  // Runs the model on a text and keeps the input of the attention of each layer.
  void run(Session* session, Tokens tokens);
  int64_t rows() const { return rows_; }  // The number of rows of each matrix.

  // The memory of one thread, which it reuses between calls.
  struct Scratch {
    std::vector<double> weight, queries, keys;
  };
  // Writes P of the last text that run() got, row-major. Any number of threads may call this at the same time. Throws
  // DataError if P has a number that is not finite.
  void matrix(int layer, int head, Scratch* scratch, std::vector<double>* matrix) const;
  // Writes V of the last text, [rows, value_width], row-major. The rules of matrix() apply.
  void values(int layer, int head, Scratch* scratch, std::vector<double>* values) const;

  // Runs a task for each head on `threads` threads. OpenBLAS starts no threads of its own meanwhile. `make_task` is
  // called once in each thread, so that a task can own the memory that its thread reuses. If tasks throw, the first
  // exception is thrown again to the caller.
  void for_each_head(int threads, const std::function<HeadTask()>& make_task, const HeadDone& done) const;

 private:
  struct Layer {
    int64_t width = 0;
    std::vector<double> input;  // [rows, width], after the attention norm if the encoder is pre-norm.
  };
  void store_input(int layer, const float* rows, int64_t stride);
  void project(const Linear& linear, int64_t first, int64_t head_dim, const Layer& layer, std::vector<double>* weight,
               std::vector<double>* out) const;
  void add_position_bias(TensorIndex bias, int64_t head, int64_t row, double* scores) const;

  const Model& model_;
  const EncoderDescription& encoder_;
  int64_t hidden_bytes_;
  int64_t rows_ = 0;
  std::vector<Layer> layers_;
  std::vector<float> hidden_;  // The hidden states of the layers of one pass.
};

}  // namespace linformer::research
