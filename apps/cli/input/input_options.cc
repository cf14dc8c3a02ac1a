#include "input/input_options.h"

#include <algorithm>
#include <string_view>

#include "command_line/errors.h"
#include "system/descriptors.h"

namespace linformer::cli {
void InputOptions::use_piped_input() {
  if (empty() && system::standard_input_has_bytes()) inputs = {"-"};
}

std::vector<std::string> InputOptions::all_input_paths(std::vector<std::string> other_paths) const {
  other_paths.insert(other_paths.end(), inputs.begin(), inputs.end());
  if (dash && std::find(texts.begin(), texts.end(), "-") != texts.end()) other_paths.push_back("-");
  return other_paths;
}

Format InputOptions::format_of(const std::string& path) const {
  if (whole_files) return Format::whole_file;
  if (format == "fasttext") return Format::fasttext;
  if (format == "jsonl") return Format::jsonl;
  if (format == "csv") return Format::csv;
  if (format == "tsv") return Format::tsv;
  if (format == "text") return Format::text;
  const Format named = path == "-" ? Format::text : format_of_path(path);
  return named == Format::text && !delimiter.empty() ? Format::csv : named;
}

RecordLimits InputOptions::limits() const {
  const char between = delimiter.empty() ? '\0' : delimiter == "\\t" ? '\t' : delimiter[0];
  return {.max_bytes = max_line_bytes, .header = !no_header, .delimiter = between};
}

const char* InputOptions::given_field_option(const std::string& label) const {
  return words                  ? "--words"
         : !pair.empty()        ? pair_option.c_str()
         : !id.empty()          ? "--id"
         : !label.empty()       ? "--eval"
         : !keep.empty()        ? "--keep"
         : field != usual_field ? "--field"
         : !delimiter.empty()   ? "--delimiter"
                                : nullptr;
}

void InputOptions::check_kept_columns() const {
  if (!keeps_all()) return;
  for (const std::string& path : all_input_paths({})) {
    if (format_of(path) != Format::jsonl) continue;
    throw UsageError(
        "--keep all: each record of JSON lines may have other fields, and a table has the same columns for all; "
        "name the fields, --keep NAME,NAME, or write JSON lines, -o FILE.jsonl");
  }
}

void InputOptions::check_pairs() const {
  if (pair_texts.empty()) return;
  const bool reads_standard_input =
      std::any_of(texts.begin(), texts.end(), [this](const std::string& text) { return is_standard_input(text); });
  if (reads_standard_input || !inputs.empty()) {
    throw UsageError("--pair-text goes with texts on the command line; for files name the field with --pair");
  }
  if (pair_texts.size() == texts.size()) return;
  const auto counted = [](size_t count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
  };
  throw UsageError("--pair-text was given " + counted(pair_texts.size(), "time") + " for " +
                   counted(texts.size(), "text") +
                   ": each text has one second text; repeat a text that has several, or give a file with --field and "
                   "--pair");
}

void InputOptions::check_whole_files(const std::string& label) const {
  if (const char* option = given_field_option(label)) {
    throw UsageError(std::string(option) + ": with --whole-files a file is one text without fields; leave one out");
  }
  if (format != "auto") throw UsageError("--format and --whole-files exclude each other: a whole file is one text");
  if (all_input_paths({}).empty()) throw UsageError("--whole-files makes each file a text: give --input FILE");
}

void InputOptions::fail_without_fields(const char* option, const std::string& path) {
  throw UsageError(std::string(option) + " needs records with fields, and " + (path == "-" ? "standard input" : path) +
                   " is read as text lines; add --format jsonl, csv, tsv or fasttext");
}

void InputOptions::check_inputs_have_fields(const char* option, const std::string& label) const {
  if (!std::all_of(texts.begin(), texts.end(), [this](const std::string& text) { return is_standard_input(text); })) {
    throw UsageError(std::string(option) + " needs records with fields: use --input FILE");
  }
  for (const std::string& path : all_input_paths({})) {
    // The first line may show that the file is in fastText's format, which has labels. RecordLoop examines it.
    const bool may_have_labels = is_guessed_text(path) && option == std::string_view("--eval") && label == "label";
    if (format_of(path) == Format::text && !may_have_labels) fail_without_fields(option, path);
    if (!delimiter.empty() && format_of(path) == Format::jsonl) {
      throw UsageError("--delimiter goes with CSV and TSV, and " + (path == "-" ? "standard input" : path) +
                       " is read as JSON lines; leave it out, or add --format csv");
    }
  }
}

void InputOptions::check_arrays() const {
  for (const std::string& path : all_input_paths({})) {
    if (format_of(path) == Format::jsonl) continue;
    throw UsageError(
        array_option + ": only JSON has arrays, and " + (path == "-" ? "standard input" : path) +
        " is read in another format; give JSON lines, with --format jsonl if the name doesn't end in .jsonl");
  }
}

RecordFields InputOptions::fields(const std::string& label) const {
  RecordFields fields;
  fields.text = field;
  fields.words = words;
  fields.pair_option = pair_option;
  if (!pair.empty()) fields.pair = pair;
  if (!id.empty()) fields.id = id;
  if (!label.empty()) fields.label = label;
  fields.keep_all = keeps_all();
  if (!fields.keep_all) fields.keep = keep;
  for (size_t i = 0; i < keep.size(); ++i) {
    if (keep[i].empty()) throw UsageError("--keep: a name is empty; give names separated by commas, or all");
    if (std::find(keep.begin(), keep.begin() + static_cast<ptrdiff_t>(i), keep[i]) !=
        keep.begin() + static_cast<ptrdiff_t>(i)) {
      throw UsageError("--keep names '" + keep[i] + "' twice; leave one out");
    }
  }
  check_pairs();
  if (whole_files) check_whole_files(label);
  if (!array_option.empty()) check_arrays();
  const char* option = given_field_option(label);
  if (option == nullptr) return fields;
  if (format == "fasttext" && option != std::string_view("--eval")) {
    throw UsageError(std::string(option) +
                     ": lines of fastText have labels and a text, and no other fields; leave it out");
  }
  if (format == "fasttext" && label != "label") {
    throw UsageError("--eval " + label + ": the labels of fastText's lines are called label; give --eval label");
  }
  check_inputs_have_fields(option, label);
  return fields;
}

}  // namespace linformer::cli
