#include "commands/flags/encode_flags.h"

#include <CLI/CLI.hpp>

#include "answers/output.h"
#include "command_line/errors.h"
#include "files/output_target.h"
#include "files/terminal_output.h"
#include "input/record_loop.h"

namespace linformer::cli {

void EncodeFlags::add_to(CLI::App* command) {
  command->add_option("MODEL", model, "Model file (.lnfr)")->type_name("")->required();
  input.add_texts_to(command, "Texts");
  command
      ->add_option("--ids", ids,
                   "Token ids: npy int64 or int32 [texts, tokens], or JSON lines of arrays; - is standard input")
      ->type_name("FILE")
      ->group("Input");
  command
      ->add_option("--vectors", vectors,
                   "For models that read vectors: npy float32 or float64 [n, width] or [batch, n, width]")
      ->type_name("FILE")
      ->group("Input");
  input.add_to(command);
  command
      ->add_option("--what", what,
                   "hidden (the encoder's output), hidden:LAYER, pooled, embedding, logits, logits:HEAD or mlm")
      ->type_name("WHAT")
      ->capture_default_str();
  command->add_option("-o,--output", output, "The array (.npy, float32); - is standard output")
      ->type_name("FILE")
      ->required();
  command->add_option("--on-long", on_long, "If a text has too many tokens: truncate or error")
      ->type_name("HOW")
      ->check(CLI::IsMember({"truncate", "error"}))
      ->capture_default_str()
      ->group("Tokens");
  tokens.add_to(command);
  run.add_to(command);
  run.add_profile_to(command, false);
}

void EncodeFlags::check() const {
  const int kinds = (input.empty() ? 0 : 1) + (ids.empty() ? 0 : 1) + (vectors.empty() ? 0 : 1);
  if (kinds != 1)
    throw UsageError("give either texts, --input FILE, --ids FILE or --vectors FILE; - is standard input");
  if (files::is_terminal(output)) {
    throw UsageError("standard output is a terminal, which can't show an array: give -o FILE.npy, or a pipe");
  }
  check_outputs(input.all_input_paths({model, ids, vectors}), {{"-o", output, files::FileFormat::npy}});
  warn_if_text_names_file(input, "encoded");
}

}  // namespace linformer::cli
