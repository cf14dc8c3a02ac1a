// Options that set where answers go, and in which format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "answers/output.h"

// CLI::App is declared here because including <CLI/CLI.hpp> would take seconds in every file that includes this one.
namespace CLI {
class App;
}

namespace linformer::cli {

// lines: columns without a header, as a pipe gets them where nothing else is asked for.
enum class OutputFormat : uint8_t { lines, jsonl, csv, tsv, table, npy };

struct OutputFlags {
  std::string output, format;
  bool json = false, table = false;

  // `formats`: those that the command can write beside `lines`, of which --json and --table are shorter names.
  void add_to(CLI::App* command, std::vector<OutputFormat> formats, const std::string& group);
  // The format of the answers: --output-format, --json or --table, the ending of -o, or else `otherwise`. Where fields
  // are kept, `otherwise` makes way for tsv. Throws UsageError where the options contradict each other.
  OutputFormat chosen(OutputFormat otherwise, bool keeps) const;
  // -o, for check_outputs(). Its ending may be any where --output-format is given.
  NamedOutput named(OutputFormat format, const std::string& otherwise = {}) const;

 private:
  std::optional<OutputFormat> asked() const;
  std::vector<OutputFormat> formats_;
};

// Adds the options --quiet and --verbose.
void add_verbosity_flags(CLI::App* command);

}  // namespace linformer::cli
