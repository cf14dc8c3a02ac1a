// Texts in, answers out in the same order, in batches that a session's plan holds.
#pragma once

#include <deque>
#include <functional>
#include <string_view>

#include "answers.h"
#include "batch.h"
#include "flags.h"
#include "linformer/session.h"
#include "linformer/tokenizer.h"

namespace linformer::cli {

enum class OnLong { truncate = 0, error, window };

struct ClassifierOptions {
  int head = 0;
  OnLong on_long = OnLong::truncate;
  int64_t overlap = -1;  // tokens that two neighbouring windows share; -1: a quarter of a window
  EncodeOptions tokens;
  RunFlags run;
};

class Classifier {
 public:
  using Sink = std::function<void(Answer&)>;

  // Throws UsageError or DataError when model and options don't fit.
  Classifier(std::shared_ptr<const Model> model, Tokenizer tokenizer, const ClassifierOptions& options, Sink sink);

  // Queues a text; answers reach the sink when their batch is full. An answer that already has an error only keeps its
  // place. A text that can't be classified becomes an error.
  void add(Answer answer, std::string_view text, const std::optional<std::string>& pair);
  // Runs what is queued; every answer has reached the sink then.
  void flush();

  int64_t max_tokens() const { return max_tokens_; }

 private:
  struct Pending {
    Answer answer;
    int64_t windows_left = 0;
  };
  std::string unusable(std::span<const int32_t> ids) const;
  void add_windows(Pending* pending, std::string_view text);
  void enqueue(Pending* pending);
  void run_batch();
  void deliver();

  std::shared_ptr<const Model> model_;
  Tokenizer tokenizer_;
  ClassifierOptions options_;
  Sink sink_;
  Session session_;
  int64_t max_tokens_ = 0;
  size_t classes_ = 0;
  Encoding encoding_;
  std::vector<int32_t> ids_;
  Batch batch_;
  std::vector<Pending*> owners_;  // of each text in the batch
  std::deque<Pending> pending_;   // in the order of the input; addresses are stable
  std::vector<float> logits_, probabilities_;
};

}  // namespace linformer::cli
