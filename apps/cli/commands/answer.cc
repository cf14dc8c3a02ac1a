#include <CLI/CLI.hpp>

#include "answers/span_answers.h"
#include "command_line/display.h"
#include "command_line/errors.h"
#include "commands/commands.h"
#include "commands/evaluated_records.h"
#include "commands/flags/answer_flags.h"
#include "evaluation/answer_evaluation.h"
#include "linformer/answerer.h"
#include "models/heads.h"
#include "models/model_file.h"

namespace linformer::cli {
namespace {

struct AskedQuestion : Job {
  std::vector<std::string> truths;  // The true answers, if the command evaluates.
};

class AnswerQuestions : public EvaluatedRecords {
 public:
  explicit AnswerQuestions(const AnswerFlags& flags)
      : EvaluatedRecords(flags.input, flags.format(), flags.eval, "--on-long window reads all of a context"),
        flags_(flags),
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
            [this](Job& job, std::span<const float>) { take(static_cast<AskedQuestion&>(job)); }) {
    OutputStream* output = open_output(flags.output.output);
    if (evaluates()) return;
    writer_ = make_span_writer(format(), flags.input.ids_are_numbers(), terminal_width(output->fd(), 100), output);
  }

 private:
  TextQueue& queue() override { return queue_; }
  const RecordFields& fields() const override { return fields_; }
  void finish_answers() override { writer_->finish(); }
  std::string evaluation_text() const override { return evaluation_.text(); }
  nlohmann::ordered_json evaluation_json() const override { return evaluation_.json(); }
  int64_t max_tokens() const override { return answerer_.max_tokens(); }
  std::span<const Session> sessions() const override { return answerer_.sessions(); }

  RecordFields record_fields() const {
    RecordFields fields = flags_.input.fields(flags_.eval);
    // In records of SQuAD the true answers are {"text": [...], "answer_start": [...]}.
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
    if (!made.ok()) throw_creation_error(made.status());
    return std::move(made.value());
  }

  std::string error_of(const TextReport& report) const {
    const BeyondLimit& beyond = report.beyond;
    const bool none = beyond.limit == TextLimit::room;
    if (!none && beyond.limit != TextLimit::overlap)
      return error_message_of(report, flags_.longer.value() != OnLong::window);
    return "the question has " + std::to_string(beyond.tokens) + " tokens, which leave " +
           (none ? "no room" : std::to_string(beyond.room)) + " for the context in a window of " +
           std::to_string(beyond.max_tokens) +
           (none ? ": shorten it, or raise --max-tokens if the model takes more"
                 : ": lower --overlap to less than that");
  }

  void add_record(Record& record) override {
    auto job = std::make_unique<AskedQuestion>();
    init_job(&record, job.get());
    if (record.labels) {
      job->truths = std::move(*record.labels);
    } else if (record.label) {
      job->truths = {std::move(*record.label)};
    }
    std::string question = record.pair ? std::move(*record.pair) : flags_.question;
    queue_.add(std::move(job), std::move(question), std::move(record.text));
  }

  void take(const AskedQuestion& job) {
    const bool good = count_and_check(job);
    const std::span<const linformer::Answer> answers = good ? made_->answers : std::span<const linformer::Answer>();
    if (writer_) {
      writer_->write(job, answers);
    } else if (good) {
      evaluation_.add(job.truths, answers.empty() ? std::string_view() : answers[0].text);
    } else {
      evaluation_.add_error();
    }
    Tally::count_answered();
  }

  static constexpr size_t max_true_answers = 1024;
  const AnswerFlags& flags_;
  RecordFields fields_;
  std::shared_ptr<const Model> model_;
  int head_;
  Answerer answerer_;
  TextQueue queue_;
  const Answers* made_ = nullptr;  // The answers to the current question.
  AnswerEvaluation evaluation_;
  std::unique_ptr<SpanWriter> writer_;
};

}  // namespace

void add_answer(CLI::App* app, Run* run) {
  CLI::App* command = app->add_subcommand("answer", "Answer questions from texts");
  auto flags = std::make_shared<AnswerFlags>();
  flags->add_to(command);
  command->callback([flags, run] {
    *run = [flags] {
      flags->input.use_piped_input();
      flags->check();
      return AnswerQuestions(*flags)();
    };
  });
}

}  // namespace linformer::cli
