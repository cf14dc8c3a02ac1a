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

  // Adds -o and --output-format. `formats` are the formats that these options can choose; `lines` is not one of them.
  void add_to(CLI::App* command, std::vector<OutputFormat> formats, const std::string& group);
  // Returns the format of the answers. It is the format of --output-format, --json or --table; otherwise the format of
  // the ending of -o; otherwise tsv if `keeps` is true, which means that --keep was given; otherwise
  // `default_format`. Throws UsageError if the options contradict each other.
  OutputFormat choose_format(OutputFormat default_format, bool keeps) const;
  // Returns choose_format(), where the default is a table on a terminal and lines in a file or pipe.
  OutputFormat choose_record_format(bool keeps) const;
  // Describes -o for check_outputs(), which refuses a file name whose ending stands for another format. With
  // --output-format it refuses only .parquet, because no command writes Parquet.
  NamedOutput named_output(OutputFormat format, const std::string& advice = {}) const;

 private:
  std::optional<OutputFormat> requested_format() const;
  std::vector<OutputFormat> formats_;
};

// Adds the options --quiet and --verbose.
void add_verbosity_flags(CLI::App* command);

}  // namespace linformer::cli
