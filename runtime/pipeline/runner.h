// Texts in, rows of numbers out, in the order of the texts: what Classifier and Embedder are made of. README.md says
// how the work is split.
#pragma once

#include <atomic>
#include <memory>

#include "base/array.h"
#include "base/threads.h"
#include "linformer/text_input.h"
#include "linformer/version.h"
#include "pipeline/reader.h"

namespace LINFORMER_NAMESPACE {

class TextRunner {
 public:
  // What is asked of the sessions: every output gives a row for each text (or for each two texts that are compared).
  // `outputs` have no values.
  static Result<std::unique_ptr<TextRunner>> create(std::shared_ptr<const Model> model, const TextOptions& options,
                                                    std::span<const Output> outputs);

  // visit(context, index, report, values) for each text, in order and on the calling thread; `values` are the outputs'
  // rows one after the other, empty where the report has an error. False: no more are wanted. An error ends the call:
  // texts that were not visited have no answer.
  using Visit = bool (*)(void* context, size_t index, const TextReport& report, std::span<const float> values);
  Status run(const TextList& texts, Visit visit, void* context, const RunControl& control);
  template <class Callable>
  Status run(const TextList& texts, Callable&& visit, const RunControl& control) {
    using Called = std::remove_reference_t<Callable>;
    return run(
        texts,
        [](void* context, size_t index, const TextReport& report, std::span<const float> values) {
          return (*static_cast<Called*>(context))(index, report, values);
        },
        const_cast<void*>(static_cast<const void*>(&visit)), control);
  }

  // Columns of output i.
  int64_t columns(size_t i) const { return shapes_[i]; }
  // Most texts that are in memory at once, but for the caller's.
  size_t texts_at_once() const { return texts_at_once_; }
  // The longest text in tokens or vectors.
  int64_t max_tokens() const { return rules_.max_tokens; }
  std::span<const Session> sessions() const { return sessions_.span(); }
  const Model& model() const { return *model_; }

 private:
  // What one thread has of its own.
  struct Worker {
    explicit Worker(const ReadRules& rules) : reader(rules) {}
    TextReader reader;
    Session* session = nullptr;
    bool alone = false;  // all threads of the session work for it
    // A batch: its sequences, whose ids, types or vectors follow one another, and the texts that they are of.
    struct Sequence {
      size_t start, size;  // in ids, or in vectors
      size_t text;         // in the chunk
    };
    Array<Sequence> sequences;
    Array<int32_t> ids;
    Array<uint8_t> types;
    Array<float> vectors;
    int64_t rows = 0;
    Array<Input> inputs;
    Array<float> values;
    Array<Output> outputs;
    Status status;
    void clear() {
      sequences.clear();
      ids.clear();
      types.clear();
      vectors.clear();
      rows = 0;
    }
  };

  TextRunner() = default;
  Status prepare(const TextOptions& options, std::span<const Output> outputs);
  Status start(const SessionOptions& session, int threads, const ParallelFor& callers);
  // The texts from `begin` on that are read and run together: order_ and groups_ say how.
  Status take_chunk(const TextList& texts, size_t begin);
  Status plan_chunk();
  Status run_chunk();
  Status run_groups(Worker* worker);
  Status add(Worker* worker, size_t text);
  Status append(Worker* worker, size_t text, const TextSequence& sequence);
  Status append_vectors(Worker* worker, size_t text);
  Status run_batch(Worker* worker);
  void keep(const Worker& worker);
  bool fits(const Worker& worker, int64_t rows, int64_t sequences) const;
  int64_t estimate(const TextInput& input) const;
  float* values_of(size_t text) { return values_.data() + text * row_; }

  std::shared_ptr<const Model> model_;
  std::optional<Tokenizer> tokenizer_;
  ReadRules rules_;
  int64_t pad_to_ = 0;
  int32_t pad_id_ = -1;
  int64_t prefix_rows_ = 0;
  int64_t vector_width_ = 0;  // 0: the model reads tokens
  int64_t max_batch_ = 1, max_rows_ = 1, group_rows_ = 1;
  size_t texts_at_once_ = 1;
  Array<Output> outputs_;
  Array<int64_t> shapes_;  // columns of each
  size_t row_ = 0;         // floats of a text
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
