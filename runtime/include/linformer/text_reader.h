// TextReader: turns a text into the sequences of token ids that a model reads: the whole text, a cut text, windows of
// it, or two texts apart.
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

// One sequence of a text. Its spans have an element for each token, and are valid until the reader's next call. It
// still has the pads that a session strips.
struct TextSequence {
  Tokens ids;
  std::span<const uint8_t> types;
  std::span<const int8_t> texts;    // Which text each token belongs to: 0 or 1, or -1 for the template.
  std::span<const Offset> offsets;  // The token's place in its text, and {0, 0} for the template's tokens.
  std::array<int64_t, 2> first;  // For windows: for each text, the index of its first token that is in this sequence.
  // For windows: a range [begin, end) of the tokens of the text that is read by windows. These tokens are at least as
  // far from the ends of this window as from the ends of any other window that has them. The ranges of all windows
  // cover each token exactly once. In a sequence that isn't a window, the range covers all tokens.
  std::array<int64_t, 2> nearest;
};

struct TextReaderOptions {
  // Of these, max_tokens, on_long, overlap, the options for special tokens, truncation, keep, run.part and run.padding
  // are read. The others are for the code that runs the sequences.
  TextOptions texts = {};
  // Whether the two texts of an input are sequences of their own, as a head that compares two texts reads them. Neither
  // text is then read by windows.
  bool apart = false;
  // Where the last window begins. If true, it begins at the same distance from the window before it as the other
  // windows, and may be short. This is how Hugging Face's question answering reads contexts. If false, the last window
  // begins so that it ends where the text ends.
  bool short_last_window = false;
  // Characters that are put before each text, or before the first text of a pair. The reader keeps a copy. Offsets
  // count these characters, too.
  std::string_view prompt = {};
  // If not null, the session's longest sequence and its padding are used instead of those in `texts`. Only create()
  // uses it.
  const Session* session = nullptr;
};

// Returns the options of a session that takes what a TextReader with the same options reads. A call of this session has
// at most max_batch sequences of at most max_tokens tokens, and max_rows rows. The function is for code that runs
// sequences itself; TextRunner, Classifier, Embedder and MaskFiller create their own sessions. It is pure. It returns
// invalid_argument for a pad_to that doesn't fit the model. Limits out of range are errors of plan() and
// Session::create().
Result<SessionOptions> session_options(const Model& model, const TextOptions& options);

// Reads texts. A reader owns its tokenizer, or shares it with the reader whose another() made it, and keeps the model
// alive. Not thread-safe: each thread needs its own. Movable.
class TextReader {
 public:
  // Returns the errors of Tokenizer::create(), and invalid_argument for limits that leave no room for a text.
  static Result<TextReader> create(std::shared_ptr<const Model> model, const TextReaderOptions& options = {});
  // Returns a reader that reads in the same way, for another thread, or out_of_memory.
  Result<TextReader> another() const;

  // Tokenizes a text, sets *report, and returns report->status: an error of this text, or out_of_memory. The text's
  // memory must live until its sequences were read.
  Status read(const TextInput& input, TextReport* report);
  // Returns the number of sequences of the text that was read last: its windows, or 2 if the two texts are apart, or 0
  // after an error.
  int64_t sequences() const;
  // Returns sequence i, from 0 on, or invalid_argument if there is none, or out_of_memory.
  Result<TextSequence> sequence(int64_t i);

  // Returns the most tokens of a sequence, without the rows that the model puts before it.
  int64_t max_tokens() const;
  // Returns the tokenizer. It lives as long as any of the readers that share it.
  const Tokenizer& tokenizer() const;

  TextReader(TextReader&&) noexcept;
  TextReader& operator=(TextReader&&) noexcept;
  ~TextReader();

 private:
  friend class MaskedLmQueue;
  struct State;
  // As the public create(), but with a tokenizer that already exists.
  static Result<TextReader> create(std::shared_ptr<const Model> model, Tokenizer tokenizer,
                                   const TextReaderOptions& options);
  explicit TextReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace LINFORMER_NAMESPACE
