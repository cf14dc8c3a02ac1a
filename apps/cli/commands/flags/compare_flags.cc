#include "commands/flags/compare_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "answers/output.h"
#include "command_line/errors.h"
#include "input/record_loop.h"

namespace linformer::cli {

void CompareFlags::add_to(CLI::App* command) {
  command->add_option("FIRST", first, "Model file (.lnfr)")->type_name("")->required();
  command->add_option("SECOND", second, "Another model file, such as the same model in int8")->type_name("");
  input.add_texts_to(command, "Texts to compare on");
  input.add_to(command);
  command
      ->add_option("--reference", reference,
                   "Instead of SECOND: the original program's logits or vectors, npy float32 or float64 "
                   "[records, numbers]")
      ->type_name("FILE")
      ->group("Comparison");
  command->add_option("--head", head, "Classification head by name or index; default: the first that scores a text")
      ->type_name("NAME")
      ->group("Comparison");
  command->add_option("--eval", eval, "Field with the true label: print how the accuracy changes")
      ->type_name("FIELD")
      ->group("Comparison");
  command->add_flag("--json", json, "Print one JSON object")->group("Comparison");
  tokens.add_to(command);
  run.add_to(command);
}

void CompareFlags::assign_positionals() {
  if (!reference.empty() && !second.empty() && !second.ends_with(".lnfr")) {
    input.texts.insert(input.texts.begin(), second);
    second.clear();
  }
  if (reference != "-") input.use_piped_input();
}

void CompareFlags::check() const {
  if (second.empty() == reference.empty()) {
    throw UsageError("give either a second model or --reference FILE.npy");
  }
  if (input.empty()) throw UsageError("nothing to compare on: give texts, --input FILE, or - for standard input");
  const std::vector<std::string> read = input.all_input_paths({});
  if (reference == "-" && std::count(read.begin(), read.end(), "-") > 0) {
    throw UsageError("--input and --reference can't both be standard input; give a file for one");
  }
  check_outputs(input.all_input_paths({first, second, reference}), {});
  warn_if_text_names_file(input, "read");
}

}  // namespace linformer::cli
