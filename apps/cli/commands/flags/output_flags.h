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

struct OutputFlags {
  std::string output, format;
  bool json = false, table = false;

  // `formats`: those that the command can write beside `lines`, of which --json and --table are shorter names.
  void add_to(CLI::App* command, std::vector<OutputFormat> formats, const std::string& group);
  // Returns the format of the answers: that of --output-format, --json or --table, else that of the ending of -o, else
  // tsv if fields are kept (`keeps`), else `otherwise`. Throws UsageError if the options contradict each other.
  OutputFormat chosen(OutputFormat otherwise, bool keeps) const;
  // As chosen(). Without a format given, it is a table on a terminal, and lines in a file or pipe.
  OutputFormat chosen_for_records(bool keeps) const;
  // Returns the file of -o for check_outputs(). With --output-format its name may have any ending.
  NamedOutput named(OutputFormat format, const std::string& otherwise = {}) const;

 private:
  std::optional<OutputFormat> asked() const;
  std::vector<OutputFormat> formats_;
};

// Adds the options --quiet and --verbose.
void add_verbosity_flags(CLI::App* command);

}  // namespace linformer::cli
