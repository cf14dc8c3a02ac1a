// The options of `linformer answer`.
#pragma once

#include <string>

#include "commands/flags/input_flags.h"
#include "commands/flags/output_flags.h"
#include "commands/flags/run_flags.h"
#include "commands/flags/text_flags.h"

namespace linformer::cli {

struct AnswerFlags {
  std::string model, head, question, question_field, eval;
  InputFlags input;
  OutputFlags output;
  TokenFlags tokens;
  LongFlags longer;
  RunFlags run;
  int64_t top_k = 1, max_answer_tokens = 15;
  bool no_answer = false;

  void add_to(CLI::App* command);
  // Throws UsageError for options that can't be combined, and for a text that is the name of a model file. For a
  // text that is the name of a file of another kind, prints a note. If the command line has no question, the
  // question of each record is read from a field, as its second text.
  void check();
  // Returns the format of the answers. If no option chooses it, answers are a table on a terminal and lines otherwise.
  OutputFormat format() const;
};

}  // namespace linformer::cli
