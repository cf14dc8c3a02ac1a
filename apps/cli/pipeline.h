// Records in, results out in the same order, in batches that a session's plan holds.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "batch.h"
#include "flags.h"
#include "sequences.h"

namespace linformer::cli {

// A record on its way through a model; commands derive theirs from it.
struct Job {
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  virtual ~Job() = default;
  bool truncated() const { return tokens < total_tokens; }
  std::string id_text() const { return id.is_string() ? id.get_ref<const std::string&>() : id.dump(); }

  nlohmann::json id;         // the record's own id, or its number
  std::string excerpt;       // of the text, safe to print
  std::string error;         // not empty: there is no result, and why
  int64_t tokens = 0;        // that the model read
  int64_t total_tokens = 0;  // that the text has; more than `tokens` when it was cut
  int64_t windows = 1;       // that the text was read in
};

struct PipelineOptions {
  SequenceOptions sequences;
  RunFlags run;
};

class Pipeline {
 public:
  // Computes a batch; owners[i] is the job that inputs[i] belongs to.
  using Run = std::function<void(Session* session, std::span<const Input> inputs, std::span<Job* const> owners)>;
  using Sink = std::function<void(Job& job)>;

  // Without a tokenizer for vectors. Throws UsageError or DataError when model and options don't fit.
  Pipeline(std::shared_ptr<const Model> model, std::optional<Tokenizer> tokenizer, const PipelineOptions& options,
           Run run, Sink sink);

  // Queues a text; jobs reach the sink when their batch is done. A job that already has an error only keeps its place.
  // A text that can't be read becomes an error.
  void add(std::unique_ptr<Job> job, std::string_view text, const std::optional<std::string>& pair);
  // The same for `count` vectors.
  void add_vectors(std::unique_ptr<Job> job, std::span<const float> values, int64_t count);
  // Runs what is queued; every job has reached the sink then.
  void flush();

  // The longest text in tokens or vectors.
  int64_t max_tokens() const;
  const Session& session() const { return session_; }
  // Only where there is one.
  const Tokenizer& tokenizer() const { return sequences_->tokenizer(); }

 private:
  struct Pending {
    std::unique_ptr<Job> job;
    int64_t left = 0;  // sequences to be run
  };
  Pending* append(std::unique_ptr<Job> job);
  void make_room(size_t tokens, int64_t texts);
  void enqueue(Pending* pending, const Sequence& sequence);
  void settle();
  void run_batch();
  void deliver();

  std::shared_ptr<const Model> model_;
  PipelineOptions options_;
  Run run_;
  Sink sink_;
  Session session_;
  std::optional<Sequences> sequences_;
  Batch batch_;
  std::vector<int32_t> ids_;
  std::vector<uint8_t> types_;
  std::vector<Pending*> owners_;  // of each text in the batch
  std::vector<Job*> jobs_;
  std::deque<Pending> pending_;  // in the order of the input; addresses are stable
};

}  // namespace linformer::cli
