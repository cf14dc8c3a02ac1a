#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "answers/output.h"
#include "answers/span_answers.h"
#include "command_line/display.h"
#include "command_line/errors.h"
#include "commands/commands.h"
#include "commands/flags/answer_flags.h"
#include "evaluation/answer_evaluation.h"
#include "input/record_loop.h"
#include "inspect/profile.h"
#include "linformer/answerer.h"
#include "models/heads.h"
#include "models/model_file.h"
#include "models/text_queue.h"

namespace linformer::cli {
namespace {

struct AskedQuestion : Job {
  std::vector<std::string> truths;  // the true answers, when evaluating
};

class AnswerQuestions {
 public:
  explicit AnswerQuestions(const AnswerFlags& flags)
      : flags_(flags),
        fields_(record_fields()),
        model_(load_model(flags.model)),
        head_(find_token_head(*model_, flags.head, TokenHead::answers)),
        answerer_(make_answerer()),
        queue_(
            answerer_.texts_at_once(), [this](const TextReport& report) { return error_of(report); },
            [this](std::span<const TextInput> inputs, const TextQueue::Answer& answer) {
              return answerer_.answer(inputs, [&](size_t i, const Answers& made) {
                made_ = &made;
                return answer(i, made.report, {});
              });
            },
            [this](Job& job, std::span<const float>) { take(static_cast<AskedQuestion&>(job)); }),
        format_(flags.format()),
        output_(flags.output.output),
        progress_(output_.is_file() || !::isatty(STDOUT_FILENO) || evaluates()) {
    if (!evaluates()) {
      writer_ = make_span_writer(format_, flags.input.numbered(), terminal_width(output_.stream()->fd(), 100),
                                 output_.stream());
    }
  }

  int operator()() {
    RecordLoop loop;
    loop.visit = [this](Record& record) { add_record(record); };
    loop.on_wait = [this] { queue_.flush(); };
    loop.progress = &progress_;
    loop.run(flags_.input, fields_);
    queue_.flush();
    progress_.clear();
    if (writer_) {
      writer_->finish();
      output_.commit();
    } else {
      standard_output().write(format_ == OutputFormat::jsonl
                                  ? json_text(nlohmann::ordered_json{{"evaluation", evaluation_.json()}}) + "\n"
                                  : evaluation_.text());
    }
    standard_output().flush();
    tally_.summarize(answerer_.max_tokens(),
                     format_ == OutputFormat::jsonl ? "" : "--on-long window reads all of a context");
    report_profile(answerer_.sessions(), format_ == OutputFormat::jsonl);
    return tally_.errors > 0 ? exit_data : exit_ok;
  }

 private:
  bool evaluates() const { return !flags_.eval.empty(); }

  RecordFields record_fields() const {
    RecordFields fields = flags_.input.fields(flags_.eval);
    // As SQuAD's records have them: {"text": [...], "answer_start": [...]}.
    fields.label_member = "text";
    if (evaluates()) fields.max_labels = max_true_answers;
    return fields;
  }

  Answerer make_answerer() const {
    require_tokenizer(*model_, flags_.model);
    AnswererOptions options;
    options.texts = text_options(flags_.run, flags_.tokens, &flags_.longer);
    options.head = head_;
    options.top_k = flags_.top_k;
    options.max_answer_tokens = flags_.max_answer_tokens;
    options.no_answer = flags_.no_answer;
    Result<Answerer> made = Answerer::create(model_, options);
    if (!made.ok()) refuse(made.status());
    return std::move(made.value());
  }

  std::string error_of(const TextReport& report) const {
    const BeyondLimit& beyond = report.beyond;
    const bool none = beyond.limit == TextLimit::room;
    if (!none && beyond.limit != TextLimit::overlap) return explained(report, flags_.longer.value() != OnLong::window);
    return "the question has " + std::to_string(beyond.tokens) + " tokens, which leave " +
           (none ? "no room" : std::to_string(beyond.room)) + " for the context in a window of " +
           std::to_string(beyond.max_tokens) +
           (none ? ": shorten it, or raise --max-tokens where the model takes more"
                 : ": lower --overlap to less than that");
  }

  void add_record(Record& record) {
    auto job = std::make_unique<AskedQuestion>();
    ++tally_.records;
    job->id = take_id(&record, tally_.records, flags_.input);
    job->error = std::move(record.error);
    job->own = std::move(record.own);
    if (record.labels) {
      job->truths = std::move(*record.labels);
    } else if (record.label) {
      job->truths = {std::move(*record.label)};
    }
    std::string question = record.pair ? std::move(*record.pair) : flags_.question;
    queue_.add(std::move(job), std::move(question), std::move(record.text));
  }

  void take(const AskedQuestion& job) {
    const bool good = job.error.empty();
    tally_.errors += good ? 0 : 1;
    tally_.cut += good && job.truncated() ? 1 : 0;
    const std::span<const linformer::Answer> answers = good ? made_->answers : std::span<const linformer::Answer>();
    if (writer_) {
      writer_->write(job, answers);
    } else if (good) {
      evaluation_.add(job.truths, answers.empty() ? std::string_view() : answers[0].text);
    } else {
      evaluation_.add_error();
      tally_.report(job.id, job.error, false, &progress_);
    }
    Tally::answered();
  }

  static constexpr size_t max_true_answers = 1024;
  const AnswerFlags& flags_;
  RecordFields fields_;
  std::shared_ptr<const Model> model_;
  int head_;
  Answerer answerer_;
  TextQueue queue_;
  const Answers* made_ = nullptr;  // to the question that is being answered
  OutputFormat format_;
  AnswerOutput output_;
  Progress progress_;
  AnswerEvaluation evaluation_;
  std::unique_ptr<SpanWriter> writer_;
  Tally tally_;
};

}  // namespace

void add_answer(CLI::App* app, Run* run) {
  CLI::App* command = app->add_subcommand("answer", "Answer questions from texts");
  auto flags = std::make_shared<AnswerFlags>();
  flags->add_to(command);
  command->callback([flags, run] {
    *run = [flags] {
      flags->input.take_pipe();
      flags->check();
      return AnswerQuestions(*flags)();
    };
  });
}

}  // namespace linformer::cli
