// The two sides of a comparison: a model with its answers, and rows that the original program gave.
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

// A record that both have answered, or one that neither can.
struct Answered {
  std::string id, error;
  bool truncated = false;
  std::optional<size_t> truth;
  std::vector<float> logits, vector;
};

// A model and what it says about each record, in order.
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
  size_t width() const { return width_; }

 private:
  TextRunner make_runner(const CompareFlags& flags);
  void choose_head(const std::string& name);
  void take_job(Compared& job, std::span<const float> values);

  std::string path_;
  std::shared_ptr<const Model> model_;
  int head_ = -1;
  std::vector<std::string> labels_;
  size_t width_ = 0;
  TextRunner runner_;
  TextQueue queue_;
};

// Rows of the original program's outputs, one for each record.
class ReferenceRows {
 public:
  // Throws DataError unless its rows are as wide as what `side` gives for a record.
  ReferenceRows(const std::string& path, const ComparedModel& model);
  // The row that belongs to what a model answered. Throws DataError where there is none.
  Answered next(const Answered& to);
  // Throws DataError where rows are left.
  void finish();
  bool logits() const { return logits_; }

 private:
  ByteSource source_;
  NpyRowReader reader_;
  bool logits_ = false;
};

}  // namespace linformer::cli
