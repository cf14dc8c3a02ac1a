#include <CLI/CLI.hpp>
#include <array>
#include <string_view>
#include <vector>

#include "answers/columns.h"
#include "answers/progress.h"
#include "command_line/display.h"
#include "command_line/errors.h"
#include "commands/commands.h"
#include "commands/flags/input_flags.h"
#include "commands/flags/output_flags.h"
#include "commands/flags/text_flags.h"
#include "input/record_loop.h"
#include "models/tokenizer_source.h"
#include "system/descriptors.h"
#include "system/terminal.h"

namespace linformer::cli {
namespace {

struct TokenizeFlags {
  std::string model, tokenizer, truncation = "longest_first";
  InputFlags input;
  OutputFlags output;
  TokenFlags tokens;
  int64_t max_tokens = 0;
  bool no_special = false;
};

EncodeOptions encode_options(const TokenizeFlags& flags) {
  EncodeOptions options = flags.tokens.options();
  options.add_special_tokens = !flags.no_special;
  options.token_strings = true;
  options.max_length = flags.max_tokens;
  options.truncation = parse_truncation(flags.truncation);
  return options;
}

class Tokenize {
 public:
  explicit Tokenize(const TokenizeFlags& flags)
      : flags_(flags),
        fields_(flags.input.fields("")),
        tokenizer_(flags.model.empty() ? tokenizer_of_folder(flags.tokenizer) : tokenizer_of_model(flags.model)),
        options_(encode_options(flags)),
        output_(flags.output.output),
        progress_(output_.is_file() || !system::is_terminal(system::standard_output)) {
    if (!fields_.pair) {
      fields_.pair = "pair";
      fields_.pair_optional = true;
    }
  }

  int operator()() {
    RecordLoop loop;
    loop.visit = [this](Record& record) { answer(record); };
    loop.progress = &progress_;
    loop.run(flags_.input, fields_);
    progress_.clear();
    output_.commit();
    tally_.print_summary(0, "");
    return tally_.errors > 0 ? exit_data : exit_ok;
  }

 private:
  void answer(Record& record) {
    ++tally_.records;
    nlohmann::ordered_json line;
    if (!record.id.is_null()) line["id"] = record.id;
    std::string error = record.error;
    if (error.empty()) {
      const Status status = record.pair ? tokenizer_.encode(record.text, *record.pair, options_, &encoding_)
                                        : tokenizer_.encode(record.text, options_, &encoding_);
      if (!status.ok()) error = status.message();
    }
    if (error.empty()) {
      const std::span<const int32_t> ids = encoding_.ids();
      line["ids"] = std::vector<int32_t>(ids.begin(), ids.end());
      tokens_.clear();
      offsets_.clear();
      for (size_t i = 0; i < ids.size(); ++i) tokens_.push_back(encoding_.token(i));
      for (const Offset& offset : encoding_.offsets()) offsets_.push_back({offset.begin, offset.end});
      line["tokens"] = tokens_;
      line["offsets"] = offsets_;
      if (encoding_.truncated()) line["total_tokens"] = encoding_.total_tokens();
    } else {
      if (record.id.is_null()) line["id"] = id_of_answer(&record, tally_.records, flags_.input);
      line["error"] = error;
      ++tally_.errors;
    }
    output_.stream()->write(json_line(record.own, line));
    Tally::count_answered();
  }

  const TokenizeFlags& flags_;
  RecordFields fields_;
  Tokenizer tokenizer_;
  EncodeOptions options_;
  AnswerOutput output_;
  Progress progress_;
  Encoding encoding_;
  std::vector<std::string_view> tokens_;
  std::vector<std::array<uint32_t, 2>> offsets_;
  Tally tally_;
};

}  // namespace

void add_tokenize(CLI::App* app, Run* run) {
  CLI::App* command = app->add_subcommand("tokenize", "Show the tokens of texts");
  auto flags = std::make_shared<TokenizeFlags>();
  command->add_option("MODEL", flags->model, "Model file (.lnfr) whose tokenizer to use")->type_name("");
  flags->input.add_texts_to(command, "Texts");
  command->add_option("--tokenizer", flags->tokenizer, "Folder with tokenizer files instead of a model")
      ->type_name("DIR");
  flags->input.add_to(command);
  flags->output.add_to(command, {OutputFormat::jsonl}, "Answers");
  flags->input.add_keep_to(command);
  command->add_flag("--no-special", flags->no_special, "Leave out the special tokens around texts")->group("Tokens");
  command->add_option("--max-tokens", flags->max_tokens, "Cut texts to N tokens, special tokens included")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{INT32_MAX}))
      ->group("Tokens");
  command
      ->add_option("--truncation", flags->truncation,
                   "Which text of a pair is cut: longest_first, only_first, only_second or none")
      ->type_name("HOW")
      ->check(CLI::IsMember({"longest_first", "only_first", "only_second", "none"}))
      ->capture_default_str()
      ->group("Tokens");
  flags->tokens.add_to(command);
  command->callback([flags, run] {
    *run = [flags] {
      InputFlags& input = flags->input;
      // If --tokenizer names a folder, all arguments are texts.
      if (!flags->tokenizer.empty() && !flags->model.empty()) {
        input.texts.insert(input.texts.begin(), flags->model);
        flags->model.clear();
      }
      if (flags->model.empty() && flags->tokenizer.empty()) throw UsageError("give either MODEL or --tokenizer DIR");
      input.use_piped_input();
      if (input.empty()) throw UsageError("nothing to tokenize: give texts, --input FILE, or - for standard input");
      const OutputFormat format = flags->output.choose_format(OutputFormat::jsonl, false);
      check_outputs(input.all_input_paths({flags->model}), {flags->output.named_output(format)});
      warn_if_text_names_file(input, "tokenized");
      return Tokenize(*flags)();
    };
  });
}

}  // namespace linformer::cli
