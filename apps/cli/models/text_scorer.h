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
  int64_t max_tokens = 0;    // A text with more tokens is cut or read in windows.
  size_t texts_at_once = 1;  // The number of texts that are computed at once.
};

// Returns a scorer that runs the heads that the options name.
TextScorer make_head_scorer(const std::shared_ptr<const Model>& model, const ClassifierOptions& options);
// Returns a scorer with one head, whose classes are the labels in the options. Zero-shot classification gives no
// logits, so TextScorer::compute passes the probabilities in their place too.
TextScorer make_label_scorer(const std::shared_ptr<const Model>& model, const ZeroShotOptions& options);

}  // namespace linformer::cli
