// TextRunner for heads that score each token: who asks takes a sequence's scores as soon as it has been run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "linformer/model.h"
#include "linformer/text_input.h"
#include "linformer/text_runner.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// A sequence that was run, and its scores; valid during the call.
struct TokenScores {
  size_t worker;                    // index of the thread
  size_t text;                      // index in the chunk
  const TextInput& input;           // that text
  int64_t window, windows;          // of the text
  std::span<const int32_t> ids;     // of each token, as TextSequence has them
  std::span<const int8_t> texts;    // the same
  std::span<const Offset> offsets;  // the same
  std::array<int64_t, 2> first;     // the same
  std::array<int64_t, 2> nearest;   // the same
  std::span<const int64_t> tokens;  // of each row the token, as Session::row_tokens(); may be beyond `ids`: a pad
  std::span<const float> values;    // [rows][columns], all of them finite
  size_t columns;
  const float* row(size_t i) const { return values.data() + i * columns; }
};

// Functions are called by the thread that has the sequence, several threads at once. A text's windows come in their
// order, all on one thread, and no other text's between them. After an error of a text no more of it come.
struct TokenScoresTaker {
  void* context = nullptr;  // outlives the runner
  // Before a chunk of `count` texts, of which the first has the index `begin`. On the caller's thread.
  Status (*start)(void* context, size_t begin, size_t count) = nullptr;
  // Why a text is not to be read.
  Status (*check)(const TextInput& input) = nullptr;
  Status (*take)(void* context, const TokenScores& scores) = nullptr;

  // A runner whose visits have no values. `output` is a head's logits or probabilities, with a row for each token.
  Result<TextRunner> create_runner(std::shared_ptr<const Model> model, const Output& output, const TextOptions& options,
                                   bool short_last_window = false) const;
};

}  // namespace LINFORMER_NAMESPACE
