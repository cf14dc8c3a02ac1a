#include "commands/flags/output_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "answers/notes.h"
#include "command_line/errors.h"
#include "system/descriptors.h"
#include "system/terminal.h"

namespace linformer::cli {
namespace {

struct FormatName {
  OutputFormat format;
  const char* name;
  const char* ending;  // Null if no ending chooses the format.
  files::FileFormat file;
};
constexpr FormatName format_names[] = {{OutputFormat::lines, "lines", nullptr, files::FileFormat::tsv},
                                       {OutputFormat::jsonl, "jsonl", ".jsonl", files::FileFormat::json_lines},
                                       {OutputFormat::csv, "csv", ".csv", files::FileFormat::csv},
                                       {OutputFormat::tsv, "tsv", ".tsv", files::FileFormat::tsv},
                                       {OutputFormat::table, "table", nullptr, files::FileFormat::text},
                                       {OutputFormat::npy, "npy", ".npy", files::FileFormat::npy}};

const FormatName& name_of(OutputFormat format) { return format_names[static_cast<size_t>(format)]; }

}  // namespace

void OutputFlags::add_to(CLI::App* command, std::vector<OutputFormat> formats, const std::string& group) {
  formats_ = std::move(formats);
  std::vector<std::string> names;
  std::string list, endings;
  for (const OutputFormat known : formats_) {
    const FormatName& name = name_of(known);
    names.emplace_back(name.name);
    list += (list.empty() ? "" : ", ") + names.back();
    if (name.ending != nullptr) endings += (endings.empty() ? "" : ", ") + std::string(name.ending);
  }
  command
      ->add_option(
          "-o,--output", output,
          "File for the answers, which appears only when it is complete; its ending chooses the format: " + endings)
      ->type_name("FILE")
      ->group(group);
  const bool columns = std::find(formats_.begin(), formats_.end(), OutputFormat::csv) != formats_.end();
  command
      ->add_option("--output-format", format,
                   list + ", whatever the ending of -o; also on standard output" +
                       (columns ? ". csv and tsv have a header; csv is quoted as RFC 4180 says, in tsv a tab or a line "
                                  "end becomes a space"
                                : ""))
      ->type_name("FORMAT")
      ->check(CLI::IsMember(names))
      ->group(group);
}

std::optional<OutputFormat> OutputFlags::requested_format() const {
  for (const FormatName& known : format_names) {
    if (!format.empty() && format == known.name) return known.format;
  }
  if (json) return OutputFormat::jsonl;
  if (table) return OutputFormat::table;
  std::string ending = std::filesystem::path(output).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const OutputFormat known : formats_) {
    if (name_of(known).ending != nullptr && ending == name_of(known).ending) return known;
  }
  return std::nullopt;
}

OutputFormat OutputFlags::choose_record_format(bool keeps) const {
  const bool shown = output.empty() && system::is_terminal(system::standard_output);
  return choose_format(shown ? OutputFormat::table : OutputFormat::lines, keeps);
}

OutputFormat OutputFlags::choose_format(OutputFormat default_format, bool keeps) const {
  if (json && table) throw UsageError("--json and --table exclude each other");
  if (!format.empty() && (json || table) && format != (json ? "jsonl" : "table")) {
    throw UsageError(std::string(json ? "--json" : "--table") + " and --output-format " + format +
                     " exclude each other");
  }
  const OutputFormat result = requested_format().value_or(keeps ? OutputFormat::tsv : default_format);
  if (keeps && (result == OutputFormat::npy || result == OutputFormat::table)) {
    throw UsageError("--keep: there is no place for your fields in " +
                     std::string(result == OutputFormat::npy ? "an array" : "a table for the terminal") +
                     "; give -o FILE.csv or -o FILE.jsonl, or --output-format");
  }
  return result;
}

void add_verbosity_flags(CLI::App* command) {
  CLI::Option* const quiet = command->add_flag_callback(
      "--quiet", [] { set_verbosity(Verbosity::quiet); },
      "Print neither notes nor progress on standard error, only errors");
  quiet->group("Running");
  command
      ->add_flag_callback(
          "--verbose", [] { set_verbosity(Verbosity::verbose); },
          "Print each bad record on standard error, however many there are, and how long the records took")
      ->excludes(quiet)
      ->group("Running");
}

NamedOutput OutputFlags::named_output(OutputFormat chosen_format, const std::string& advice) const {
  NamedOutput named = {"-o", output, name_of(chosen_format).file, advice};
  if (!format.empty()) named.format.reset();
  return named;
}

}  // namespace linformer::cli
