#include "answers/columns.h"

#include <algorithm>

#include "command_line/display.h"
#include "command_line/errors.h"
#include "system/terminal.h"

namespace linformer::cli {
namespace {

using Names = std::vector<std::string>;

std::set<std::string> set_of(const OwnFields& own) {
  return own.names ? std::set<std::string>(own.names->begin(), own.names->end()) : std::set<std::string>();
}

// Puts the prefix "linformer_" before `name` until none of the user's own fields has that name.
std::string name_beside(const std::set<std::string>& own, std::string name) {
  while (own.count(name) != 0) name.insert(0, "linformer_");
  return name;
}

// Returns the table cell for a value that is given as JSON text: null becomes an empty cell, a string its characters,
// and any other value stays JSON.
std::string text_of_json(const std::string& value) {
  if (value == "null") return {};
  return value.starts_with('"') ? nlohmann::json::parse(value).get<std::string>() : value;
}

std::string list_of(const Names& names) {
  constexpr size_t shown = 8;
  std::string list;
  for (size_t i = 0; i < std::min(names.size(), shown); ++i) list += (i > 0 ? ", " : "") + excerpt(names[i], 60);
  return list + (names.size() > shown ? ", ..." : "");
}

// Returns `value` with control characters and invalid UTF-8 replaced. A value without them is returned unchanged:
// excerpt() would remove spaces from it.
std::string printable(const std::string& value) {
  const auto without_spaces = [](std::string text) {
    std::erase(text, ' ');
    return text;
  };
  std::string shown = excerpt(value, uncut);
  return without_spaces(shown) == without_spaces(value) ? value : shown;
}

}  // namespace

std::string csv_cell(std::string_view value) {
  if (value.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(value);
  std::string cell = "\"";
  for (const char c : value) cell.append(c == '"' ? 2 : 1, c);
  return cell + "\"";
}

std::string tsv_cell(std::string_view value) {
  std::string cell(value);
  for (char& c : cell) {
    if (c == '\t' || c == '\r' || c == '\n') c = ' ';
  }
  return cell;
}

int id_column_width(bool numbered, int terminal_columns) {
  constexpr int of_numbers = 6, least = 16, most = 60;
  return numbered ? of_numbers : std::clamp(terminal_columns / 4, least, most);
}

ColumnWriter::ColumnWriter(bool csv, Names columns, OutputStream* output)
    : csv_(csv), safe_(system::is_terminal(output->fd())), columns_(std::move(columns)), output_(output) {}

void ColumnWriter::write(const OwnFields& own, const Names& cells) {
  if (!header_written_) write_header(own);
  const Names none;
  const Names &first = names_ ? *names_ : none, &names = own.names ? *own.names : none;
  if (own.names != names_ && first != names) {
    throw DataError("a record has other fields (" + list_of(names) + ") than the first one (" + list_of(first) +
                    "), and a table has one header; keep only the fields that all records have: --keep NAME,NAME");
  }
  Names values = own.values;
  values.resize(names.size());
  if (own.json) std::transform(values.begin(), values.end(), values.begin(), text_of_json);
  write_cells(values, cells);
}

void ColumnWriter::finish() {
  if (!header_written_) write_header({});
}

void ColumnWriter::write_header(const OwnFields& own) {
  header_written_ = true;
  names_ = own.names;
  const std::set<std::string> taken = set_of(own);
  Names columns = columns_;
  for (std::string& column : columns) column = name_beside(taken, std::move(column));
  write_cells(own.names ? *own.names : Names(), columns);
}

void ColumnWriter::write_cells(const Names& own, const Names& cells) {
  std::string line;
  const char between = csv_ ? ',' : '\t';
  const auto add = [&](const std::string& value) {
    line += csv_ ? csv_cell(value) : tsv_cell(value);
    line += between;
  };
  // The user's own fields are repeated byte for byte, except on a terminal, where control characters would take effect.
  for (const std::string& value : own) add(safe_ ? printable(value) : value);
  for (const std::string& cell : cells) add(printable(cell));
  line.back() = '\n';
  output_->write(line);
}

std::string json_line(const OwnFields& own, const nlohmann::ordered_json& answer) {
  if (!own.names || own.values.size() != own.names->size() || own.values.empty()) return json_text(answer) + "\n";
  const std::set<std::string> taken = set_of(own);
  std::string line = "{";
  for (size_t i = 0; i < own.values.size(); ++i) {
    line += json_text(nlohmann::json((*own.names)[i])) + ":";
    line += (own.json ? terminal::escape_controls(own.values[i]) : json_text(nlohmann::json(own.values[i]))) + ",";
  }
  nlohmann::ordered_json renamed = nlohmann::ordered_json::object();
  for (const auto& [name, value] : answer.items()) renamed[name_beside(taken, name)] = value;
  return line + json_text(renamed).substr(1) + "\n";
}

}  // namespace linformer::cli
