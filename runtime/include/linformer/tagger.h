// Tagger: takes texts, and gives their entities, from a head that scores each token.
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

// How the tokens of a text become entities, as in the token classification pipeline of Hugging Face's transformers.
// Each token (or each word) gets its likeliest label, and the label's probability is its score. A label that begins
// with "B-" begins an entity. A label that begins with "I-", or any other label, continues one. Neighbouring tokens (or
// words) whose labels name the same kind of entity, such as PER, are joined to one entity, until a label with "B-"
// begins the next one. The score of an entity is the mean of the scores of its tokens (or words).
enum class Aggregation : uint8_t {
  simple = 0,  // Joins tokens.
  none,        // Each token is an entity by itself, with its whole label.
  first,       // Joins words, each with the scores of its first token.
  average,     // Joins words, each with the means of its tokens' scores.
  max,         // Joins words, each with the scores of the token whose best score is the highest.
};

struct Entity {
  // The label of the first token or word. Except with Aggregation::none, it is the part after the first '-', if there
  // is one. It ends with a 0 byte and is valid as long as the tagger.
  std::string_view label = {};
  float score = 0;             // A probability.
  Offset offset = {};          // The place in the text.
  std::string_view text = {};  // The bytes of the text as it was given.
};

// The entities of one text. It is valid during the visit.
struct Tagging {
  const TextReport& report;
  std::span<const Entity> entities;  // In the order of the text. Empty if the report has an error.
};

struct TaggerOptions {
  // Texts are read by windows by default. on_long may also be truncate or error.
  TextOptions texts = {.on_long = OnLong::window};
  Aggregation aggregation = Aggregation::simple;
  int head = -1;  // The index of the model's head that scores each token. -1: the first such head.
};

// Finds entities. Tokens with the label "O" belong to no entity, and neither do the tokens of the template around the
// text. A token that is in several windows counts once: in the window whose ends are farther from it.
//
// If the tokenizer marks the tokens that continue a word (WordPiece's "##"), a token continues a word if its name is
// longer or shorter than its part of the text. With other tokenizers, a token continues a word if it isn't at the
// beginning of the text, has no space before it and doesn't begin with a space. The unknown token always begins a word.
//
// A Tagger owns its tokenizer, sessions and threads, and shares the model. Not thread-safe: one call at a time.
// Movable.
class Tagger {
 public:
  // Returns the errors of Session and Tokenizer, and invalid_argument for a model without a head that gives each token
  // probabilities (HeadInfo::each_token, HeadKind::single_label), for a head of another kind, and for options out of
  // range.
  static Result<Tagger> create(std::shared_ptr<const Model> model, const TaggerOptions& options = {});

  // Calls visit(context, index, tagging) for each text, in order, on this thread, until visit returns false. A text
  // that can't be read, or that has a pair, keeps its place and has an error in its report. A returned error concerns
  // the whole call. Results depend neither on the other texts nor on the threads. Memory is bounded whatever the number
  // of texts: in addition to the sessions, it takes 48 bytes for each entity of texts_at_once() texts, and a quarter of
  // the bytes of the text that each thread is working on. control.progress gets the share of the texts that are done.
  using Visit = bool (*)(void* context, size_t index, const Tagging& tagging);
  Status tag(const TextList& texts, Visit visit, void* context, const RunControl& control = {});
  // As above, with any callable object as `visit`.
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

  // Returns the index of the head that scores the tokens.
  int head() const;
  // Returns the model's name of class `i` of the head, or the number `i` if the class has no name. Empty if the head
  // has no class `i`.
  std::string_view label(int64_t i) const;
  // Returns the most tokens of a text, or of a window.
  int64_t max_tokens() const;
  // Returns how many texts the threads compute together. A call with fewer texts may leave threads idle.
  size_t texts_at_once() const;
  // Returns the session of each thread, from which a caller can read the plan and the profile.
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
