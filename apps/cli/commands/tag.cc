#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "answers/entities.h"
#include "command_line/display.h"
#include "command_line/errors.h"
#include "commands/commands.h"
#include "commands/evaluated_records.h"
#include "commands/flags/tag_flags.h"
#include "evaluation/tag_evaluation.h"
#include "linformer/tagger.h"
#include "models/heads.h"
#include "models/label_names.h"
#include "models/model_file.h"

namespace linformer::cli {
namespace {

struct TaggedText : Job {
  // The true entities, if the command evaluates. If the record has words, they are given by the labels of the words,
  // otherwise by spans of the text.
  std::vector<size_t> word_starts;  // In code points.
  std::vector<std::string> labels;  // One for each word.
  std::vector<LabelledSpan> spans;
};

size_t code_points(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

class Tag : public EvaluatedRecords {
 public:
  explicit Tag(const TagFlags& flags)
      : EvaluatedRecords(flags.input, flags.format(), flags.eval, "--on-long window reads all of a text"),
        flags_(flags),
        fields_(record_fields()),
        model_(load_model(flags.model)),
        head_(find_token_head(*model_, flags.head, TokenHead::tags)),
        labels_(class_labels(*model_, head_)),
        tagger_(make_tagger()),
        queue_(
            tagger_.texts_at_once(), error_explainer(flags.longer.value() != OnLong::window),
            [this](std::span<const TextInput> inputs, const TextQueue::Answer& answer) {
              return tagger_.tag(inputs, [&](size_t i, const Tagging& made) {
                text_ = inputs[i].text;
                made_ = &made;
                return answer(i, made.report, {});
              });
            },
            [this](Job& job, std::span<const float>) { take(static_cast<TaggedText&>(job)); }) {
    OutputStream* output = open_output(flags.output.output);
    if (evaluates()) return;
    writer_ =
        make_entity_writer(format(), kinds(), flags.input.ids_are_numbers(), terminal_width(output->fd(), 100), output);
  }

 private:
  TextQueue& queue() override { return queue_; }
  const RecordFields& fields() const override { return fields_; }
  void finish_answers() override { writer_->finish(); }
  std::string evaluation_text() const override { return evaluation_.text(); }
  nlohmann::ordered_json evaluation_json() const override { return evaluation_.json(); }
  int64_t max_tokens() const override { return tagger_.max_tokens(); }
  std::span<const Session> sessions() const override { return tagger_.sessions(); }

  // Returns whether the labels of words are evaluated.
  bool evaluates_words() const { return evaluates() && flags_.input.words; }

  RecordFields record_fields() const {
    RecordFields fields = flags_.input.fields(flags_.eval);
    if (evaluates_words()) fields.max_labels = max_words;
    fields.spans = evaluates() && !flags_.input.words;
    return fields;
  }

  Tagger make_tagger() const {
    require_tokenizer(*model_, flags_.model);
    TaggerOptions options;
    options.texts = text_options(flags_.run, flags_.tokens, &flags_.longer);
    options.head = head_;
    // A word gets the label of its first token, so tokens are not joined.
    options.aggregation = evaluates_words() ? Aggregation::none : flags_.aggregation_value();
    Result<Tagger> made = Tagger::create(model_, options);
    if (!made.ok()) throw_creation_error(made.status());
    return std::move(made.value());
  }

  // Returns the labels of entities, without duplicates and in the order of the classes.
  std::vector<std::string> kinds() const {
    std::vector<std::string> kinds;
    const bool whole = flags_.aggregation_value() == Aggregation::none;
    for (const std::string& label : labels_.all()) {
      const size_t dash = whole ? std::string::npos : label.find('-');
      const std::string kind = dash == std::string::npos ? label : label.substr(dash + 1);
      if (kind != "O" && std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
    }
    return kinds;
  }

  void add_record(Record& record) override {
    auto text = std::make_unique<TaggedText>();
    init_job(&record, text.get());
    if (text->error.empty() && evaluates_words()) text->error = read_labels(record, text.get());
    text->spans = std::move(record.spans);
    if (text->error.empty() && evaluation_.label_count() > most_kinds) {
      text->error = "the records before this one have more than " + std::to_string(most_kinds) +
                    " kinds of entities; check that --eval names the field with the entities";
    }
    queue_.add(std::move(text), std::move(record.text), std::nullopt);
  }

  // Reads the true labels of the record's words. Returns an error message, or an empty string.
  std::string read_labels(const Record& record, TaggedText* text) const {
    const std::string field = "field '" + flags_.eval + "'";
    if (!record.labels) return field + " is not a list; give a list with the label of each word";
    if (record.labels->size() != record.words.size()) {
      return std::to_string(record.words.size()) + " words in the record, and " +
             std::to_string(record.labels->size()) + " labels in " + field;
    }
    size_t start = 0;
    for (size_t i = 0; i < record.words.size(); ++i) {
      const std::string& label = (*record.labels)[i];
      const std::optional<size_t> known = labels_.find(label);
      const bool number = label.find_first_not_of("0123456789") == std::string::npos;
      if (!known && number) return labels_.unknown_label_message(label);
      text->labels.push_back(known ? labels_.all()[*known] : label);
      text->word_starts.push_back(start);
      start += code_points(record.words[i]) + 1;
    }
    return {};
  }

  void take(TaggedText& text) {
    shown_ = {};
    if (count_and_check(text)) {
      shown_ = made_->entities;
      if (flags_.threshold) keep_likely(*flags_.threshold);
      if (evaluates()) evaluate(text);
    } else {
      evaluation_.add_error();
    }
    if (writer_) writer_->write(text, text_, shown_);
    Tally::count_answered();
  }

  void keep_likely(double threshold) {
    likely_.clear();
    for (const Entity& entity : shown_) {
      if (static_cast<double>(entity.score) >= threshold) likely_.push_back(entity);
    }
    shown_ = likely_;
  }

  void evaluate(const TaggedText& text) {
    if (evaluates_words()) return evaluation_.add_words(text.labels, labels_of_words(text));
    std::vector<LabelledSpan> predicted;
    for (const Entity& entity : shown_) {
      predicted.push_back({entity.offset.begin, entity.offset.end, std::string(entity.label)});
    }
    evaluation_.add(text.spans, std::move(predicted));
  }

  // Returns for each word the label of the token that has the first character of the word.
  std::vector<std::string> labels_of_words(const TaggedText& text) const {
    std::vector<std::string> labels;
    size_t next = 0;
    for (const size_t start : text.word_starts) {
      while (next < shown_.size() && shown_[next].offset.end <= start) ++next;
      const bool labelled = next < shown_.size() && shown_[next].offset.begin <= start;
      labels.emplace_back(labelled ? shown_[next].label : "O");
    }
    return labels;
  }

  static constexpr size_t most_kinds = 4096;
  const TagFlags& flags_;
  RecordFields fields_;
  std::shared_ptr<const Model> model_;
  int head_;
  LabelNames labels_;
  Tagger tagger_;
  TextQueue queue_;
  // The next four members belong to the current text.
  std::string_view text_;
  const Tagging* made_ = nullptr;
  std::span<const Entity> shown_;
  std::vector<Entity> likely_;  // With --threshold: the entities that are shown.

  TagEvaluation evaluation_;
  std::unique_ptr<EntityWriter> writer_;
};

}  // namespace

void add_tag(CLI::App* app, Run* run) {
  CLI::App* command = app->add_subcommand("tag", "Find names and other entities in texts");
  auto flags = std::make_shared<TagFlags>();
  flags->add_to(command);
  command->callback([flags, run] {
    *run = [flags] {
      flags->input.use_piped_input();
      flags->check();
      return Tag(*flags)();
    };
  });
}

}  // namespace linformer::cli
