// TextReader: what a model reads of a text, as ids: whole, cut, by windows, or two texts apart.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "linformer/model.h"
#include "linformer/session.h"
#include "linformer/text_input.h"
#include "linformer/tokenizer.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// One sequence of a text; its spans have an element for each token, and are valid until the reader's next call. Pads
// that a session strips are still there.
struct TextSequence {
  Tokens ids;
  std::span<const uint8_t> types;
  std::span<const int8_t> texts;    // that a token is of: 0 or 1; -1 = the template
  std::span<const Offset> offsets;  // in the text that the token is of; of the template's {0, 0}
  std::array<int64_t, 2> first;     // of each text's tokens the first that is here: of windows
  // Of windows: those of the tokens of the text that is read by them which are in no other one farther from its ends,
  // begin and end. Each token is so in one window; of a sequence that is none, all are.
  std::array<int64_t, 2> nearest;
};

struct TextReaderOptions {
  // max_tokens, on_long, overlap, special tokens, truncation, keep and run.padding; the rest is for those who run.
  TextOptions texts = {};
  // The two texts of an input are sequences of their own, as a head reads them that compares two. Neither is then read
  // by windows.
  bool apart = false;
  // The last window begins as far behind the one before as the others do, and may be short, as Hugging Face's question
  // answering reads contexts. Otherwise it begins where it reaches the text's end.
  bool short_last_window = false;
  // Characters that are put before each text, or before the first of two; a copy is kept. Offsets count them too.
  std::string_view prompt = {};
  // Its longest text and its padding count instead of those in `texts`. Used by create() alone.
  const Session* session = nullptr;
};

// The options of a session that takes what a TextReader of the same options reads: the largest call has max_batch texts
// of max_tokens tokens, and max_rows rows. For those who run the sequences themselves; TextRunner, Classifier, Embedder
// and MaskFiller create their own sessions. A pure function. Errors: invalid_argument for a pad_to that doesn't fit the
// model; limits that are out of range are refused by plan() and Session::create().
Result<SessionOptions> session_options(const Model& model, const TextOptions& options);

// Owns its tokenizer, or shares it with the reader that it is another of; keeps the model alive. Not thread-safe: one
// for each thread. Movable.
class TextReader {
 public:
  // Errors: those of Tokenizer::create(), and invalid_argument for limits that leave no room for a text.
  static Result<TextReader> create(std::shared_ptr<const Model> model, const TextReaderOptions& options = {});
  // One that reads in the same way, for another thread. Errors: out_of_memory.
  Result<TextReader> another() const;

  // Tokenizes a text, sets *report, and returns the report's status: what is wrong with the text, and out_of_memory.
  // The text's memory must live until its sequences are read.
  Status read(const TextInput& input, TextReport* report);
  // Of the text that was read last: its windows, or 2 where the two texts are apart; 0 after an error.
  int64_t sequences() const;
  // Sequence i, from 0 on. Errors: invalid_argument where there is none; out_of_memory.
  Result<TextSequence> sequence(int64_t i);

  // The longest sequence in tokens, without what the model puts before it.
  int64_t max_tokens() const;
  // Lives as long as any of the readers that share it.
  const Tokenizer& tokenizer() const;

  TextReader(TextReader&&) noexcept;
  TextReader& operator=(TextReader&&) noexcept;
  ~TextReader();

 private:
  friend class MaskedLmQueue;
  struct State;
  // The same with a tokenizer of its own.
  static Result<TextReader> create(std::shared_ptr<const Model> model, Tokenizer tokenizer,
                                   const TextReaderOptions& options);
  explicit TextReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace LINFORMER_NAMESPACE
