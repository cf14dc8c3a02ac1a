#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "answers/column_answers.h"
#include "answers/output.h"
#include "command_line/display.h"
#include "command_line/errors.h"
#include "commands/commands.h"
#include "commands/flags/classify_flags.h"
#include "evaluation/evaluator.h"
#include "files/atomic_file.h"
#include "input/npy.h"
#include "input/record_loop.h"
#include "inspect/profile.h"
#include "models/heads.h"
#include "models/model_file.h"
#include "models/text_queue.h"
#include "models/text_scorer.h"
#include "system/descriptors.h"
#include "system/terminal.h"

namespace linformer::cli {
namespace {

// The array of --logits. Rows are appended when they are computed. The number of rows is known only at the end; the
// header is then rewritten.
class LogitsFile {
 public:
  LogitsFile(const std::string& path, size_t classes) : file_(path), classes_(classes) {
    if (!file_.is_file()) throw UsageError("--logits " + path + " is not a file that can be rewritten; name a file");
    write_header();
  }
  void add(const Answer& answer) {
    // A record without an answer gets a row of NaN, so that row i belongs to record i.
    std::vector<float> row(classes_, std::numeric_limits<float>::quiet_NaN());
    if (answer.error.empty()) row = answer.heads[0].logits;
    file_.append(std::as_bytes(std::span(row)));
    ++rows_;
  }
  void commit() {
    file_.rewrite_start(header());
    file_.commit();
  }

 private:
  std::string header() const {
    const int64_t shape[] = {rows_, static_cast<int64_t>(classes_)};
    return npy_float_header(shape);
  }
  void write_header() { file_.append(header()); }

  files::AtomicFile file_;
  size_t classes_;
  int64_t rows_ = 0;
};

// Thrown with --fail-fast after the first bad record was reported, to end the command.
struct FailFast {};

std::vector<int> chosen_heads(const Model& model, const ClassifyFlags& flags) {
  std::vector<int> heads = find_heads(model, flags.head);
  if (flags.all_heads) {
    heads.clear();
    for (int i = 0; i < model.info().heads; ++i) heads.push_back(i);
  }
  const HeadInfo first = model.head(heads[0]);
  const std::string first_name(first.name);
  for (const int i : heads) {
    const HeadInfo head = model.head(i);
    const std::string name(head.name);
    if (head.each_token) {
      throw UsageError("head '" + name + "' " + use_and_command(head) +
                       (flags.all_heads ? ", and name the others with --head" : ""));
    }
    if (head.compares_two != first.compares_two) {
      throw UsageError("head '" + name + "' and head '" + first_name +
                       "' don't read the same input: one of them compares two texts; run them in two commands");
    }
  }
  if ((flags.top_k > 0 || flags.threshold) &&
      std::all_of(heads.begin(), heads.end(), [&](int i) { return gives_numbers(model.head(i).kind); })) {
    throw UsageError(std::string(flags.top_k > 0 ? "--top-k" : "--threshold") + " chooses among labels, and head '" +
                     first_name + "' gives numbers; leave it out");
  }
  if (heads.size() > 1 && !flags.eval.empty())
    throw UsageError("--eval compares the labels of one head; name the head with --head");
  if (heads.size() > 1 && !flags.logits.empty())
    throw UsageError("--logits saves the outputs of one head; name the head with --head");
  return heads;
}

class Classify {
 public:
  explicit Classify(const ClassifyFlags& flags)
      : flags_(flags),
        fields_(flags.input.fields(flags.eval)),
        model_(load_model(flags.model)),
        heads_(chosen_heads(*model_, flags)),
        labels_(labels_of_heads()),
        scorer_(make_scorer()),
        queue_(scorer_.texts_at_once, error_explainer(flags.longer.value() != OnLong::window), scorer_.compute,
               [this](Job& job, std::span<const float> values) { take_values(static_cast<Answer&>(job), values); }),
        format_(flags.format()),
        output_(flags.output.output),
        progress_(output_.is_file() || !system::is_terminal(system::standard_output) ||
                  (!flags.eval.empty() && !flags.records)) {
    if (!flags.eval.empty()) {
      evaluator_.emplace(labels_[0].labels, evaluator_options());
      if (takes_lists()) fields_.max_labels = labels_[0].labels.size();
      fields_.numbers = gives_numbers(labels_[0].kind);
    }
    if (!flags.logits.empty()) logits_.emplace(flags.logits, labels_[0].labels.size());
    if (flags.eval.empty() || flags.records) writer_ = make_writer();
  }

  int operator()() {
    try {
      read_all();
      queue_.flush();
    } catch (const FailFast&) {
      progress_.clear();
      standard_output().flush();
      return exit_data;
    }
    progress_.clear();
    if (writer_) writer_->finish();
    if (writer_) output_.commit();
    if (evaluator_) {
      standard_output().write(format_ == OutputFormat::jsonl
                                  ? json_text(nlohmann::ordered_json{{"evaluation", evaluator_->json()}}) + "\n"
                                  : evaluator_->text());
    }
    standard_output().flush();
    if (logits_) logits_->commit();
    tally_.print_summary(scorer_.max_tokens,
                         format_ == OutputFormat::jsonl ? "" : "--on-long window reads all of a text");
    report_profile(scorer_.sessions(), format_ == OutputFormat::jsonl);
    return tally_.errors > 0 ? exit_data : exit_ok;
  }

 private:
  std::unique_ptr<AnswerWriter> make_writer() {
    AnswerOptions options;
    options.top_k = flags_.top_k;
    options.one_label = format_ == OutputFormat::jsonl ? 5 : 1;
    // By default JSON and --multi-label show all zero-shot labels, because the user named them and several may fit a
    // text.
    if (!flags_.zero_shot.empty() && (format_ == OutputFormat::jsonl || flags_.multi_label)) {
      options.one_label = static_cast<int64_t>(labels_[0].labels.size());
    }
    options.threshold = flags_.threshold;
    options.numbered = flags_.input.ids_are_numbers();
    if (format_ == OutputFormat::csv || format_ == OutputFormat::tsv) {
      return make_column_answers(format_ == OutputFormat::csv, !flags_.eval.empty(), options, &labels_,
                                 output_.stream());
    }
    return make_answer_writer(format_, options, &labels_, terminal_width(output_.stream()->fd(), 100),
                              output_.stream());
  }

  std::vector<HeadLabels> labels_of_heads() const {
    if (!flags_.zero_shot.empty()) return {{"zero-shot", HeadKind::single_label, flags_.zero_shot_labels()}};
    std::vector<HeadLabels> labels;
    for (const int head : heads_) {
      const HeadInfo chosen = model_->head(head);
      labels.push_back({std::string(chosen.name), chosen.kind, output_names(*model_, head)});
    }
    return labels;
  }

  // Returns whether a record may have several true labels or numbers.
  bool takes_lists() const {
    const HeadLabels& head = labels_[0];
    return head.kind == HeadKind::multi_label || (gives_numbers(head.kind) && head.labels.size() > 1);
  }

  TextScorer make_scorer() const {
    if (flags_.vectors.empty()) {
      require_tokenizer(*model_, flags_.model);
    } else {
      require_vectors(*model_, flags_.model);
    }
    const TextOptions texts = text_options(flags_.run, flags_.tokens, &flags_.longer);
    if (flags_.zero_shot.empty()) {
      ClassifierOptions options;
      options.texts = texts;
      options.heads = heads_;
      return make_head_scorer(model_, options);
    }
    if (heads_.size() > 1) throw UsageError("--zero-shot uses one head; name it with --head");
    ZeroShotOptions options;
    options.texts = texts;
    const std::vector<std::string_view> labels(labels_[0].labels.begin(), labels_[0].labels.end());
    options.labels = labels;
    options.hypothesis = flags_.hypothesis;
    options.multi_label = flags_.multi_label;
    options.head = heads_[0];
    return make_label_scorer(model_, options);
  }

  EvaluatorOptions evaluator_options() const {
    EvaluatorOptions options;
    options.kind = labels_[0].kind;
    if (flags_.label_separator && !takes_lists()) {
      throw UsageError(std::string("--label-separator: this head gives one ") +
                       (gives_numbers(options.kind) ? "number" : "label") + " to a text; leave it out");
    }
    options.threshold = flags_.threshold.value_or(options.threshold);
    options.separator = flags_.label_separator.value_or(options.separator);
    return options;
  }

  void read_all() {
    if (!flags_.vectors.empty()) return read_vectors();
    RecordLoop loop;
    loop.visit = [this](Record& record) { add_record(record); };
    // If the writer of the input pauses, the texts that it wrote before are answered first.
    loop.on_wait = [this] { queue_.flush(); };
    loop.progress = &progress_;
    loop.run(flags_.input, fields_);
  }

  void read_vectors() {
    if (model_->head(heads_[0]).compares_two) {
      throw UsageError("--vectors: this head compares two texts; choose another with --head");
    }
    ByteSource source(flags_.vectors);
    NpyVectorReader reader(&source, model_->info().vector_width);
    check_vector_count(reader, scorer_.max_tokens);
    std::vector<float> values;
    const auto next = [&] {
      try {
        return reader.next(&values);
      } catch (const DataError&) {  // Records that were read before the error are still answered.
        queue_.flush();
        throw;
      }
    };
    while ((flags_.input.limit == 0 || tally_.records < flags_.input.limit) && next()) {
      auto answer = std::make_unique<Answer>();
      answer->id = ++tally_.records;
      answer->excerpt = std::to_string(reader.vectors()) + " vectors";
      queue_.add_vectors(std::move(answer), values);
      standard_output().flush();
      progress_.update(tally_.records, source.bytes_read(), source.file_bytes());
    }
  }

  void add_record(Record& record) {
    auto answer = std::make_unique<Answer>();
    ++tally_.records;
    answer->id = id_of_answer(&record, tally_.records, flags_.input);
    answer->error = std::move(record.error);
    answer->own = std::move(record.own);
    if (writer_ && writer_->shows_texts()) answer->excerpt = excerpt(record.text, excerpt_columns);
    if (answer->error.empty() && evaluator_) answer->error = evaluator_->read_truth(record, answer.get());
    if (answer->error.empty() && !record.pair && model_->head(heads_[0]).compares_two) {
      answer->error = "this head compares two texts; name the second with --pair or --pair-text";
    }
    queue_.add(std::move(answer), std::move(record.text), std::move(record.pair));
  }

  void take_values(Answer& answer, std::span<const float> values) {
    for (size_t h = 0; h < heads_.size() && !values.empty(); ++h) {
      const size_t classes = labels_[h].labels.size();
      const auto part = [&](size_t which) {
        const std::span<const float> span = values.subspan(which * classes, classes);
        return std::vector<float>(span.begin(), span.end());
      };
      answer.heads.push_back({part(0), part(1)});
      values = values.subspan(2 * classes);
    }
    take_answer(answer);
  }

  void take_answer(Answer& answer) {
    if (!answer.error.empty()) {
      ++tally_.errors;
      if (evaluator_) evaluator_->add_error();
    } else {
      tally_.cut += answer.truncated() ? 1 : 0;
      if (evaluator_) evaluator_->add(&answer);
    }
    if (logits_) logits_->add(answer);
    if (writer_) writer_->write(answer);
    Tally::count_answered();
    if (answer.error.empty()) return;
    if (!writer_ || flags_.fail_fast) tally_.report(answer.id, answer.error, flags_.fail_fast, &progress_);
    if (flags_.fail_fast) throw FailFast{};
  }

  const ClassifyFlags& flags_;
  RecordFields fields_;
  std::shared_ptr<const Model> model_;
  std::vector<int> heads_;
  std::vector<HeadLabels> labels_;
  TextScorer scorer_;
  TextQueue queue_;
  OutputFormat format_;
  AnswerOutput output_;
  Progress progress_;
  std::optional<Evaluator> evaluator_;
  std::optional<LogitsFile> logits_;
  std::unique_ptr<AnswerWriter> writer_;
  Tally tally_;
};

}  // namespace

void add_classify(CLI::App* app, Run* run) {
  CLI::App* command = app->add_subcommand("classify", "Label or score texts");
  auto flags = std::make_shared<ClassifyFlags>();
  flags->add_to(command);
  command->callback([flags, run] {
    *run = [flags] {
      if (flags->vectors.empty()) flags->input.use_piped_input();
      flags->check();
      return Classify(*flags)();
    };
  });
}

}  // namespace linformer::cli
