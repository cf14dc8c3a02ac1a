// What a session computes for a batch, and where it writes the numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include "linformer/types.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// A position whose masked-LM logits are computed.
struct MaskPosition {
  int64_t sequence;  // The index of the sequence in the batch.
  int64_t position;  // A row of that sequence, after pads were stripped. Session::row_of() returns the row of a token.
};

// The shape of an output: rows x columns floats, row-major.
struct Shape {
  int64_t rows = 0, columns = 0;
  int64_t floats() const { return rows * columns; }
  friend bool operator==(const Shape&, const Shape&) = default;
};

enum class OutputKind : uint8_t { hidden = 0, pooled, logits, probabilities, embeddings, masked_lm };

// One output of a call. The functions below make it. `values` is the caller's memory. It must hold at least as many
// floats as Session::shape() says; floats after these stay unchanged. An output with an empty span is not computed.
struct Output {
  OutputKind kind = OutputKind::hidden;
  std::span<float> values = {};
  int layer = -1;                                // For hidden.
  int head = 0;                                  // For logits and probabilities.
  std::optional<Pooling> pooling = {};           // For pooled.
  std::span<const MaskPosition> positions = {};  // For masked_lm.

  // Hidden states, [sum of output_rows(), width of the layer]. The rows of sequence i begin after the rows of all
  // sequences before it. If pads are stripped, the rows of the other tokens follow each other without gaps, and the
  // rows after them are zero (Session::row_tokens()). Layer 0 is the embedding, layer L the last layer before the final
  // norm, and layer -1 the encoder's output: after the final norm and the output linear layer, if the model has them.
  // The layers of a reversible model have two streams, side by side.
  static Output hidden(std::span<float> values, int layer = -1) { return {OutputKind::hidden, values, layer}; }
  // One row for each sequence, [sequences, width of the encoder's output]. Without `pooling`, the first head's pooling
  // is used, or the first token if the model has no head or if the first head scores each token.
  static Output pooled(std::span<float> values, std::optional<Pooling> pooling = {}) {
    return {OutputKind::pooled, values, -1, 0, pooling};
  }
  // The outputs of a classification head, unchanged: [rows, classes]. There is a row for each sequence, for each two
  // sequences if the head compares two, or for each row of the hidden states if the head scores each token.
  static Output logits(std::span<float> values, int head = 0) { return {OutputKind::logits, values, -1, head}; }
  // The probabilities that the head's kind makes of the logits, in the same shape:
  //   single_label  the softmax: the probability of each class; they add up to 1
  //   multi_label   the sigmoid: the probability of each class by itself
  //   score         score_activation of the one output: 0 to 1 if it is sigmoid, the logit itself if it is none
  //   regression    the logits themselves: values in the units of the training data
  static Output probabilities(std::span<float> values, int head = 0) {
    return {OutputKind::probabilities, values, -1, head};
  }
  // The model's own sentence embeddings, [sequences, embedding width].
  static Output embeddings(std::span<float> values) { return {OutputKind::embeddings, values}; }
  // Masked-LM logits, [positions, vocabulary].
  static Output masked_lm(std::span<float> values, std::span<const MaskPosition> positions) {
    return {OutputKind::masked_lm, values, -1, 0, {}, positions};
  }
};

// A list of outputs that one pass computes. It is a view, as std::span is, and a braced list makes one, too:
//   session.run(sequences, {Output::probabilities(scores), Output::hidden(rows, 6)})
class Outputs {
 public:
  static constexpr size_t most = 4096;  // The most outputs of one call.

  Outputs() = default;
  Outputs(const Output& output) : list_(&output, 1) {}
  Outputs(std::initializer_list<Output> list) : list_(list.begin(), list.size()) {}
  Outputs(std::span<const Output> list) : list_(list) {}
  template <class Container>
  requires requires(const Container& c) { std::span<const Output>(c); }
  Outputs(const Container& list) : list_(list) {}

  std::span<const Output> list() const { return list_; }

 private:
  std::span<const Output> list_;
};

}  // namespace LINFORMER_NAMESPACE
