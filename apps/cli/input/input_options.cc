#include "input/input_options.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "command_line/errors.h"

namespace linformer::cli {
namespace {

// Whether standard input is a pipe or a redirected file that has something to read; waits for a pipe's first bytes.
// What else it may be, such as /dev/null or what a service leaves open, is not read unasked.
bool standard_input_waits() {
  struct stat properties {};
  if (::fstat(STDIN_FILENO, &properties) != 0) return false;
  if (S_ISREG(properties.st_mode)) return ::lseek(STDIN_FILENO, 0, SEEK_CUR) < properties.st_size;
  if (!S_ISFIFO(properties.st_mode)) return false;
  pollfd pipe{STDIN_FILENO, POLLIN, 0};
  while (::poll(&pipe, 1, -1) < 0 && errno == EINTR) {
  }
  int bytes = 0;
  return ::ioctl(STDIN_FILENO, FIONREAD, &bytes) == 0 && bytes > 0;
}

}  // namespace

void InputOptions::take_pipe() {
  if (empty() && standard_input_waits()) inputs = {"-"};
}

std::vector<std::string> InputOptions::paths(std::vector<std::string> more) const {
  more.insert(more.end(), inputs.begin(), inputs.end());
  if (dash && std::find(texts.begin(), texts.end(), "-") != texts.end()) more.push_back("-");
  return more;
}

Format InputOptions::format_of(const std::string& path) const {
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

RecordFields InputOptions::fields(const std::string& label) const {
  RecordFields fields;
  fields.text = field;
  if (!pair.empty()) fields.pair = pair;
  if (!id.empty()) fields.id = id;
  if (!label.empty()) fields.label = label;
  const auto is_dash = [this](const std::string& text) { return dash && text == "-"; };
  const bool reads_standard_input = std::any_of(texts.begin(), texts.end(), is_dash);
  if (!pair_texts.empty() && (reads_standard_input || !inputs.empty())) {
    throw UsageError("--pair-text goes with texts on the command line; for files name the field with --pair");
  }
  if (!pair_texts.empty() && pair_texts.size() != texts.size()) {
    const auto counted = [](size_t count, const char* what) {
      return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
    };
    throw UsageError("--pair-text was given " + counted(pair_texts.size(), "time") + " for " +
                     counted(texts.size(), "text") +
                     ": each text has one second text; repeat a text that has several, or give a file with --field and "
                     "--pair");
  }
  const char* flag = fields.pair         ? "--pair"
                     : fields.id         ? "--id"
                     : fields.label      ? "--eval"
                     : field != "text"   ? "--field"
                     : delimiter.empty() ? nullptr
                                         : "--delimiter";
  if (flag == nullptr) return fields;
  if (!std::all_of(texts.begin(), texts.end(), is_dash)) {
    throw UsageError(std::string(flag) + " needs records with fields: use --input FILE");
  }
  std::vector<std::string> paths = inputs;
  if (reads_standard_input) paths.push_back("-");
  for (const std::string& path : paths) {
    if (format_of(path) == Format::text) {
      throw UsageError(std::string(flag) + " needs records with fields, and " +
                       (path == "-" ? "standard input" : path) +
                       " is read as text lines; add --format jsonl, csv or tsv");
    }
    if (!delimiter.empty() && format_of(path) == Format::jsonl) {
      throw UsageError("--delimiter goes with CSV and TSV, and " + (path == "-" ? "standard input" : path) +
                       " is read as JSON lines; leave it out, or add --format csv");
    }
  }
  return fields;
}

}  // namespace linformer::cli
