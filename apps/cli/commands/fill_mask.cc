#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>

#include "answers/filled_masks.h"
#include "answers/notes.h"
#include "answers/output.h"
#include "base/description.h"
#include "command_line/display.h"
#include "command_line/errors.h"
#include "commands/commands.h"
#include "commands/flags/input_flags.h"
#include "commands/flags/output_flags.h"
#include "commands/flags/run_flags.h"
#include "input/record_loop.h"
#include "models/batch.h"
#include "models/masked_lm.h"
#include "models/model_file.h"
#include "models/text_queue.h"
#include "pipeline/reader.h"

namespace linformer::cli {
namespace {

struct FillFlags {
  std::string model, on_long = "truncate";
  InputFlags input;
  OutputFlags output;
  RunFlags run;
  int64_t top_k = 5;

  OutputFormat format() const {
    const bool shown = output.output.empty() && ::isatty(STDOUT_FILENO) != 0;
    return output.chosen(shown ? OutputFormat::table : OutputFormat::lines, false);
  }
};

FilledStyle style_of(OutputFormat format) {
  switch (format) {
    case OutputFormat::jsonl:
      return FilledStyle::json;
    case OutputFormat::csv:
      return FilledStyle::csv;
    case OutputFormat::tsv:
      return FilledStyle::columns;
    case OutputFormat::table:
      return FilledStyle::table;
    default:
      return FilledStyle::tsv;
  }
}

class FillMask {
 public:
  explicit FillMask(const FillFlags& flags)
      : flags_(flags),
        fields_(flags.input.fields("")),
        model_(load_model_with_mask(flags.model)),
        tokenizer_(load_tokenizer(*model_, flags.model)),
        session_(cli::take(Session::create(model_, flags.run.session_options(*model_, 0)))),
        reader_(rules()),
        batch_(session_),
        names_(model_->description().tokenizer, tokenizer_),
        scores_(model_->description().encoder.vocab_size),
        format_(flags.format()),
        output_(flags.output.output),
        progress_(output_.is_file() || !::isatty(STDOUT_FILENO)),
        writer_(make_filled_writer(style_of(format_), flags.input.numbered(),
                                   terminal_width(output_.stream()->fd(), 100), &names_, output_.stream())) {}

  int operator()() {
    RecordLoop loop;
    loop.visit = [this](Record& record) {
      auto filled = std::make_unique<FilledText>();
      ++tally_.records;
      filled->id = take_id(&record, tally_.records, flags_.input);
      filled->error = std::move(record.error);
      std::optional<std::string> pair;
      if (record.pair) pair = names_.with_own_mask(*record.pair);
      add(std::move(filled), names_.with_own_mask(record.text), pair);
    };
    loop.on_wait = [this] { flush(); };
    loop.progress = &progress_;
    loop.run(flags_.input, fields_);
    flush();
    progress_.clear();
    writer_->finish();
    output_.commit();
    tally_.summarize(session_.plan().options.memory.max_tokens - session_.output_rows(0),
                     format_ == OutputFormat::jsonl ? "" : "what was cut off is not read");
    if (many_masks_ > 0) {
      note(grouped(many_masks_) + " of " + grouped(tally_.records) + " texts have more than " +
           std::to_string(max_masks_with_texts) + " masks; each is shown once, with the best of every mask");
    }
    return tally_.errors > 0 ? exit_data : exit_ok;
  }

 private:
  static std::shared_ptr<const Model> load_model_with_mask(const std::string& path) {
    std::shared_ptr<const Model> model = load_model(path);
    require_masked_lm(*model, path);
    require_tokens(*model, path);
    const TokenizerDescription& tokenizer = model->description().tokenizer;
    if (tokenizer.kind != TokenizerKind::none && tokenizer.mask < 0) {
      throw DataError(path +
                      ": this model's tokenizer has no mask token; convert it again with the one it learned with");
    }
    return model;
  }

  ReadRules rules() const {
    TextOptions options;
    options.on_long = flags_.on_long == "error" ? OnLong::error : OnLong::truncate;
    const Result<ReadRules> made = ReadRules::of(*model_, tokenizer_, session_, options);
    if (!made.ok()) refuse(made.status());
    return *made;
  }

  // A text that can't be read keeps its place.
  void add(std::unique_ptr<FilledText> filled, const std::string& text, const std::optional<std::string>& pair) {
    if (filled->error.empty()) {
      TextInput input{text, {}, {}};
      if (pair) input.pair = *pair;
      TextReport report;
      report.status = reader_.read(input, &report);
      filled->tokens = report.tokens;
      filled->total_tokens = report.total_tokens;
      if (!report.status.ok()) filled->error = explained(report, false);
    }
    if (filled->error.empty()) {
      const TextSequence sequence = cli::take(reader_.sequence(0));
      ids_.assign(sequence.ids.begin(), sequence.ids.end());
      flags_.run.pad(*model_, &ids_);
      types_.assign(sequence.types.begin(), sequence.types.end());
      types_.resize(ids_.size());
      if (!batch_.empty() && !batch_.fits(ids_.size())) flush();
      batch_.add(ids_, types_);
      owners_.push_back(filled.get());
    }
    waiting_.push_back(std::move(filled));
    // Bad records fill no batch, and must not pile up behind one either.
    if ((!batch_.empty() && !batch_.fits(1)) || waiting_.size() >= static_cast<size_t>(2 * flags_.run.batch)) flush();
  }

  void flush() {
    if (!batch_.empty()) run(&session_, batch_.inputs(), owners_);
    for (const std::unique_ptr<FilledText>& text : waiting_) take(*text);
    batch_.clear();
    owners_.clear();
    waiting_.clear();
  }

  void run(Session* session, std::span<const Input> inputs, std::span<FilledText* const> owners) {
    const ModelDescription& description = model_->description();
    const bool strip = session->plan().options.run.padding == Padding::strip;
    std::vector<MaskPosition> positions;
    std::vector<FilledText*> texts;
    for (size_t t = 0; t < inputs.size(); ++t) {
      FilledText& text = *owners[t];
      for (const int32_t id : inputs[t].tokens) {
        if (strip && id == description.encoder.pad_id) continue;
        if (id == description.tokenizer.mask) {
          const int64_t position = static_cast<int64_t>(text.ids.size());
          text.masks.push_back({position, {}});
          positions.push_back({static_cast<int64_t>(t), position + session->output_rows(0)});
          texts.push_back(&text);
        }
        text.ids.push_back(id);
      }
      if (text.masks.empty()) {
        text.error = "no mask in the text" + std::string(text.truncated() ? " that is left after cutting it" : "") +
                     "; write " + names_.mask() + " where a word is missing";
      }
    }
    size_t next = 0;  // mask of the text
    scores_.run(session, inputs, positions, [&](size_t i, std::span<const float> logits) {
      next = i > 0 && texts[i] == texts[i - 1] ? next + 1 : 0;
      FilledText& text = *texts[i];
      const double sum = log_sum_exp(logits);
      if (std::isnan(sum)) {
        text.error = not_finite;
        return;
      }
      for (const int32_t id : largest(logits, static_cast<size_t>(flags_.top_k))) {
        const float logit = logits[static_cast<size_t>(id)];
        text.masks[next].candidates.push_back({id, static_cast<float>(std::exp(static_cast<double>(logit) - sum))});
      }
    });
  }

  void take(FilledText& text) {
    if (text.error.empty()) {
      tally_.cut += text.truncated() ? 1 : 0;
      many_masks_ += text.with_texts() ? 0 : 1;
    } else {
      ++tally_.errors;
    }
    writer_->write(&text);
    Tally::answered();
  }

  const FillFlags& flags_;
  RecordFields fields_;
  std::shared_ptr<const Model> model_;
  Tokenizer tokenizer_;
  Session session_;
  TextReader reader_;
  Batch batch_;
  std::vector<std::unique_ptr<FilledText>> waiting_;
  std::vector<FilledText*> owners_;  // of each text in the batch
  std::vector<int32_t> ids_;
  std::vector<uint8_t> types_;
  MaskNames names_;
  MaskedLm scores_;
  OutputFormat format_;
  AnswerOutput output_;
  Progress progress_;
  std::unique_ptr<FilledWriter> writer_;
  Tally tally_;
  uint64_t many_masks_ = 0;  // texts
};

}  // namespace

void add_fill_mask(CLI::App* app, Run* run) {
  CLI::App* command = app->add_subcommand("fill-mask", "Guess the masked words of texts");
  auto flags = std::make_shared<FillFlags>();
  command->add_option("MODEL", flags->model, "Model file (.lnfr) with a masked-LM head")->type_name("")->required();
  flags->input.add_texts_to(command, "Texts with <mask> or [MASK] in them");
  flags->input.add_to(command);
  command->add_option("--top-k", flags->top_k, "Tokens shown for each mask, best first")
      ->type_name("K")
      ->check(CLI::Range(int64_t{1}, int64_t{max_dimension}))
      ->capture_default_str()
      ->group("Answers");
  flags->output.add_to(command, {OutputFormat::jsonl, OutputFormat::csv, OutputFormat::tsv, OutputFormat::table},
                       "Answers");
  command->add_flag("--json", flags->output.json, "The same as --output-format jsonl")->group("Answers");
  command->add_flag("--table", flags->output.table, "The same as --output-format table, as on a terminal")
      ->group("Answers");
  command->add_option("--on-long", flags->on_long, "A text with too many tokens: truncate or error")
      ->type_name("HOW")
      ->check(CLI::IsMember({"truncate", "error"}))
      ->capture_default_str()
      ->group("Tokens");
  flags->run.add_to(command);
  command->callback([flags, run] {
    *run = [flags] {
      flags->input.take_pipe();
      if (flags->input.empty()) throw UsageError("nothing to fill: give texts, --input FILE, or - for standard input");
      check_outputs(flags->input.paths({flags->model}), {flags->output.named(flags->format())});
      warn_of_file_names(flags->input, "read");
      return FillMask(*flags)();
    };
  });
}

}  // namespace linformer::cli
