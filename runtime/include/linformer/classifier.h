// Classifier: takes texts, and gives the scores of classification heads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include "linformer/model.h"
#include "linformer/text_input.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// What the heads say about one text: for each head its logits, and the probabilities that its kind makes of them
// (Output::probabilities). If the text was read in several windows, these are the means over the windows. A
// Classification is valid only during the visit.
struct Classification {
  const TextReport& report;
  std::span<const float> values;  // [heads][logits, probabilities]. Empty if the report has an error.
  std::span<const int64_t> classes;

  // Return the numbers of one head. `head` is an index into the classifier's heads.
  std::span<const float> logits(size_t head = 0) const { return part(head, 0); }
  std::span<const float> probabilities(size_t head = 0) const { return part(head, 1); }

 private:
  std::span<const float> part(size_t head, size_t which) const {
    size_t offset = 0;
    for (size_t i = 0; i < head; ++i) offset += 2 * static_cast<size_t>(classes[i]);
    const size_t size = static_cast<size_t>(classes[head]);
    return values.empty() ? values : values.subspan(offset + which * size, size);
  }
};

struct ClassifierOptions {
  TextOptions texts = {};
  // The indices of the model's classification heads that are computed, all in one pass. If empty, the first head is
  // computed. A head that compares two texts can't be combined with heads that don't, and a head that scores each token
  // can't be used.
  std::span<const int> heads = {};
};

// Classifies texts. A Classifier owns its tokenizer, sessions and threads, and shares the model. Not thread-safe: one
// call at a time. Movable.
//
//   auto classifier = linformer::Classifier::create(model, {.texts = {.cpu = {.threads = 2}}});
//   if (!classifier.ok()) return classifier.status();
//   const std::string_view texts[] = {"A lovely, moving film.", "What a waste of two hours!"};
//   std::vector<float> probabilities(2 * classifier->classes());
//   linformer::Status done = classifier->classify(texts, probabilities);
class Classifier {
 public:
  // Returns the errors of Session and Tokenizer, and invalid_argument for heads and options that don't fit the model.
  static Result<Classifier> create(std::shared_ptr<const Model> model, const ClassifierOptions& options = {});

  // Writes the probabilities of the first head to probabilities[i * classes() + c], for any number of texts. If a text
  // can't be classified, it returns an error that names the first such text. After an error, `probabilities` is
  // unspecified.
  Status classify(const TextList& texts, std::span<float> probabilities, const RunControl& control = {});
  // Calls visit(context, index, classification) for each text, in order, on this thread, until visit returns false. A
  // text that can't be read keeps its place and has an error in its report. A returned error concerns the whole call.
  // Memory is bounded whatever the number of texts. control.progress gets the share of the texts that are done.
  using Visit = bool (*)(void* context, size_t index, const Classification& classification);
  Status classify(const TextList& texts, Visit visit, void* context, const RunControl& control = {});
  // As above, with any callable object as `visit`.
  template <class Callable>
  requires std::is_invocable_r_v<bool, Callable&, size_t, const Classification&> Status
  classify(const TextList& texts, Callable&& visit, const RunControl& control = {}) {
    using Called = std::remove_reference_t<Callable>;
    return classify(
        texts,
        [](void* context, size_t index, const Classification& classification) -> bool {
          return (*static_cast<Called*>(context))(index, classification);
        },
        const_cast<void*>(static_cast<const void*>(&visit)), control);
  }

  // Returns the number of outputs of a head, by its index in ClassifierOptions::heads.
  int64_t classes(size_t head = 0) const;
  // Returns the number of tokens, or vectors, that a text is cut to.
  int64_t max_tokens() const;
  // Returns how many texts the threads compute together. A call with fewer texts may leave threads idle.
  size_t texts_at_once() const;
  // Returns the session of each thread, from which a caller can read the plan and the profile.
  std::span<const Session> sessions() const;

  Classifier(Classifier&&) noexcept;
  Classifier& operator=(Classifier&&) noexcept;
  ~Classifier();

 private:
  struct State;
  explicit Classifier(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace LINFORMER_NAMESPACE
