#include "commands/flags/answer_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "answers/output.h"
#include "command_line/errors.h"
#include "input/record_loop.h"

namespace linformer::cli {

void AnswerFlags::add_to(CLI::App* command) {
  command->add_option("MODEL", model, "Model file (.lnfr) with a head that answers questions")
      ->type_name("")
      ->required();
  input.field = input.usual_field = "context";
  input.pair_option = "--question-field";
  input.add_texts_to(command, "Contexts in which to find answers");
  input.add_records_to(command);
  command->add_option("--question", question, "The question that each context is to answer")
      ->type_name("TEXT")
      ->group("Input");
  command
      ->add_option("--question-field", question_field,
                   "Without --question: name of the field with a record's question; default: question")
      ->type_name("NAME")
      ->group("Input");
  command->add_option("--head", head, "Head by name or index; default: the first one that answers questions")
      ->type_name("NAME")
      ->group("Answers");
  command->add_option("--top-k", top_k, "Answers shown for a question, best first")
      ->type_name("K")
      ->check(CLI::Range(int64_t{1}, int64_t{max_dimension}))
      ->capture_default_str()
      ->group("Answers");
  command->add_option("--max-answer-tokens", max_answer_tokens, "Longest answer in tokens")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{max_dimension}))
      ->capture_default_str()
      ->group("Answers");
  command
      ->add_flag("--no-answer", no_answer,
                 "Allow the answer that a context has no answer; this answer has no text. For models that were trained "
                 "for it (SQuAD 2)")
      ->group("Answers");
  output.add_to(command, {OutputFormat::jsonl, OutputFormat::csv, OutputFormat::tsv, OutputFormat::table}, "Answers");
  command->add_flag("--json", output.json, "The same as --output-format jsonl")->group("Answers");
  command->add_flag("--table", output.table, "The same as --output-format table, as on a terminal")->group("Answers");
  input.add_keep_to(command);
  command
      ->add_option("--eval", eval,
                   "Field with the true answers: print how well the best answers agree; the field is a text, a list of "
                   "texts, or an object whose member text is one of these. The answers are not printed")
      ->type_name("FIELD")
      ->group("Answers");
  longer.on_long = "window";
  longer.add_windows_to(command, "the best of all windows", "128");
  tokens.add_literal_to(command);
  run.add_to(command);
  run.add_profile_to(command, true);
}

OutputFormat AnswerFlags::format() const { return output.choose_record_format(!input.keep.empty()); }

void AnswerFlags::check() {
  if (input.empty()) throw UsageError("no context: give texts, --input FILE, or - for standard input");
  if (!question.empty() && !question_field.empty()) {
    throw UsageError(
        "--question and --question-field exclude each other: either each record has its own question, or all have the "
        "same");
  }
  if (question.empty()) {
    const std::vector<std::string> paths = input.all_input_paths({});
    const bool fields = std::all_of(paths.begin(), paths.end(), [this](const std::string& path) {
      const Format format = input.format_of(path);
      return format == Format::jsonl || format == Format::csv || format == Format::tsv;
    });
    if (!input.texts.empty() && paths.size() == input.inputs.size()) {
      throw UsageError("no question: give --question TEXT; texts without an option are contexts");
    }
    if (!fields) {
      throw UsageError(
          "no question: give --question TEXT, or JSON lines, CSV or TSV with the fields question and "
          "context");
    }
    input.pair = question_field.empty() ? "question" : question_field;
  }
  const OutputFormat chosen = format();
  if (!eval.empty() && (!output.output.empty() || !input.keep.empty())) {
    throw UsageError(std::string(output.output.empty() ? "--keep" : "-o") +
                     ": with --eval no answers are written; leave one out");
  }
  if (!eval.empty() && (chosen == OutputFormat::csv || chosen == OutputFormat::tsv)) {
    throw UsageError("--eval prints a summary, or with --json an object; leave --output-format out");
  }
  if (chosen == OutputFormat::csv || chosen == OutputFormat::tsv) input.check_kept_columns();
  check_outputs(input.all_input_paths({model}), {output.named_output(chosen)});
  warn_if_text_names_file(input, "read");
}

}  // namespace linformer::cli
