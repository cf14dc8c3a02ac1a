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
  // Throws UsageError where options don't go together, and says what was probably meant otherwise. Without a question
  // of the command line, each record's second text is its question.
  void check();
  // Returns the format of the answers, which are shown where nothing says where they go.
  OutputFormat format() const;
};

}  // namespace linformer::cli
