// Measures how far two model files, or a model file and the program that it comes from, are apart on the same texts.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "answers/answers.h"
#include "answers/output.h"
#include "command_line/display.h"
#include "command_line/errors.h"
#include "commands/commands.h"
#include "commands/compared_model.h"
#include "commands/flags/compare_flags.h"
#include "evaluation/differences.h"
#include "evaluation/evaluation.h"
#include "input/record_loop.h"
#include "inspect/describe.h"
#include "models/label_names.h"

namespace linformer::cli {
namespace {

size_t argmax(std::span<const float> logits) {
  return static_cast<size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

class Comparison {
 public:
  explicit Comparison(const CompareFlags& flags)
      : flags_(flags), fields_(flags.input.fields(flags.eval)), first_(flags.first, flags), progress_(true) {
    if (!flags.second.empty()) second_.emplace(flags.second, flags);
    if (!flags.reference.empty()) reference_.emplace(flags.reference, first_);
    if (!second_) {
      logits_ = reference_->has_logits();
      vectors_ = !logits_;
    } else {
      logits_ = first_.has_head() && second_->has_head();
      if (logits_ && first_.labels() != second_->labels()) {
        throw DataError("the heads have different outputs: " + list_of_labels(first_.labels()) + " in " +
                        first_.path() + ", " + list_of_labels(second_->labels()) + " in " + second_->path() +
                        "; choose with --head, or convert both from one checkpoint");
      }
      vectors_ = first_.vector_width() == second_->vector_width();
      if (!logits_ && !vectors_) {
        throw DataError("nothing can be compared: not both models have a head, and their vectors have " +
                        std::to_string(first_.vector_width()) + " and " + std::to_string(second_->vector_width()) +
                        " numbers");
      }
    }
    const auto chooses = [](const ComparedModel& side) { return side.kind() == HeadKind::single_label; };
    labels_ = logits_ && chooses(first_) && (!second_ || chooses(*second_)) && first_.labels().size() > 1;
    if (flags.eval.empty()) return;
    if (!labels_) throw UsageError("--eval needs a head that gives one of several labels, in both models");
    names_.emplace(first_.labels());
  }

  int operator()() {
    RecordLoop loop;
    loop.visit = [this](Record& record) { visit(record); };
    loop.progress = &progress_;
    loop.run(flags_.input, fields_);
    first_.flush();
    if (second_) second_->flush();
    compare_answered();
    // With --limit, the array of --reference may have rows for records that were not read.
    if (reference_ && flags_.input.limit == 0) reference_->finish();
    progress_.clear();
    if (compared_ == 0) {
      throw DataError(tally_.records == 0 ? "the input holds no records: nothing was compared"
                                          : "none of the " + grouped(tally_.records) + " records could be compared");
    }
    standard_output().write(flags_.json ? json_text(json()) + "\n" : text());
    standard_output().flush();
    const int64_t shorter = second_ ? std::min(first_.max_tokens(), second_->max_tokens()) : first_.max_tokens();
    const bool same = !second_ || first_.max_tokens() == second_->max_tokens();
    tally_.print_summary(
        shorter, flags_.json ? ""
                 : !second_  ? "the number of tokens that the original read is not known"
                 : same      ? "both models read the same part"
                             : "the other model read more tokens: convert both models for the same number of tokens");
    return tally_.errors > 0 ? exit_data : exit_ok;
  }

 private:
  void visit(Record& record) {
    ++tally_.records;
    auto job = std::make_unique<Compared>();
    job->id = id_of_answer(&record, tally_.records, flags_.input);
    job->error = record.error;
    if (job->error.empty() && names_) {
      job->truth = names_->find(record.label.value_or(""));
      if (!job->truth) job->error = names_->unknown_label_message(record.label.value_or(""));
    }
    if (second_) {
      auto other = std::make_unique<Compared>();
      other->id = job->id;
      other->error = job->error;
      second_->add(std::move(other), record);
    }
    first_.add(std::move(job), record);
    compare_answered();
  }

  // Compares the two answers to each record that both models have answered. Without a second model, the second answer
  // is a row of --reference.
  void compare_answered() {
    while (!first_.answers.empty() && (!second_ || !second_->answers.empty())) {
      const Answered a = std::move(first_.answers.front());
      first_.answers.pop_front();
      Answered b;
      if (second_) {
        b = std::move(second_->answers.front());
        second_->answers.pop_front();
      } else {
        b = reference_->next(a);
      }
      count(a, b);
    }
  }

  void count(const Answered& a, const Answered& b) {
    Tally::count_answered();
    // If both models give the same error, its cause is the record, so the error is reported without a model's path.
    const auto of = [&](const ComparedModel& side, const std::string& error) {
      return second_ && a.error != b.error ? side.path() + ": " + error : error;
    };
    const std::string error = !a.error.empty()   ? of(first_, a.error)
                              : !b.error.empty() ? of(*second_, b.error)
                              : !finite(b)       ? other_name() + " gives numbers that are not finite"
                                                 : "";
    if (!error.empty()) {
      ++tally_.errors;
      return tally_.report(a.id, error, false, &progress_);
    }
    tally_.cut += a.truncated || b.truncated ? 1 : 0;
    ++compared_;
    // Differences are relative to the numbers of the original.
    const Answered &original = second_ ? a : b, &other = second_ ? b : a;
    if (logits_) logit_differences_.add(original.logits, other.logits, a.id);
    if (vectors_) vector_differences_.add(original.vector, other.vector, a.id);
    if (!labels_) return;
    const size_t of_a = argmax(a.logits), of_b = argmax(b.logits);
    changed_ += of_a != of_b ? 1 : 0;
    if (!a.truth) return;
    right_[0] += of_a == *a.truth ? 1 : 0;
    right_[1] += of_b == *a.truth ? 1 : 0;
  }

  static bool finite(const Answered& answered) {
    const auto all = [](const std::vector<float>& values) {
      return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
    };
    return all(answered.logits) && all(answered.vector);
  }

  std::string other_name() const { return second_ ? second_->path() : flags_.reference; }
  double share(uint64_t part) const { return ratio(part, compared_); }

  std::string text() const {
    Table table({"", ""}, {false, false});
    const auto model = [&](const ComparedModel& side) {
      return excerpt(side.path(), 60) + ", " + byte_size(side.model().file_bytes()) + ", computed in " +
             compute_text(side.plan());
    };
    table.add({"first", model(first_)});
    table.add({"second", second_ ? model(*second_) : excerpt(other_name(), 60) + ", the original's"});
    table.add({"records", grouped(compared_)});
    if (labels_) {
      table.add({"labels changed", grouped(changed_) + " (" + fixed(100 * share(changed_), 2) + " %)"});
    }
    if (names_) {
      table.add({"accuracy", fixed(share(right_[0]), 4) + ", second " + fixed(share(right_[1]), 4) + " (" +
                                 (right_[1] < right_[0] ? "-" : "+") +
                                 fixed(100 * std::abs(share(right_[1]) - share(right_[0])), 2) + " points)"});
    }
    if (logits_) {
      const NumberDifferences& d = logit_differences_;
      table.add({"logits", "differ by " + significant(d.mean(), 3) + " on average, at most " +
                               significant(d.largest(), 3) + " (record " + excerpt(d.record_of_largest(), 30) + ")"});
    }
    if (vectors_) {
      const NumberDifferences& d = vector_differences_;
      table.add({"vectors", "cosine " + fixed(d.mean_cosine(), 6) + " on average, at least " +
                                fixed(d.least_cosine(), 6) + " (record " + excerpt(d.record_of_least_cosine(), 30) +
                                "); relative difference " + significant(d.relative(), 3)});
    }
    return table.text();
  }

  static nlohmann::ordered_json json_of(const NumberDifferences& d) {
    return {{"largest", d.largest()},
            {"record_of_largest", d.record_of_largest()},
            {"mean", d.mean()},
            {"relative", number_or_null(d.relative())},
            {"mean_cosine", d.mean_cosine()},
            {"least_cosine", d.least_cosine()},
            {"record_of_least_cosine", d.record_of_least_cosine()}};
  }

  nlohmann::ordered_json json() const {
    const auto model = [](const ComparedModel& side) {
      return nlohmann::ordered_json{{"file", side.path()},
                                    {"bytes", side.model().file_bytes()},
                                    {"compute", linformer::name_of(side.plan().compute)},
                                    {"attention_compute", linformer::name_of(side.plan().attention_compute)}};
    };
    nlohmann::ordered_json json = {{"first", model(first_)}};
    json["second"] = second_ ? model(*second_) : nlohmann::ordered_json{{"reference", flags_.reference}};
    json["records"] = compared_;
    json["errors"] = tally_.errors;
    if (labels_) json["labels_changed"] = changed_;
    if (names_)
      json["accuracy"] =
          nlohmann::ordered_json::array({number_or_null(share(right_[0])), number_or_null(share(right_[1]))});
    if (logits_) json["logits"] = json_of(logit_differences_);
    if (vectors_) json["vectors"] = json_of(vector_differences_);
    return json;
  }

  const CompareFlags& flags_;
  RecordFields fields_;
  ComparedModel first_;
  std::optional<ComparedModel> second_;
  std::optional<ReferenceRows> reference_;
  Progress progress_;
  std::optional<LabelNames> names_;
  bool logits_ = false, vectors_ = false, labels_ = false;
  NumberDifferences logit_differences_, vector_differences_;
  uint64_t compared_ = 0, changed_ = 0, right_[2] = {};
  Tally tally_;
};

}  // namespace

void add_compare(CLI::App* app, Run* run) {
  CLI::App* command = app->add_subcommand("compare", "Measure how far two models are apart on the same texts");
  auto flags = std::make_shared<CompareFlags>();
  flags->add_to(command);
  command->callback([flags, run] {
    *run = [flags] {
      flags->assign_positionals();
      flags->check();
      return Comparison(*flags)();
    };
  });
}

}  // namespace linformer::cli
