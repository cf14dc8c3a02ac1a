#include "commands/flags/tag_flags.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <iterator>

#include "answers/output.h"
#include "command_line/errors.h"
#include "input/record_loop.h"

namespace linformer::cli {
namespace {

// The names are in the order of the values of Aggregation.
constexpr const char* aggregation_names[] = {"simple", "none", "first", "average", "max"};

}  // namespace

void TagFlags::add_to(CLI::App* command) {
  command->add_option("MODEL", model, "Model file (.lnfr) with a head that labels tokens")->type_name("")->required();
  input.add_texts_to(command, "Texts in which to find entities");
  input.add_records_to(command);
  command
      ->add_flag("--words", input.words,
                 "The field with the text is a list of words; the text is the words with spaces between them")
      ->group("Input");
  command->add_option("--head", head, "Head by name or index; default: the first one that labels tokens")
      ->type_name("NAME")
      ->group("Answers");
  command
      ->add_option(
          "--aggregation", aggregation,
          "How tokens become entities: simple (default), none, first, average or max; simple joins neighbouring tokens "
          "of the same label, and none leaves each token by itself. first, average and max join words: the label of a "
          "word is the label of its first token, of the average of its tokens, or of its token with the highest score")
      ->type_name("HOW")
      ->check(CLI::IsMember({"simple", "none", "first", "average", "max"}))
      ->group("Answers");
  command
      ->add_option("--threshold", threshold,
                   "Entities below this score are not shown, nor predicted with --eval; default: 0")
      ->type_name("P")
      ->check(CLI::Range(0.0, 1.0))
      ->group("Answers");
  output.add_to(command, {OutputFormat::jsonl, OutputFormat::csv, OutputFormat::tsv, OutputFormat::table}, "Answers");
  command->add_flag("--json", output.json, "The same as --output-format jsonl")->group("Answers");
  command
      ->add_flag("--table", output.table,
                 "The same as --output-format table, as on a terminal: the texts with their entities marked")
      ->group("Answers");
  input.add_keep_to(command);
  command
      ->add_option("--eval", eval,
                   "Field with the true entities: print how well the answers agree; the field is a list of {\"start\", "
                   "\"end\", \"label\"}, or with --words a list of the words' labels. The answers are not printed")
      ->type_name("FIELD")
      ->group("Answers");
  longer.on_long = "window";
  longer.add_windows_to(command, "each token counts once", "a quarter of a window");
  tokens.add_to(command);
  run.add_to(command);
  run.add_profile_to(command, true);
}

OutputFormat TagFlags::format() const { return output.choose_record_format(!input.keep.empty()); }

Aggregation TagFlags::aggregation_value() const {
  for (size_t i = 0; i < std::size(aggregation_names); ++i) {
    if (aggregation == aggregation_names[i]) return static_cast<Aggregation>(i);
  }
  return Aggregation::simple;
}

void TagFlags::check() {
  if (input.empty()) throw UsageError("nothing to tag: give texts, --input FILE, or - for standard input");
  if (threshold && std::isnan(*threshold)) throw UsageError("--threshold is not a number; give 0 to 1");
  if (input.words) input.array_option = "--words";
  const OutputFormat chosen = format();
  if (!eval.empty()) {
    if (input.array_option.empty()) input.array_option = "--eval";
    if (!output.output.empty() || !input.keep.empty()) {
      throw UsageError(std::string(output.output.empty() ? "--keep" : "-o") +
                       ": with --eval no answers are written; leave one out");
    }
    if (chosen == OutputFormat::csv || chosen == OutputFormat::tsv) {
      throw UsageError("--eval prints a summary, or with --json an object; leave --output-format out");
    }
    if (input.words && !aggregation.empty()) {
      throw UsageError(
          "--aggregation: with --words --eval the label of a word is that of its first token; leave it out");
    }
  }
  if (chosen == OutputFormat::csv || chosen == OutputFormat::tsv) input.check_kept_columns();
  check_outputs(input.all_input_paths({model}), {output.named_output(chosen)});
  warn_if_text_names_file(input, "read");
}

}  // namespace linformer::cli
