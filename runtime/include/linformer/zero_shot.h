// ZeroShotClassifier: strings and labels in, how well each label fits each string out, by a model that was trained for
// natural language inference.
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

struct LabelScore {
  size_t label = 0;  // index into the classifier's labels
  float probability = 0;
};

// What is said of one text. Valid during the visit.
struct ZeroShotClassification {
  const TextReport& report;            // of the label whose sentence made the text the longest
  std::span<const LabelScore> scores;  // of each label, best first, equal ones in their order; empty after an error
};

struct ZeroShotOptions {
  // A text and a label's sentence are a pair, of which the text alone is cut: `truncation` is not looked at.
  TextOptions texts = {};
  std::span<const std::string_view> labels = {};        // at least one, none empty; copied
  std::string_view hypothesis = "This example is {}.";  // the sentence of a label, whose place is {}; copied
  // Each label by itself: any number of them may fit. Without it the probabilities of all labels add up to 1. One label
  // alone is always by itself.
  bool multi_label = false;
  int head = 0;  // the classification head that says whether a text entails a sentence
};

// The probabilities are those of transformers' zero-shot-classification pipeline: the softmax over all labels of the
// logit of entailment, or with multi_label, for each label, the softmax of entailment against contradiction. The class
// of entailment is the one whose name begins with "entail", in any case; where the model has no names of its own, the
// last one. That of contradiction is the first one, or the last one where entailment is first.
//
// Owns its tokenizer, sessions and threads; shares the model. Not thread-safe: one call at a time. Movable.
class ZeroShotClassifier {
 public:
  // Errors: those of Session and Tokenizer; unsupported where the head has fewer than two classes, names that say
  // nothing of entailment, or doesn't read a pair of texts; invalid_argument for labels, a hypothesis and options that
  // are wrong.
  static Result<ZeroShotClassifier> create(std::shared_ptr<const Model> model, const ZeroShotOptions& options);

  // visit(context, index, classification) for each text, in order, on this thread. Only TextInput::text is read. A text
  // that can't be read has an error in its report and keeps its place; an error returned is of the call itself. visit
  // returns whether more are wanted. Memory is bounded whatever the number of texts.
  using Visit = bool (*)(void* context, size_t index, const ZeroShotClassification& classification);
  Status classify(const TextList& texts, Visit visit, void* context, const RunControl& control = {});
  // The same for a callable.
  template <class Callable>
  requires std::is_invocable_r_v<bool, Callable&, size_t, const ZeroShotClassification&> Status
  classify(const TextList& texts, Callable&& visit, const RunControl& control = {}) {
    using Called = std::remove_reference_t<Callable>;
    return classify(
        texts,
        [](void* context, size_t index, const ZeroShotClassification& classification) -> bool {
          return (*static_cast<Called*>(context))(index, classification);
        },
        const_cast<void*>(static_cast<const void*>(&visit)), control);
  }

  size_t labels() const;
  // The head's class that stands for entailment.
  int64_t entailment() const;
  // Tokens that a text and a label's sentence are cut to together.
  int64_t max_tokens() const;
  // How many texts the session runs in parallel. Calls with fewer texts do not use all threads.
  size_t texts_at_once() const;
  // One for each thread: their plan and profile (Session::profile).
  std::span<const Session> sessions() const;

  ZeroShotClassifier(ZeroShotClassifier&&) noexcept;
  ZeroShotClassifier& operator=(ZeroShotClassifier&&) noexcept;
  ~ZeroShotClassifier();

 private:
  struct State;
  explicit ZeroShotClassifier(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace LINFORMER_NAMESPACE
