// The options that `linformer rerank` and `linformer search` share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "answers/ranking.h"
#include "commands/flags/input_flags.h"
#include "commands/flags/output_flags.h"

// CLI::App is declared here because including <CLI/CLI.hpp> would take seconds in every file that includes this one.
namespace CLI {
class App;
}

namespace linformer::cli {

struct RankingFlags {
  std::string query, queries, query_field = "query";
  InputFlags input;
  OutputFlags output;

  // `documents` is the help text for the texts of the command line.
  void add_to(CLI::App* command, const std::string& documents);
  // Throws UsageError if no query is given or options don't go together. `other_paths` are the other files that the
  // command reads, which the output must not replace.
  void check(std::vector<std::string> other_paths) const;
  // Returns the query of --query, or all queries of --queries. Throws DataError if a query can't be read or the file
  // has none.
  std::vector<std::string> read_queries() const;
  RankingWriter writer(OutputStream* stream) const;

 private:
  OutputFormat format() const { return output.choose_format(OutputFormat::lines, !input.keep.empty()); }
};

}  // namespace linformer::cli
