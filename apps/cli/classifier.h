// Texts or vectors to the scores of classification heads.
#pragma once

#include "answers.h"
#include "pipeline.h"

namespace linformer::cli {

class Classifier {
 public:
  using Sink = std::function<void(Answer&)>;

  // `heads` all read single texts, or all compare two (then options.sequences.apart must say so too).
  Classifier(std::shared_ptr<const Model> model, std::optional<Tokenizer> tokenizer, const PipelineOptions& options,
             std::vector<int> heads, Sink sink);

  // Its jobs are answers.
  Pipeline& pipeline() { return pipeline_; }

 private:
  void run(Session* session, std::span<const Input> inputs, std::span<Job* const> owners);

  std::vector<int> heads_;
  std::vector<size_t> classes_;  // of each head
  size_t texts_each_;            // that a row of scores belongs to
  std::vector<Scores> values_;   // of a batch, for each head
  std::vector<HeadScores> outputs_;
  Pipeline pipeline_;
};

}  // namespace linformer::cli
