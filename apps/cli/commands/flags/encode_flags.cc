#include "commands/flags/encode_flags.h"

#include <CLI/CLI.hpp>

#include "answers/output.h"
#include "command_line/errors.h"
#include "files/output_target.h"

namespace linformer::cli {

void EncodeFlags::add_to(CLI::App* command) {
  command->add_option("MODEL", model, "Model file (.lnfr)")->type_name("")->required();
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
  command->add_option("--text", input.texts, "A text instead of ids, may be repeated")
      ->type_name("TEXT")
      ->allow_extra_args(false)
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
  command->add_option("--on-long", on_long, "A text with too many tokens: truncate or error")
      ->type_name("HOW")
      ->check(CLI::IsMember({"truncate", "error"}))
      ->capture_default_str()
      ->group("Tokens");
  tokens.add_to(command);
  run.add_to(command);
  run.add_profile_to(command, false);
  command->footer(
      "Shapes: hidden [texts, tokens, d], mlm [texts, tokens, vocabulary], pooled and embedding [texts, d],\n"
      "logits [texts, classes], for a head that scores each token [texts, tokens, classes], for one that compares\n"
      "texts two by two [texts / 2, classes]. Rows beyond a text's own tokens are zero.\n"
      "Numbers that are not finite are written unchanged; each record that has one is reported, and the exit code is "
      "1.\n\n"
      "Examples:\n"
      "  linformer encode model.lnfr --ids ids.npy --what hidden -o hidden.npy\n"
      "  echo '[0, 31, 414, 2]' | linformer encode model.lnfr --ids - --what mlm -o logits.npy\n"
      "  linformer encode model.lnfr --input reviews.txt --what pooled -o vectors.npy\n"
      "  linformer encode model.lnfr --text \"A man sleeps.\" --pair-text \"He is awake.\" -o hidden.npy\n"
      "  linformer encode vit.lnfr --vectors patches.npy --what logits -o logits.npy\n"
      "  linformer encode model.lnfr --ids ids.npy -o hidden.npy --profile --threads 1\n");
}

void EncodeFlags::check() const {
  const int kinds = (input.empty() ? 0 : 1) + (ids.empty() ? 0 : 1) + (vectors.empty() ? 0 : 1);
  if (kinds != 1) throw UsageError("give either --ids FILE, --vectors FILE or texts (--text TEXT, --input FILE)");
  if (files::is_terminal(output)) {
    throw UsageError("standard output is a terminal, which can't show an array: give -o FILE.npy, or a pipe");
  }
  check_outputs(input.paths({model, ids, vectors}), {{"-o", output, files::FileFormat::npy}});
}

}  // namespace linformer::cli
