// ZeroShotClassifier: takes texts and labels, and gives a score that says how well each label fits each text, by a
// model that was trained for natural language inference.
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
  size_t label = 0;  // The index into the classifier's labels.
  float probability = 0;
};

// The scores of one text. A ZeroShotClassification is valid only during the visit.
struct ZeroShotClassification {
  // A sequence is the text and one label's sentence. The first report of a sequence that has an error, or, if none has,
  // the report of the longest sequence.
  const TextReport& report;
  // One for each label: the best first, and labels of equal scores in their order. Empty if the report has an error.
  std::span<const LabelScore> scores;
};

struct ZeroShotOptions {
  // A text and the sentence of a label are read as a pair. Only the text is cut; `truncation` is ignored.
  TextOptions texts = {};
  std::span<const std::string_view> labels = {};  // At least one, and none is empty. They are copied.
  // The sentence of a label, with {} in the place of the label. It is copied.
  std::string_view hypothesis = "This example is {}.";
  // Whether each label is judged by itself, so that any number of labels may fit. Otherwise the probabilities of all
  // labels add up to 1. A single label is always judged by itself.
  bool multi_label = false;
  int head = 0;  // The index of the classification head that says whether a text entails a sentence.
};

// Classifies texts by labels. The probabilities are those of transformers' zero-shot-classification pipeline: the
// softmax of the entailment logits of all labels or, with multi_label, for each label the softmax of its entailment
// logit and its contradiction logit. The entailment class is the one whose name begins with "entail", in upper or lower
// case, or the last class if the model doesn't name its classes. The contradiction class is the first one, or the last
// one if entailment is the first.
//
// A ZeroShotClassifier owns its tokenizer, sessions and threads, and shares the model. Not thread-safe: one call at a
// time. Movable.
class ZeroShotClassifier {
 public:
  // Returns the errors of Session and Tokenizer; unsupported if the head has fewer than two classes, has no class that
  // says entailment, or doesn't read a pair of texts; invalid_argument for labels, a hypothesis and options that are
  // wrong.
  static Result<ZeroShotClassifier> create(std::shared_ptr<const Model> model, const ZeroShotOptions& options);

  // Calls visit(context, index, classification) for each text, in order, on this thread, until visit returns false.
  // Only TextInput::text is read. A text that can't be read keeps its place and has an error in its report. A returned
  // error concerns the whole call. Memory is bounded whatever the number of texts.
  using Visit = bool (*)(void* context, size_t index, const ZeroShotClassification& classification);
  Status classify(const TextList& texts, Visit visit, void* context, const RunControl& control = {});
  // As above, with any callable object as `visit`.
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
  // Returns the head's class that stands for entailment.
  int64_t entailment() const;
  // Returns the most tokens of a text and the sentence of a label together. The text is cut to fit.
  int64_t max_tokens() const;
  // Returns how many texts the threads compute together. A call with fewer texts may leave threads idle.
  size_t texts_at_once() const;
  // Returns the session of each thread, from which a caller can read the plan and the profile.
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
