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

// Throws DataError naming the first layer of the encoder that has no attention matrix of its own positions.
void require_full_attention(const Model& model, const std::string& path);

// A step of work on one head.
using HeadTask = std::function<void(size_t layer, size_t head)>;
// Called after each head, from one thread at a time.
using HeadDone = std::function<void()>;

class AttentionMatrices {
 public:
  // `model` has full attention and stays alive as long as this. Hidden states of several layers are computed in one
  // pass, as many as `hidden_bytes` hold: all of a base-sized model at 7,281 rows. Beyond that each group of layers
  // takes a pass of its own.
  explicit AttentionMatrices(const Model& model, int64_t hidden_bytes = int64_t{256} << 20);

  int layers() const { return static_cast<int>(encoder_.layers.size()); }
  int heads(int layer) const;
  size_t all_heads() const;  // of all layers
  // Columns of a head's values.
  int64_t value_width(int layer) const;
  // Runs the model on a text and keeps what each layer's queries and keys are made of.
  void read(Session* session, Tokens tokens);
  // Rows of each matrix.
  int64_t rows() const { return rows_; }

  // What a thread reuses between calls.
  struct Scratch {
    std::vector<double> weight, queries, keys;
  };
  // P of the last text, row-major. Any number of threads may call this at once. Throws DataError when a number of it is
  // not finite.
  void matrix(int layer, int head, Scratch* scratch, std::vector<double>* matrix) const;
  // V of the last text, [rows, value_width], row-major. The rules of matrix() apply.
  void values(int layer, int head, Scratch* scratch, std::vector<double>* values) const;

  // Runs a task for each head on `threads` threads, in each of which OpenBLAS works on that thread alone. `make_task`
  // is called once in each thread, so that a task can own what its thread reuses. Throws what a task throws first.
  void for_each_head(int threads, const std::function<HeadTask()>& make_task, const HeadDone& done) const;

 private:
  struct Layer {
    int64_t width = 0;
    std::vector<double> input;  // [rows, width], after the norm where there is one in front
  };
  void keep(int layer, const float* rows, int64_t stride);
  void project(const Linear& linear, int64_t first, int64_t head_dim, const Layer& layer, std::vector<double>* weight,
               std::vector<double>* out) const;
  void add_position_bias(TensorIndex bias, int64_t head, int64_t row, double* scores) const;

  const Model& model_;
  const EncoderDescription& encoder_;
  int64_t hidden_bytes_;
  int64_t rows_ = 0;
  std::vector<Layer> layers_;
  std::vector<float> hidden_;  // of a group of layers
};

}  // namespace linformer::research
