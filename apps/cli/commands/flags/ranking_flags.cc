#include "commands/flags/ranking_flags.h"

#include <CLI/CLI.hpp>

#include "command_line/errors.h"
#include "input/record_loop.h"

namespace linformer::cli {

void RankingFlags::add_to(CLI::App* command, const std::string& documents) {
  command->add_option("--query", query, "The query that the documents are compared with")
      ->type_name("TEXT")
      ->group("Queries");
  command->add_option("--queries", queries, "File of queries, in the format that its ending names; - is standard input")
      ->type_name("FILE")
      ->group("Queries");
  command->add_option("--query-field", query_field, "Name of the field with the query, if the file has fields")
      ->type_name("NAME")
      ->capture_default_str()
      ->group("Queries");
  input.add_texts_to(command, documents);
  input.add_records_to(command);
  output.add_to(command, {OutputFormat::jsonl, OutputFormat::csv, OutputFormat::tsv}, "Answers");
  command->add_flag("--json", output.json, "The same as --output-format jsonl")->group("Answers");
  input.add_keep_to(command);
}

void RankingFlags::check(std::vector<std::string> other_paths) const {
  if (query.empty() && queries.empty()) throw UsageError("no query: give --query TEXT, or --queries FILE");
  if (!query.empty() && !queries.empty()) throw UsageError("--query and --queries exclude each other");
  const std::vector<std::string> documents = input.all_input_paths({});
  if (queries == "-" && std::find(documents.begin(), documents.end(), "-") != documents.end()) {
    throw UsageError("--queries - and documents from standard input exclude each other; name a file");
  }
  if (!queries.empty()) other_paths.push_back(queries);
  const OutputFormat chosen = format();
  if (chosen == OutputFormat::csv || chosen == OutputFormat::tsv) input.check_kept_columns();
  check_outputs(input.all_input_paths(std::move(other_paths)), {output.named_output(chosen)});
}

std::vector<std::string> RankingFlags::read_queries() const {
  if (!query.empty()) return {query};
  InputOptions options;
  options.inputs = {queries};
  options.max_line_bytes = input.max_line_bytes;
  if (options.format_of(queries) != Format::text) options.field = query_field;
  std::vector<std::string> read;
  RecordLoop loop;
  loop.visit = [&](Record& record) {
    if (!record.error.empty()) throw DataError("--queries: " + record.error);
    read.push_back(std::move(record.text));
  };
  loop.run(options, options.fields(""));
  if (read.empty()) throw DataError("--queries " + queries + ": the file has no queries");
  return read;
}

RankingWriter RankingFlags::writer(OutputStream* stream) const {
  return RankingWriter(format(), !queries.empty(), stream);
}

}  // namespace linformer::cli
