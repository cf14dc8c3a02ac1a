#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <limits>

#include "classifier.h"
#include "commands.h"
#include "display.h"
#include "errors.h"
#include "evaluation.h"
#include "npy.h"
#include "progress.h"

namespace linformer::cli {
namespace {

constexpr int excerpt_columns = 200;  // wider terminals show no more of a text

struct ClassifyFlags {
  std::string model, head, on_long = "truncate", eval, logits;
  InputFlags input;
  TokenFlags tokens;
  RunFlags run;
  int64_t top_k = 0, overlap = -1;
  double threshold = 0;
  bool json = false, table = false, fail_fast = false, records = false;
};

// Rows of logits as they come; how many there are is known only at the end.
class LogitsFile {
 public:
  LogitsFile(const std::string& path, size_t classes) : file_(path), classes_(classes) {
    if (!file_.seekable()) throw UsageError("--logits " + path + " is not a file that can be rewritten; name a file");
    write_header();
  }
  void add(const Answer& answer) {
    // A record without an answer keeps its row, so that row i belongs to record i.
    std::vector<float> row = answer.logits;
    if (!answer.error.empty()) row.assign(classes_, std::numeric_limits<float>::quiet_NaN());
    file_.write(row.data(), row.size() * sizeof(float));
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
  void write_header() {
    const std::string bytes = header();
    file_.write(bytes.data(), bytes.size());
  }

  AtomicFile file_;
  size_t classes_;
  int64_t rows_ = 0;
};

struct FailFast {};  // the first bad record was reported and nothing more is wanted

class Classification {
 public:
  explicit Classification(const ClassifyFlags& flags)
      : flags_(flags),
        fields_(flags.input.fields(flags.eval)),
        model_(load_model(flags.model)),
        head_(find_head(*model_, flags.head)),
        labels_(class_labels(*model_, head_)),
        classifier_(model_, load_tokenizer(*model_, flags.model), classifier_options(),
                    [this](Answer& answer) { take_answer(answer); }),
        progress_(!::isatty(STDOUT_FILENO) || (!flags.eval.empty() && !flags.records)) {
    if (!flags.eval.empty()) {
      if (model_->description().heads[static_cast<size_t>(head_)].multi_label) {
        throw UsageError("--eval: this head gives several labels to a text; choose another with --head");
      }
      evaluation_.emplace(labels_);
    }
    if (!flags.logits.empty()) logits_.emplace(flags.logits, labels_.size());
    const bool table = flags.table || (!flags.json && ::isatty(STDOUT_FILENO));
    if (flags.eval.empty() || flags.records) {
      AnswerOptions options;
      options.top_k = flags.top_k > 0 ? flags.top_k : flags.json ? 5 : 1;
      options.top_k = std::min<int64_t>(options.top_k, static_cast<int64_t>(labels_.size()));
      options.threshold = flags.threshold;
      options.numbered = flags.input.id.empty();
      writer_ = make_answer_writer(flags.json ? AnswerStyle::json
                                   : table    ? AnswerStyle::table
                                              : AnswerStyle::tsv,
                                   options, &labels_, terminal_width(STDOUT_FILENO, 100), &standard_output());
    }
  }

  int operator()() {
    try {
      for (const std::string& text : flags_.input.texts) {
        if (text == "-") {
          read("-");
        } else {
          add_record({.text = text, .pair = {}, .label = {}, .id = {}, .error = {}}, 0, 0);
        }
      }
      for (const std::string& path : flags_.input.inputs) read(path);
      classifier_.flush();
    } catch (const FailFast&) {
      progress_.clear();
      standard_output().flush();
      return exit_data;
    } catch (const DataError&) {
      // What was read before the input failed is still answered.
      progress_.clear();
      if (!failed_) classifier_.flush();
      throw;
    }
    progress_.clear();
    if (evaluation_) {
      standard_output().write(flags_.json ? nlohmann::ordered_json{{"evaluation", evaluation_->json()}}.dump() + "\n"
                                          : evaluation_->text());
    }
    standard_output().flush();
    if (logits_) logits_->commit();
    summarize();
    return errors_ > 0 ? exit_data : exit_ok;
  }

 private:
  ClassifierOptions classifier_options() const {
    ClassifierOptions options;
    options.head = head_;
    options.on_long = flags_.on_long == "error"    ? OnLong::error
                      : flags_.on_long == "window" ? OnLong::window
                                                   : OnLong::truncate;
    options.overlap = flags_.overlap;
    options.tokens = flags_.tokens.options();
    options.run = flags_.run;
    return options;
  }

  void read(const std::string& path) {
    ByteSource source(path);
    // Answers don't wait for a writer that pauses.
    source.on_wait([this] {
      classifier_.flush();
      standard_output().flush();
    });
    const auto reader = open_records(&source, flags_.input.format_of(path), fields_, flags_.input.limits());
    for (Record record; reader->next(&record);) {
      add_record(std::move(record), source.bytes_read(), source.file_bytes());
    }
  }

  void add_record(Record record, uint64_t bytes, uint64_t bytes_total) {
    ++records_;
    Answer answer;
    answer.id = record.id.is_null() ? nlohmann::json(records_) : std::move(record.id);
    answer.error = std::move(record.error);
    if (writer_) answer.excerpt = excerpt(record.text, excerpt_columns);
    if (answer.error.empty() && record.label) {
      answer.truth = class_of(labels_, *record.label);
      if (!answer.truth) {
        answer.error = "label '" + excerpt(*record.label, 60) + "' is not one of this model's; see 'linformer inspect'";
      }
    }
    classifier_.add(std::move(answer), record.text, record.pair);
    standard_output().flush();  // holds answers only when a batch was done
    progress_.update(records_, bytes, bytes_total);
  }

  void take_answer(Answer& answer) {
    if (!answer.error.empty()) {
      ++errors_;
      if (evaluation_) evaluation_->add_error();
    } else {
      cut_ += answer.truncated() ? 1 : 0;
      if (evaluation_) evaluation_->add(*answer.truth, best_classes(answer.probabilities, {}).front());
    }
    if (logits_) logits_->add(answer);
    if (writer_) writer_->write(answer);
    if (!answer.error.empty() && !writer_ && (errors_ <= max_reported || flags_.fail_fast)) {
      progress_.clear();
      std::fprintf(stderr, "linformer: record %s: %s\n",
                   excerpt(answer.id.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), 60).c_str(),
                   excerpt(answer.error, 1000).c_str());
    }
    if (!answer.error.empty() && flags_.fail_fast) {
      failed_ = true;
      throw FailFast{};
    }
  }

  void summarize() const {
    if (errors_ > 0) {
      std::fprintf(stderr, "linformer: %s of %s records bad\n", grouped(errors_).c_str(), grouped(records_).c_str());
    }
    if (cut_ > 0 && !flags_.json) {
      std::fprintf(stderr, "linformer: %s of %s texts cut to %s tokens; --on-long window reads all of a text\n",
                   grouped(cut_).c_str(), grouped(records_).c_str(), std::to_string(classifier_.max_tokens()).c_str());
    }
  }

  static constexpr uint64_t max_reported = 20;  // bad records that get their own line on standard error

  const ClassifyFlags& flags_;
  RecordFields fields_;
  std::shared_ptr<const Model> model_;
  int head_;
  std::vector<std::string> labels_;
  Classifier classifier_;
  Progress progress_;
  std::optional<Evaluation> evaluation_;
  std::optional<LogitsFile> logits_;
  std::unique_ptr<AnswerWriter> writer_;
  uint64_t records_ = 0, errors_ = 0, cut_ = 0;
  bool failed_ = false;
};

void check_flags(const ClassifyFlags& flags) {
  if (flags.input.texts.empty() && flags.input.inputs.empty()) {
    throw UsageError("nothing to classify: give texts, --input FILE, or - for standard input");
  }
  if (flags.json && flags.table) throw UsageError("--json and --table exclude each other");
  if (flags.records && flags.eval.empty()) throw UsageError("--records goes with --eval");
  for (const std::string& text : flags.input.texts) {
    struct stat properties {};
    if (text != "-" && text.size() < 4096 && ::stat(text.c_str(), &properties) == 0 && S_ISREG(properties.st_mode)) {
      std::fprintf(stderr, "linformer: '%s' is classified as a text; to read the file of that name: --input %s\n",
                   excerpt(text, 200).c_str(), excerpt(text, 200).c_str());
    }
  }
}

}  // namespace

void add_classify(CLI::App* app, Run* run) {
  CLI::App* command = app->add_subcommand("classify", "Label texts");
  auto flags = std::make_shared<ClassifyFlags>();
  command->add_option("MODEL", flags->model, "Model file (.lnfr)")->type_name("")->required();
  command->add_option("TEXT", flags->input.texts, "Texts to classify; - reads standard input")->type_name("");
  flags->input.add_to(command);
  command->add_option("--head", flags->head, "Classification head by name or index; default: the first")
      ->type_name("NAME")
      ->group("Answers");
  command->add_option("--top-k", flags->top_k, "Labels shown for a text, best first; default: 1, with --json 5")
      ->type_name("K")
      ->check(CLI::Range(int64_t{1}, int64_t{max_classes}))
      ->group("Answers");
  command->add_option("--threshold", flags->threshold, "Labels below this probability are not shown")
      ->type_name("P")
      ->check(CLI::Range(0.0, 1.0))
      ->group("Answers");
  command->add_flag("--json", flags->json, "One JSON object a line")->group("Answers");
  command->add_flag("--table", flags->table, "An aligned table, as on a terminal")->group("Answers");
  command->add_flag("--fail-fast", flags->fail_fast, "Stop at the first bad record")->group("Answers");
  command->add_option("--eval", flags->eval, "Field with the true label: print accuracy, F1 and confusion matrix")
      ->type_name("FIELD")
      ->group("Answers");
  command->add_flag("--records", flags->records, "With --eval: the answers too")->group("Answers");
  command->add_option("--logits", flags->logits, "Save logits as a float32 array [records, classes] (.npy)")
      ->type_name("FILE")
      ->group("Answers");
  command
      ->add_option("--on-long", flags->on_long, "A text with too many tokens: truncate, error or window (mean of all)")
      ->type_name("HOW")
      ->check(CLI::IsMember({"truncate", "error", "window"}))
      ->capture_default_str()
      ->group("Tokens");
  command->add_option("--overlap", flags->overlap, "Tokens that neighbouring windows share; default: a quarter")
      ->type_name("N")
      ->check(CLI::Range(int64_t{0}, int64_t{max_dimension}))
      ->group("Tokens");
  flags->tokens.add_to(command);
  flags->run.add_to(command);
  command->footer(
      "Examples:\n"
      "  linformer classify reviews.lnfr \"A fine film.\" \"A waste of time.\"\n"
      "  linformer classify reviews.lnfr --input reviews.csv --field review --id key --json\n"
      "  tail -f log.txt | linformer classify reviews.lnfr -\n"
      "  linformer classify reviews.lnfr --input test.jsonl --eval label\n"
      "  linformer classify pairs.lnfr --input pairs.tsv --field premise --pair hypothesis --top-k 3\n");
  command->callback([flags, run] {
    *run = [flags] {
      check_flags(*flags);
      return Classification(*flags)();
    };
  });
}

}  // namespace linformer::cli
