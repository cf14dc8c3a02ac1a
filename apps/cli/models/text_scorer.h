// What gives labels and numbers to texts: the heads of a model, or labels that the user names.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "linformer/classifier.h"
#include "linformer/zero_shot.h"
#include "models/text_queue.h"

namespace linformer::cli {

struct TextScorer {
  TextQueue::Compute compute;  // of each text [heads][logits, probabilities]
  std::function<std::span<const Session>()> sessions;
  int64_t max_tokens = 0;    // that a text is cut to
  size_t texts_at_once = 1;  // as the library says it
};

// The heads that the options name.
TextScorer score_by_heads(const std::shared_ptr<const Model>& model, const ClassifierOptions& options);
// One head whose classes are the labels of the options. Its logits are the probabilities too.
TextScorer score_by_labels(const std::shared_ptr<const Model>& model, const ZeroShotOptions& options);

}  // namespace linformer::cli
