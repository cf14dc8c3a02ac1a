// The data of a TextRunner. README.md describes how a call is divided.
#pragma once

#include <atomic>
#include <optional>

#include "base/array.h"
#include "base/threads.h"
#include "linformer/sequence_batch.h"
#include "linformer/text_reader.h"
#include "linformer/text_runner.h"
#include "pipeline/spans/token_scores.h"

namespace LINFORMER_NAMESPACE {

struct TextRunner::State {
  // A sequence of a batch whose scores go to token_callbacks_. Its tokens are a range of the worker's `offsets` and
  // `token_texts`.
  struct Sequence {
    int64_t window;
    size_t begin, size;
    std::array<int64_t, 2> first, nearest;
  };

  // The data of one thread.
  struct Worker {
    Session* session = nullptr;
    std::optional<TextReader> reader;  // Empty if the model reads vectors.
    std::optional<SequenceBatch> batch;
    bool alone = false;   // Only this worker runs, and its session uses all threads.
    Array<size_t> texts;  // For each sequence of the batch: the index of its text in the chunk.
    Array<float> values;
    Array<Output> outputs;
    Status status;
    // The members below are used only if the scores go to token_callbacks_.
    Array<Sequence> sequences;
    Array<Offset> offsets;
    Array<int8_t> token_texts;
    Array<int64_t> row_tokens;

    void clear() {
      batch->clear();
      texts.clear();
      sequences.clear();
      offsets.clear();
      token_texts.clear();
    }
  };

  Status prepare(const TextOptions& options, std::span<const Output> outputs);
  Status create_sessions(const SessionOptions& session, int threads, const ParallelFor& caller_loop);
  Status make_workers(const TextOptions& options);
  Status run(const TextList& texts, Visit visit, void* context, const RunControl& control);
  // Fills chunk_ with the texts from `begin` on that are run together. sort_into_groups() then sets order_ and groups_.
  Status fill_chunk(const TextList& texts, size_t begin);
  Status sort_into_groups();
  Status run_chunk();
  Status run_groups(Worker* worker);
  Status add_text(Worker* worker, size_t text);
  Status append_sequence(Worker* worker, size_t text, int64_t window, const TextSequence& sequence);
  Status append_vectors(Worker* worker, size_t text);
  Status run_batch(Worker* worker);
  void add_to_means(const Worker& worker);
  Status pass_token_scores(Worker* worker);
  int64_t estimate_rows(const TextInput& input) const;
  float* values_of(size_t text) { return values_.data() + text * row_; }
  int64_t sequences_per_text() const { return apart_ ? 2 : 1; }

  // Returns whether the head scores each token, and the scores go to token_callbacks_.
  bool scores_tokens() const { return token_callbacks_.on_scores != nullptr; }

  std::shared_ptr<const Model> model_;
  TokenScoresCallbacks token_callbacks_;  // Its functions are null if the outputs have a row for each text.
  bool short_last_window_ = false;
  String prompt_;       // The characters that are put before each text.
  bool apart_ = false;  // A head compares the two texts of an input, which are separate sequences.
  OnLong on_long_ = OnLong::truncate;
  int64_t max_tokens_ = 0;  // The longest sequence, without the row that the model may put before it.
  int64_t pad_to_ = 0;
  int64_t prefix_rows_ = 0;
  int64_t vector_width_ = 0;  // 0 if the model reads tokens.
  int64_t max_batch_ = 1, group_rows_ = 1;
  size_t texts_at_once_ = 1;  // The most texts in a chunk.
  Array<Output> outputs_;
  Array<int64_t> shapes_;  // The number of columns of each output.
  size_t row_ = 0;         // The number of floats of a text's values. 0 if the scores go to token_callbacks_.
  Array<Session> sessions_;
  Array<Worker> workers_;  // One worker for each session.
  ThreadTeam team_;

  // The call and the chunk in progress.
  RunControl control_;
  Array<TextInput> chunk_;
  Array<uint32_t> order_;   // The texts of the chunk, the longest first.
  Array<uint32_t> groups_;  // The end of each group in order_.
  Array<TextReport> reports_;
  Array<float> values_;
  std::atomic<uint32_t> next_group_{0};
};

}  // namespace LINFORMER_NAMESPACE
