#include "commands/flags/classify_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "answers/output.h"
#include "command_line/errors.h"
#include "files/output_target.h"
#include "input/record_loop.h"

namespace linformer::cli {

void ClassifyFlags::add_to(CLI::App* command) {
  command->add_option("MODEL", model, "Model file (.lnfr)")->type_name("")->required();
  input.add_texts_to(command, "Texts to classify");
  input.add_to(command);
  command
      ->add_option("--vectors", vectors,
                   "For models that read vectors: npy float32 or float64 [n, width] or [batch, n, width]")
      ->type_name("FILE")
      ->group("Input");
  command
      ->add_option("--head", head,
                   "Classification head by name or index, or several separated by commas; default: the first")
      ->type_name("NAME")
      ->group("Answers");
  command->add_flag("--all-heads", all_heads, "Run all heads, in one run of the model")->group("Answers");
  command
      ->add_option(
          "--top-k", top_k,
          "Labels shown for a text, best first; default: 1, with --json 5, and all labels of a head that gives several")
      ->type_name("K")
      ->check(CLI::Range(int64_t{1}, int64_t{max_classes}))
      ->group("Answers");
  command
      ->add_option("--threshold", threshold,
                   "Labels below this probability are not shown, nor predicted with --eval; default: 0, or 0.5 for a "
                   "head that gives several labels")
      ->type_name("P")
      ->check(CLI::Range(0.0, 1.0))
      ->group("Answers");
  output.add_to(command, {OutputFormat::jsonl, OutputFormat::csv, OutputFormat::tsv, OutputFormat::table}, "Answers");
  command->add_flag("--json", output.json, "The same as --output-format jsonl")->group("Answers");
  command->add_flag("--table", output.table, "The same as --output-format table, as on a terminal")->group("Answers");
  input.add_keep_to(command);
  command->add_flag("--fail-fast", fail_fast, "Stop at the first bad record; -o then writes no file")->group("Answers");
  command->add_option("--eval", eval, "Field with the true label, labels or numbers: print how well the answers agree")
      ->type_name("FIELD")
      ->group("Answers");
  command
      ->add_option("--label-separator", label_separator,
                   "With --eval: the separator of several labels or numbers in a string; default: a comma")
      ->type_name("TEXT")
      ->group("Answers");
  command->add_flag("--records", records, "With --eval: write the answers too")->group("Answers");
  command
      ->add_option("--logits", logits,
                   "Save the head's outputs before softmax or sigmoid: float32 [records, outputs] (.npy)")
      ->type_name("FILE")
      ->group("Answers");
  command
      ->add_option("--zero-shot", zero_shot,
                   "Labels of your own, separated by commas; if the option is given more than once, each value is one "
                   "label. For models trained for natural language inference")
      ->type_name("LABELS")
      ->allow_extra_args(false)
      ->group("Zero-shot");
  command->add_option("--hypothesis", hypothesis, "The sentence for a label, with {} in the place of the label")
      ->type_name("TEXT")
      ->capture_default_str()
      ->group("Zero-shot");
  command->add_flag("--multi-label", multi_label, "Any number of labels may fit a text: each label is scored by itself")
      ->group("Zero-shot");
  longer.add_to(command, "mean of all windows");
  tokens.add_to(command);
  run.add_to(command);
  run.add_profile_to(command, true);
}

OutputFormat ClassifyFlags::format() const { return output.choose_record_format(!input.keep.empty()); }

std::vector<std::string> ClassifyFlags::zero_shot_labels() const {
  if (zero_shot.size() != 1) return zero_shot;
  std::vector<std::string> labels;
  for (size_t start = 0; start <= zero_shot[0].size();) {
    const size_t comma = std::min(zero_shot[0].find(',', start), zero_shot[0].size());
    const std::string part = zero_shot[0].substr(start, comma - start);
    const size_t first = part.find_first_not_of(" \t"), last = part.find_last_not_of(" \t");
    if (first != std::string::npos) labels.push_back(part.substr(first, last - first + 1));
    start = comma + 1;
  }
  return labels;
}

void ClassifyFlags::check_zero_shot() const {
  if (zero_shot.empty()) {
    if (multi_label) throw UsageError("--multi-label goes with --zero-shot");
    if (hypothesis != ClassifyFlags().hypothesis) throw UsageError("--hypothesis goes with --zero-shot");
    return;
  }
  const char* const refused = !vectors.empty()                                   ? "--vectors"
                              : !logits.empty()                                  ? "--logits"
                              : all_heads                                        ? "--all-heads"
                              : !input.pair.empty() || !input.pair_texts.empty() ? "a second text"
                                                                                 : nullptr;
  if (refused != nullptr) {
    throw UsageError(std::string("--zero-shot and ") + refused +
                     " exclude each other: a text and a label's sentence are the pair that the model reads");
  }
  if (longer.truncation != "longest_first" && longer.truncation != "only_first") {
    throw UsageError("--truncation " + longer.truncation + ": with --zero-shot the text is cut, and never a label");
  }
  if (multi_label && !eval.empty()) {
    throw UsageError("--eval and --multi-label exclude each other: --eval compares one label of each text");
  }
}

void ClassifyFlags::check() const {
  check_zero_shot();
  if (input.empty() && vectors.empty()) {
    throw UsageError("nothing to classify: give texts, --input FILE, or - for standard input");
  }
  if (!vectors.empty() && !input.empty()) throw UsageError("--vectors and texts exclude each other");
  if (!vectors.empty() && !eval.empty()) throw UsageError("--eval needs records with a label, not --vectors");
  const OutputFormat chosen = format();
  const bool columns = chosen == OutputFormat::csv || chosen == OutputFormat::tsv;
  if (columns) input.check_kept_columns();
  if (!input.keep.empty() && !vectors.empty()) throw UsageError("--keep goes with texts, and --vectors has no fields");
  if (!eval.empty() && !records && !(output.output.empty() && input.keep.empty())) {
    throw UsageError("with --eval, -o and --keep apply only to the answers: add --records");
  }
  if (!eval.empty() && records && columns && (output.output.empty() || files::is_standard_output(output.output))) {
    throw UsageError("--eval prints a summary, which can't be a part of the table; give -o FILE for the answers");
  }
  if (records && eval.empty()) throw UsageError("--records goes with --eval");
  if (label_separator && eval.empty()) throw UsageError("--label-separator goes with --eval");
  if (label_separator && label_separator->empty()) {
    throw UsageError("--label-separator is empty; give a character that no label has, such as '|'");
  }
  if (threshold && std::isnan(*threshold)) throw UsageError("--threshold is not a number; give 0 to 1");
  if (all_heads && !head.empty()) throw UsageError("--head and --all-heads exclude each other");
  check_outputs(input.all_input_paths({model, vectors}),
                {output.named_output(chosen), {"--logits", logits, files::FileFormat::npy}});
  warn_if_text_names_file(input, "classified");
}

}  // namespace linformer::cli
