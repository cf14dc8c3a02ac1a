#include <CLI/CLI.hpp>
#include <cstdio>

#include "answers/filled_masks.h"
#include "answers/notes.h"
#include "answers/output.h"
#include "command_line/display.h"
#include "command_line/errors.h"
#include "commands/commands.h"
#include "commands/flags/input_flags.h"
#include "commands/flags/output_flags.h"
#include "commands/flags/run_flags.h"
#include "commands/flags/text_flags.h"
#include "input/record_loop.h"
#include "linformer/mask_filler.h"
#include "models/model_file.h"
#include "models/text_queue.h"
#include "system/descriptors.h"
#include "system/terminal.h"

namespace linformer::cli {
namespace {

struct FillFlags {
  std::string model, on_long = "truncate";
  InputFlags input;
  OutputFlags output;
  TokenFlags tokens;
  RunFlags run;
  int64_t top_k = 5;

  OutputFormat format() const { return output.choose_record_format(!input.keep.empty()); }
};

class FillMask {
 public:
  explicit FillMask(const FillFlags& flags)
      : flags_(flags),
        fields_(flags.input.fields("")),
        model_(load_model_with_mask(flags.model)),
        filler_(make_filler()),
        names_(filler_.mask(), filler_.tokenizer()),
        queue_(
            filler_.texts_at_once(), [this](const TextReport& report) { return error_of(report); },
            [this](std::span<const TextInput> inputs, const TextQueue::Answer& answer) {
              return filler_.fill(inputs, [&](size_t i, const MaskFilling& made) {
                made_ = &made;
                return answer(i, made.report, {});
              });
            },
            [this](Job& job, std::span<const float>) { take(static_cast<FilledText&>(job)); }),
        format_(flags.format()),
        output_(flags.output.output),
        progress_(output_.is_file() || !system::is_terminal(system::standard_output)),
        writer_(make_filled_writer(format_, flags.input.ids_are_numbers(), terminal_width(output_.stream()->fd(), 100),
                                   &names_, output_.stream())) {}

  int operator()() {
    RecordLoop loop;
    loop.visit = [this](Record& record) {
      auto filled = std::make_unique<FilledText>();
      ++tally_.records;
      filled->id = id_of_answer(&record, tally_.records, flags_.input);
      filled->error = std::move(record.error);
      filled->own = std::move(record.own);
      std::optional<std::string> pair;
      if (record.pair) pair = names_.normalize_mask_spelling(*record.pair);
      queue_.add(std::move(filled), names_.normalize_mask_spelling(record.text), std::move(pair));
    };
    loop.on_wait = [this] { queue_.flush(); };
    loop.progress = &progress_;
    loop.run(flags_.input, fields_);
    queue_.flush();
    progress_.clear();
    writer_->finish();
    output_.commit();
    tally_.print_summary(filler_.max_tokens(),
                         format_ == OutputFormat::jsonl ? "" : "the part that was cut off is not read");
    if (many_masks_ > 0) {
      note(grouped(many_masks_) + " of " + grouped(tally_.records) + " texts have more than " +
           std::to_string(max_masks_with_texts) + " masks; each is shown once, with the best token in every mask");
    }
    return tally_.errors > 0 ? exit_data : exit_ok;
  }

 private:
  static std::shared_ptr<const Model> load_model_with_mask(const std::string& path) {
    std::shared_ptr<const Model> model = load_model(path);
    require_masked_lm(*model, path);
    require_tokens(*model, path);
    const ModelInfo info = model->info();
    if (info.tokenizer != TokenizerKind::none && info.mask_id < 0) {
      throw DataError(path +
                      ": this model's tokenizer has no mask token; convert the model again with the tokenizer that it "
                      "was trained with");
    }
    require_tokenizer(*model, path);
    return model;
  }

  MaskFiller make_filler() const {
    MaskFillerOptions options;
    options.texts = text_options(flags_.run, flags_.tokens, nullptr);
    options.texts.on_long = flags_.on_long == "error" ? OnLong::error : OnLong::truncate;
    options.top_k = flags_.top_k;
    Result<MaskFiller> made = MaskFiller::create(model_, options);
    if (!made.ok()) throw_creation_error(made.status());
    return std::move(made.value());
  }

  std::string error_of(const TextReport& report) const {
    if (!report.without_mask) return error_message_of(report, false);
    return "there is no mask in the text" + std::string(report.truncated() ? " that is left after cutting it" : "") +
           "; write " + names_.mask() + " where a word is missing";
  }

  void take(FilledText& text) {
    if (text.error.empty()) {
      text.ids.assign(made_->ids.begin(), made_->ids.end());
      for (const MaskedToken& mask : made_->masks) {
        text.masks.push_back({static_cast<int64_t>(mask.token), {mask.candidates.begin(), mask.candidates.end()}});
      }
      tally_.cut += text.truncated() ? 1 : 0;
      many_masks_ += text.shows_text_per_candidate() ? 0 : 1;
    } else {
      ++tally_.errors;
    }
    writer_->write(&text);
    Tally::count_answered();
  }

  const FillFlags& flags_;
  RecordFields fields_;
  std::shared_ptr<const Model> model_;
  MaskFiller filler_;
  MaskNames names_;
  TextQueue queue_;
  const MaskFilling* made_ = nullptr;  // The answer to the current text.
  OutputFormat format_;
  AnswerOutput output_;
  Progress progress_;
  std::unique_ptr<FilledWriter> writer_;
  Tally tally_;
  uint64_t many_masks_ = 0;  // The number of texts with more masks than max_masks_with_texts.
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
  flags->input.add_keep_to(command);
  command->add_option("--on-long", flags->on_long, "If a text has too many tokens: truncate or error")
      ->type_name("HOW")
      ->check(CLI::IsMember({"truncate", "error"}))
      ->capture_default_str()
      ->group("Tokens");
  flags->tokens.add_to(command);
  flags->run.add_to(command);
  command->callback([flags, run] {
    *run = [flags] {
      flags->input.use_piped_input();
      if (flags->input.empty()) throw UsageError("nothing to fill: give texts, --input FILE, or - for standard input");
      const OutputFormat format = flags->format();
      if (format == OutputFormat::csv || format == OutputFormat::tsv) flags->input.check_kept_columns();
      check_outputs(flags->input.all_input_paths({flags->model}), {flags->output.named_output(format)});
      warn_if_text_names_file(flags->input, "read");
      return FillMask(*flags)();
    };
  });
}

}  // namespace linformer::cli
