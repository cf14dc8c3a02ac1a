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

  // Adds -o and --output-format. `formats` are the formats that the command can write in addition to `lines`.
  void add_to(CLI::App* command, std::vector<OutputFormat> formats, const std::string& group);
  // Returns the format of the answers. It is the format of --output-format, --json or --table; otherwise the format of
  // the ending of -o; otherwise tsv if `keeps` (fields are kept), and `otherwise` if not. Throws UsageError if the
  // options contradict each other.
  OutputFormat chosen(OutputFormat otherwise, bool keeps) const;
  // Returns chosen(), where the default is a table on a terminal and lines in a file or pipe.
  OutputFormat chosen_for_records(bool keeps) const;
  // Returns the output of -o for check_outputs(). With --output-format the file name may have any ending.
  NamedOutput named(OutputFormat format, const std::string& otherwise = {}) const;

 private:
  std::optional<OutputFormat> asked() const;
  std::vector<OutputFormat> formats_;
};

// Adds the options --quiet and --verbose.
void add_verbosity_flags(CLI::App* command);

}  // namespace linformer::cli
