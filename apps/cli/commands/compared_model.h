// What `linformer compare` compares: the answers of a model with those of another model, or with rows of numbers that
// the original program computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "commands/flags/compare_flags.h"
#include "input/npy.h"
#include "input/records.h"
#include "linformer/text_runner.h"
#include "models/heads.h"
#include "models/job.h"
#include "models/text_queue.h"

namespace linformer::cli {

struct Compared : Job {
  std::optional<size_t> truth;
  std::vector<float> logits, vector;
};

// The answer that a model or the original program gives to a record, or the error of the record.
struct Answered {
  std::string id, error;
  bool truncated = false;
  std::optional<size_t> truth;
  std::vector<float> logits, vector;
};

// A model and its answers to the records, in the order of the records.
class ComparedModel {
 public:
  ComparedModel(const std::string& path, const CompareFlags& flags);

  void add(std::unique_ptr<Compared> job, const Record& record) {
    queue_.add(std::move(job), record.text, record.pair);
  }
  void flush() { queue_.flush(); }
  std::deque<Answered> answers;

  const std::string& path() const { return path_; }
  const Model& model() const { return *model_; }
  const Plan& plan() const { return runner_.sessions()[0].plan(); }
  int64_t max_tokens() const { return runner_.max_tokens(); }
  bool has_head() const { return head_ >= 0; }
  HeadKind kind() const { return model_->head(head_).kind; }
  const std::vector<std::string>& labels() const { return labels_; }
  size_t vector_width() const { return width_; }

 private:
  TextRunner make_runner(const CompareFlags& flags);
  void choose_head(const std::string& name);
  void store_values(Compared& job, std::span<const float> values);

  std::string path_;
  std::shared_ptr<const Model> model_;
  int head_ = -1;
  std::vector<std::string> labels_;
  size_t width_ = 0;
  TextRunner runner_;
  TextQueue queue_;
};

// The outputs of the original program, a row for each record.
class ReferenceRows {
 public:
  // Throws DataError unless each row has as many numbers as the model has logits, or as its vectors have numbers.
  ReferenceRows(const std::string& path, const ComparedModel& model);
  // Returns the next row, with the id and the true answer of `model_answer`. Throws DataError if there are no more
  // rows.
  Answered next(const Answered& model_answer);
  // Throws DataError if there are more rows than records.
  void finish();
  bool has_logits() const { return logits_; }

 private:
  ByteSource source_;
  NpyRowReader reader_;
  bool logits_ = false;
};

}  // namespace linformer::cli
