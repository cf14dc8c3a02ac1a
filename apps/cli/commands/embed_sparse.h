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

// Throws UsageError where the answers are to be anything but JSON lines, or texts are to be read by windows.
void check_sparse(const SparseJob& job);
// Writes an object for each text. Returns the exit code.
int embed_sparse(const SparseJob& job);

}  // namespace linformer::cli
