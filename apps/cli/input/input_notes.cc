#include "input/input_notes.h"

#include <utf8proc.h>

#include <algorithm>
#include <cctype>

#include "answers/notes.h"
#include "command_line/display.h"

namespace linformer::cli {
namespace {

constexpr size_t max_columns = 64;  // A line with more columns is not taken for a table's header.
constexpr size_t max_lines = 5;     // The greatest number of lines that a note lists.

bool valid(std::string_view text) {
  while (!text.empty()) {
    const auto* const bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
    utf8proc_int32_t code_point = 0;
    const utf8proc_ssize_t length =
        bytes[0] < 0x80 ? 1 : utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size()), &code_point);
    if (length < 1) return false;
    text.remove_prefix(static_cast<size_t>(length));
  }
  return true;
}

bool looks_like_json(std::string_view line) {
  const auto skip_space = [&](size_t from) { return line.find_first_not_of(" \t", from); };
  const size_t start = skip_space(0);
  if (start == std::string_view::npos || (line[start] != '{' && line[start] != '[')) return false;
  const size_t next = skip_space(start + 1);
  if (next == std::string_view::npos) return true;
  return line[next] == '"' ? line[start] == '{' || line.ends_with(']') || line.ends_with(',')
                           : line[start] == '[' && line[next] == '{';
}

std::vector<std::string_view> cells_of(std::string_view line, char delimiter) {
  std::vector<std::string_view> cells;
  for (size_t start = 0; cells.size() <= max_columns;) {
    const size_t end = line.find(delimiter, start);
    std::string_view cell = line.substr(start, end == std::string_view::npos ? end : end - start);
    if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"') cell = cell.substr(1, cell.size() - 2);
    cells.push_back(cell);
    if (end == std::string_view::npos) break;
    start = end + 1;
  }
  return cells;
}

// Returns whether `cell` looks like the name of a field in a program. In natural language, cells would contain spaces,
// because a space follows a comma.
bool is_name(std::string_view cell) {
  constexpr size_t longest = 40;
  const auto in_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' || c == '#';
  };
  return !cell.empty() && cell.size() <= longest && std::all_of(cell.begin(), cell.end(), in_name) &&
         std::any_of(cell.begin(), cell.end(), [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; });
}

// Returns whether the header has 2 to max_columns cells, all of them names, and the row after it has at least as many
// cells. The cells of a row with a quotation mark are not counted.
bool is_table(std::string_view header, std::string_view row, char delimiter) {
  const std::vector<std::string_view> names = cells_of(header, delimiter);
  if (names.size() < 2 || names.size() > max_columns) return false;
  if (!std::all_of(names.begin(), names.end(), is_name)) return false;
  return row.find('"') != std::string_view::npos || cells_of(row, delimiter).size() >= names.size();
}

}  // namespace

std::string FormatHint::check_next_line(std::string_view line) {
  constexpr size_t longest_header = 4096;
  if (++lines_ > 2) return {};
  if (lines_ == 1) {
    if (line.find('\r') != std::string_view::npos) {
      header_.clear();
      lines_ = 2;
      return "the first line has carriage returns (CR) in it and is read as one text; if each CR ends a line, convert "
             "the file: tr '\\r' '\\n'";
    }
    if (looks_like_json(line)) {
      header_.clear();
      lines_ = 2;
      return "the first line looks like JSON and is read as plain text; to read its fields add --format jsonl";
    }
    if (line.size() <= longest_header) header_ = line;
    return {};
  }
  const std::string header = std::move(header_);
  for (const char delimiter : {'\t', ',', ';', '|'}) {
    if (!is_table(header, line, delimiter)) continue;
    const std::vector<std::string_view> names = cells_of(header, delimiter);
    const bool has_field = std::find(names.begin(), names.end(), field_) != names.end();
    return "the first line looks like a table's header and every line is read as a text; to read the table's fields "
           "add "
           "--format " +
           std::string(delimiter == '\t' ? "tsv" : "csv") +
           (delimiter == ';' || delimiter == '|' ? std::string(" --delimiter '") + delimiter + "'" : "") +
           (has_field ? "" : " --field NAME");
  }
  // Tabs are rare in texts, so two lines with equally many tabs are probably rows of a table.
  const auto tabs = [](std::string_view text) { return std::count(text.begin(), text.end(), '\t'); };
  if (tabs(header) > 0 && tabs(header) == tabs(line)) {
    return "tabs divide the lines into " + std::to_string(tabs(header) + 1) +
           " fields and every line is read as a text; to read one of them add --format tsv --field NAME, or "
           "--no-header "
           "--field NUMBER";
  }
  return {};
}

void InvalidText::count_record(const Record& record) {
  ++records_;
  // A bad record has an error message already.
  if (!record.error.empty() || (valid(record.text) && (!record.pair || valid(*record.pair)))) return;
  ++invalid_;
  if (lines_.size() < max_lines && record.line > 0) lines_.push_back(record.line);
}

void InvalidText::report() {
  if (invalid_ == 0) return;
  std::string where;
  for (const uint64_t line : lines_) where.append(where.empty() ? " (line " : ", ").append(std::to_string(line));
  if (!where.empty()) where += invalid_ > lines_.size() ? ", ...)" : ")";
  note(excerpt(name_, 200) + ": invalid UTF-8 in " + grouped(invalid_) + " of " + grouped(records_) + " records" +
           where + ", read as U+FFFD; if it is in another encoding, convert it: iconv -f ENCODING -t UTF-8",
       progress_);
}

}  // namespace linformer::cli
