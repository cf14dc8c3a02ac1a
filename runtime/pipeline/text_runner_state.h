// What TextRunner holds. README.md says how the work is split.
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
  // One of a batch whose tokens' scores are taken: where its tokens begin in the worker's lists, and how many it has.
  struct Sequence {
    int64_t window;
    size_t begin, size;
    std::array<int64_t, 2> first, nearest;
  };

  // What one thread has of its own.
  struct Worker {
    Session* session = nullptr;
    std::optional<TextReader> reader;  // of a model that reads tokens
    std::optional<SequenceBatch> batch;
    bool alone = false;   // all threads of the session work for it
    Array<size_t> texts;  // in the chunk, that the batch's sequences are of
    Array<float> values;
    Array<Output> outputs;
    Status status;
    // Of those whose tokens' scores are taken.
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
  Status start(const SessionOptions& session, int threads, const ParallelFor& callers);
  Status make_workers(const TextOptions& options);
  Status run(const TextList& texts, Visit visit, void* context, const RunControl& control);
  // The texts from `begin` on that are read and run together: order_ and groups_ say how.
  Status take_chunk(const TextList& texts, size_t begin);
  Status plan_chunk();
  Status run_chunk();
  Status run_groups(Worker* worker);
  Status add(Worker* worker, size_t text);
  Status append(Worker* worker, size_t text, int64_t window, const TextSequence& sequence);
  Status append_vectors(Worker* worker, size_t text);
  Status run_batch(Worker* worker);
  void keep(const Worker& worker);
  Status take(Worker* worker);
  int64_t estimate(const TextInput& input) const;
  float* values_of(size_t text) { return values_.data() + text * row_; }
  int64_t sequences_each() const { return apart_ ? 2 : 1; }

  bool takes_tokens() const { return taker_.take != nullptr; }

  std::shared_ptr<const Model> model_;
  TokenScoresTaker taker_;  // of rows for each token; none of rows for each text
  bool short_last_window_ = false;
  String prompt_;       // put before each text
  bool apart_ = false;  // a head compares the two texts of an input
  OnLong on_long_ = OnLong::truncate;
  int64_t max_tokens_ = 0;  // without what the model puts before a text
  int64_t pad_to_ = 0;
  int64_t prefix_rows_ = 0;
  int64_t vector_width_ = 0;  // 0: the model reads tokens
  int64_t max_batch_ = 1, group_rows_ = 1;
  size_t texts_at_once_ = 1;
  Array<Output> outputs_;
  Array<int64_t> shapes_;  // columns of each
  size_t row_ = 0;         // floats of a text; 0 where its tokens' scores are taken
  Array<Session> sessions_;
  Array<Worker> workers_;  // one for each session
  ThreadTeam team_;

  // The call and chunk in progress.
  RunControl control_;
  Array<TextInput> chunk_;
  Array<uint32_t> order_;   // texts of the chunk, longest first
  Array<uint32_t> groups_;  // ends in order_
  Array<TextReport> reports_;
  Array<float> values_;
  std::atomic<uint32_t> next_group_{0};
};

}  // namespace LINFORMER_NAMESPACE
