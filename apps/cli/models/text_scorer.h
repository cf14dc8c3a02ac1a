// Scores texts with the classification heads of a model, or with labels that the user names.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "linformer/classifier.h"
#include "linformer/zero_shot.h"
#include "models/text_queue.h"

namespace linformer::cli {

struct TextScorer {
  TextQueue::Compute compute;  // The values of each text are [heads][logits, probabilities].
  std::function<std::span<const Session>()> sessions;
  int64_t max_tokens = 0;    // A text is cut to this many tokens.
  size_t texts_at_once = 1;  // As in Classifier::texts_at_once().
};

// Returns a scorer that runs the heads that the options name.
TextScorer score_by_heads(const std::shared_ptr<const Model>& model, const ClassifierOptions& options);
// Returns a scorer with one head, whose classes are the labels of the options. In place of logits it returns the
// probabilities again.
TextScorer score_by_labels(const std::shared_ptr<const Model>& model, const ZeroShotOptions& options);

}  // namespace linformer::cli
