// Runs texts with a TextRunner whose head scores each token. A callback takes the scores of a sequence as soon as it
// has been run.
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

// A sequence that was run, and its scores. The views are valid during the call of TokenScoresCallbacks::on_scores.
struct TokenScores {
  size_t worker;            // The index of the thread.
  size_t text;              // The index of the text in the chunk.
  const TextInput& input;   // The text.
  int64_t window, windows;  // The index of the sequence among the text's windows, and the number of windows.
  // The next five members are the same as in TextSequence.
  std::span<const int32_t> ids;
  std::span<const int8_t> texts;
  std::span<const Offset> offsets;
  std::array<int64_t, 2> first;
  std::array<int64_t, 2> nearest;
  std::span<const int64_t> tokens;  // The token of each row (Session::row_tokens()). Tokens beyond `ids` are pads.
  std::span<const float> values;    // [rows][columns], all of them finite.
  size_t columns;
  const float* row(size_t i) const { return values.data() + i * columns; }
};

// The callbacks for the scores. `check` and `on_scores` are called by the thread that runs the sequence, and several
// threads may call them at the same time. The windows of a text come in order and on one thread, without windows of
// other texts between them. After an error of a text, `on_scores` gets no more of its windows.
struct TokenScoresCallbacks {
  void* context = nullptr;  // Must outlive the runner.
  // Called on the caller's thread before each chunk. The chunk has `count` texts; `begin` is the index of the first
  // one.
  Status (*start)(void* context, size_t begin, size_t count) = nullptr;
  // Returns an error if the text must not be read. The error becomes that of the text.
  Status (*check)(const TextInput& input) = nullptr;
  Status (*on_scores)(void* context, const TokenScores& scores) = nullptr;

  // Creates a runner that calls these functions and visits texts without values. `output` is the logits or the
  // probabilities of a head that scores each token.
  Result<TextRunner> create_runner(std::shared_ptr<const Model> model, const Output& output, const TextOptions& options,
                                   bool short_last_window = false) const;
};

}  // namespace LINFORMER_NAMESPACE
