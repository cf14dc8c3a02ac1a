// Tagger: strings in, their entities out: what a head that scores each token says of spans of a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include "linformer/model.h"
#include "linformer/text_input.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// How the tokens of a text become its entities, as the token classification pipeline of Hugging Face's transformers
// does it. Each token, or each word, has the likeliest label, and its probability is the score. Labels that begin with
// "B-" or "I-" are of an entity that begins or goes on; any other label goes on. Tokens, or words, that follow each
// other and are of the same entity are one, until a "B-" begins the next. The score of an entity is the mean of theirs.
enum class Aggregation : uint8_t {
  simple = 0,  // of tokens
  none,        // each token is an entity by itself, with its label as it is
  first,       // of words, each with the scores of its first token
  average,     // of words, each with the means of the scores of its tokens
  max,         // of words, each with the scores of the token that has the highest one
};

struct Entity {
  // Of the first token or word; but for Aggregation::none what is behind its first '-', where there is one. Has a 0
  // behind its last byte; lives as long as the tagger.
  std::string_view label = {};
  float score = 0;             // a probability
  Offset offset = {};          // in the text
  std::string_view text = {};  // these bytes of the text as given
};

// What was found in one text. Valid during the visit.
struct Tagging {
  const TextReport& report;
  std::span<const Entity> entities;  // in the order of the text; empty where the report has an error
};

struct TaggerOptions {
  // Texts are read by windows where nothing else is said; on_long may also be truncate or error.
  TextOptions texts = {.on_long = OnLong::window};
  Aggregation aggregation = Aggregation::simple;
  int head = -1;  // of the model's heads one that scores each token; -1: the first such
};

// What has the label "O" is no entity, and the tokens of the template around the text are in none. A token that is in
// several windows counts once: in the window whose ends are farther from it.
//
// Words: where the tokenizer marks the tokens that go on with a word (WordPiece, "##"), a token does so whose name has
// another length than its part of the text; otherwise one does that isn't at the text's beginning, and has a space
// neither before it nor as its first character. The unknown token always begins a word.
//
// Owns its tokenizer, sessions and threads; shares the model. Not thread-safe: one call at a time. Movable.
class Tagger {
 public:
  // Errors: those of Session and Tokenizer, and invalid_argument for a model without a head of probabilities for each
  // token (HeadInfo::each_token, HeadKind::single_label), for a head that is another, and for options out of range.
  static Result<Tagger> create(std::shared_ptr<const Model> model, const TaggerOptions& options = {});

  // visit(context, index, tagging) for each text, in order, on this thread. A text that can't be read, or that has a
  // pair, has an error in its report and keeps its place; an error returned is of the call itself. visit returns
  // whether more are wanted. Results don't depend on what runs beside a text, nor on threads. Memory is bounded
  // whatever the number of texts: beside what the sessions need, the entities of texts_at_once() texts, 48 bytes each,
  // and of the text that each thread is at a quarter of its bytes. Progress counts texts.
  using Visit = bool (*)(void* context, size_t index, const Tagging& tagging);
  Status tag(const TextList& texts, Visit visit, void* context, const RunControl& control = {});
  // The same for a callable.
  template <class Callable>
  requires std::is_invocable_r_v<bool, Callable&, size_t, const Tagging&> Status tag(const TextList& texts,
                                                                                     Callable&& visit,
                                                                                     const RunControl& control = {}) {
    using Called = std::remove_reference_t<Callable>;
    return tag(
        texts,
        [](void* context, size_t index, const Tagging& tagging) -> bool {
          return (*static_cast<Called*>(context))(index, tagging);
        },
        const_cast<void*>(static_cast<const void*>(&visit)), control);
  }

  // The head that is asked: its index in the model.
  int head() const;
  // Of class `i` of the head: the model's label, or where it has none the number; empty beyond the head's classes.
  std::string_view label(int64_t i) const;
  // Tokens of a text, or of a window.
  int64_t max_tokens() const;
  // How many texts the session runs in parallel. Calls with fewer texts do not use all threads.
  size_t texts_at_once() const;
  // One for each thread: their plan and profile (Session::profile).
  std::span<const Session> sessions() const;

  Tagger(Tagger&&) noexcept;
  Tagger& operator=(Tagger&&) noexcept;
  ~Tagger();

 private:
  struct State;
  explicit Tagger(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace LINFORMER_NAMESPACE
