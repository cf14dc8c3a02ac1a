// What a session computes of a batch, and where the numbers go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include "linformer/types.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

struct MaskPosition {
  int64_t text;      // index into the batch
  int64_t position;  // row of that text, after stripping pads: Session::row_of() says which a token has
};

// Of an output: rows x columns floats, row-major.
struct Shape {
  int64_t rows = 0, columns = 0;
  int64_t floats() const { return rows * columns; }
  friend bool operator==(const Shape&, const Shape&) = default;
};

enum class OutputKind : uint8_t { hidden = 0, pooled, logits, probabilities, embeddings, masked_lm };

// One output of a call. Make it with one of the functions below. `values` is the caller's memory; it holds at least as
// many floats as Session::shape() says, and what is behind them stays untouched. An empty span is not computed.
struct Output {
  OutputKind kind = OutputKind::hidden;
  std::span<float> values = {};
  int layer = -1;                                // hidden
  int head = 0;                                  // logits, probabilities
  std::optional<Pooling> pooling = {};           // pooled
  std::span<const MaskPosition> positions = {};  // masked_lm

  // Hidden states [sum of output_rows(), width of the layer]: text t begins at the sum of the rows before it; rows that
  // stripping left without a token are zero (Session::row_tokens()). Layer 0 is the embedding, L the last one (before
  // the final norm), -1 the encoder's output (after the final norm and output linear, where there are). A reversible
  // model's layers have two streams, side by side.
  static Output hidden(std::span<float> values, int layer = -1) { return {OutputKind::hidden, values, layer}; }
  // [texts, width of the encoder's output]. Without a pooling the first head's, or the first token.
  static Output pooled(std::span<float> values, std::optional<Pooling> pooling = {}) {
    return {OutputKind::pooled, values, -1, 0, pooling};
  }
  // A classification head's outputs as they are, [rows, classes]: a row for each text, for each two texts where the
  // head compares two, or for each row of hidden states where it scores each token.
  static Output logits(std::span<float> values, int head = 0) { return {OutputKind::logits, values, -1, head}; }
  // What the head's kind makes of the logits, the same shape:
  //   single_label  softmax: the probability of each class, 1 together
  //   multi_label   sigmoid: the probability of each class by itself
  //   score         score_activation of the one output: with sigmoid 0 to 1, with none the logit itself
  //   regression    the logits themselves: values in the units of the training data
  static Output probabilities(std::span<float> values, int head = 0) {
    return {OutputKind::probabilities, values, -1, head};
  }
  // [texts, embedding width]: the model's own sentence embedding.
  static Output embeddings(std::span<float> values) { return {OutputKind::embeddings, values}; }
  // [positions, vocabulary]: masked-LM logits.
  static Output masked_lm(std::span<float> values, std::span<const MaskPosition> positions) {
    return {OutputKind::masked_lm, values, -1, 0, {}, positions};
  }
};

// A list of outputs, all from one pass; a view as std::span, that a braced list makes too:
//   session.run(texts, {Output::probabilities(scores), Output::hidden(rows, 6)})
class Outputs {
 public:
  static constexpr size_t most = 4096;  // in one call

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
