// The options of `linformer classify`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "commands/flags/input_flags.h"
#include "commands/flags/output_flags.h"
#include "commands/flags/run_flags.h"
#include "commands/flags/text_flags.h"

namespace linformer::cli {

struct ClassifyFlags {
  std::string model, head, eval, logits, vectors;
  std::optional<std::string> label_separator;
  InputFlags input;
  OutputFlags output;
  TokenFlags tokens;
  LongFlags longer;
  RunFlags run;
  int64_t top_k = 0;
  std::optional<double> threshold;
  bool fail_fast = false, records = false, all_heads = false;
  std::vector<std::string> zero_shot;
  std::string hypothesis = "This example is {}.";
  bool multi_label = false;

  void add_to(CLI::App* command);
  // Throws UsageError for options that can't be combined, and for a text that is the name of a model file. For a
  // text that is the name of a file of another kind, prints a note.
  void check() const;
  // Returns the labels of --zero-shot. If the option was given several times, each value is a label; otherwise its
  // value is split at commas.
  std::vector<std::string> zero_shot_labels() const;
  // Returns the format of the answers. If no option chooses it, answers are a table on a terminal and lines otherwise.
  OutputFormat format() const;

 private:
  void check_zero_shot() const;
};

}  // namespace linformer::cli
