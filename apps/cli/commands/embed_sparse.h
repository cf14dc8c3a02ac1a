// `linformer embed --sparse` gives each text a weight for some tokens of the vocabulary, instead of a dense vector.
#pragma once

#include <string>

#include "commands/flags/input_flags.h"
#include "commands/flags/output_flags.h"
#include "commands/flags/run_flags.h"
#include "commands/flags/text_flags.h"

namespace linformer::cli {

struct SparseJob {
  const std::string& model;
  const InputFlags& input;
  const OutputFlags& output;
  const TokenFlags& tokens;
  const LongFlags& longer;
  const RunFlags& run;
};

// Throws UsageError if the chosen format is not JSON lines, or if texts are to be read in windows.
void check_sparse_options(const SparseJob& job);
// Writes a JSON object for each text and returns the exit code.
int embed_sparse(const SparseJob& job);

}  // namespace linformer::cli
