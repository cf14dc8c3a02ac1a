#include "convert/print_summary.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <vector>

namespace linformer::convert {

namespace {

using Lines = std::vector<std::string>;

constexpr size_t most_lines = 15, most_columns = 80, most_fact_lines = 5, most_unused_lines = 2;
constexpr std::string_view kind_fact = "kind of ";

// A character of a text, and the number of columns that it takes on a terminal. Control characters and invalid UTF-8
// are replaced by '?'.
struct Character {
  std::string_view bytes;
  size_t columns;
};

Character take_character(std::string_view* text) {
  utf8proc_int32_t code = -1;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text->data());
  const utf8proc_ssize_t length = utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text->size()), &code);
  Character character{text->substr(0, length > 0 ? static_cast<size_t>(length) : 1), 1};
  text->remove_prefix(character.bytes.size());
  if (length <= 0 || code < 0x20 || (code >= 0x7f && code < 0xa0)) return {"?", 1};
  character.columns = static_cast<size_t>(std::max(0, utf8proc_charwidth(code)));
  return character;
}

size_t columns_of(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) columns += take_character(&text).columns;
  return columns;
}

std::string shown(std::string_view text) {
  std::string clean;
  while (!text.empty()) clean += take_character(&text).bytes;
  return clean;
}

// Returns the text, or its beginning and "..." if it is wider than `columns`.
std::string beginning(std::string_view text, size_t columns) {
  if (columns_of(text) <= columns) return shown(text);
  std::string kept;
  size_t used = 3;  // The width of the dots.
  while (!text.empty()) {
    const Character character = take_character(&text);
    if (used + character.columns > columns) break;
    kept += character.bytes;
    used += character.columns;
  }
  return kept + "...";
}

// Returns the path, or "..." and its end if it is wider than `columns`. The end is kept because it names the file.
std::string ending(std::string_view path, size_t columns) {
  size_t all = columns_of(path);
  if (all <= columns) return shown(path);
  while (!path.empty() && all + 3 > columns) all -= take_character(&path).columns;
  return "..." + shown(path);
}

// Breaks a text into lines of at most `most_columns`. All lines but the first are indented by `indent`.
Lines wrapped(std::string_view text, size_t indent) {
  const std::string margin(indent, ' ');
  Lines lines = {""};
  size_t used = 0;
  const auto new_line = [&] {
    lines.push_back(margin);
    used = indent;
  };
  bool first = true;
  while (!text.empty()) {
    const size_t space = std::min(text.find(' ', first ? text.find_first_not_of(' ') : 0), text.size());
    std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    if (!first && used + 1 + columns_of(word) > most_columns) {
      new_line();
    } else if (!first) {
      lines.back() += ' ';
      ++used;
    }
    first = false;
    while (!word.empty()) {
      std::string_view rest = word;
      const Character character = take_character(&rest);
      if (used + character.columns > most_columns) new_line();
      lines.back() += character.bytes;
      used += character.columns;
      word = rest;
    }
  }
  return lines;
}

// Removes lines after the first `most`. If any are removed, the last line ends with "...".
void shorten(Lines* lines, size_t most) {
  if (lines->size() <= most) return;
  lines->resize(most);
  lines->back() = beginning(lines->back(), most_columns - 3);
  if (!lines->back().ends_with("...")) lines->back() += "...";
}

std::string headline(const std::string& path, const std::string& rest) {
  const size_t taken = std::min(columns_of(rest), most_columns - 20);
  return ending(path, most_columns - taken) + beginning(rest, most_columns - 20);
}

Lines fact_lines(const std::vector<Report::Fact>& facts) {
  constexpr size_t longest_value = 60;
  std::string text = "  ";
  for (const Report::Fact& fact : facts) {
    if (fact.name.starts_with(kind_fact)) continue;
    text += (text.size() > 2 ? "; " : "") + beginning(fact.name, 40) + " " + beginning(fact.value, longest_value);
  }
  if (facts.empty()) return {};
  Lines lines = wrapped(text, 2);
  shorten(&lines, most_fact_lines);
  return lines;
}

// Returns a line for each of the first heads with the kind of its outputs.
Lines kind_lines(const std::vector<Report::Fact>& facts) {
  constexpr size_t most_heads = 2;
  Lines lines;
  size_t heads = 0;
  for (const Report::Fact& fact : facts) {
    if (!fact.name.starts_with(kind_fact) || ++heads > most_heads) continue;
    lines.push_back("  head " + beginning(fact.name.substr(kind_fact.size()), 30) + ": " + beginning(fact.value, 40));
  }
  if (heads > most_heads) lines.back() += ", ...";
  return lines;
}

// Returns lines with the rounding error of low-precision weights, and the size that the model would have in f32.
Lines rounding_lines(const Report& report) {
  if (report.rounded.empty()) return {};
  const auto worst = std::max_element(report.rounded.begin(), report.rounded.end(),
                                      [](const auto& a, const auto& b) { return a.error < b.error; });
  return wrapped("  weights changed by " + two_significant_digits(report.rounding_error) + " (relative), at most " +
                     two_significant_digits(worst->error) + " (" + ending(worst->tensor, 40) + "); " +
                     readable_bytes(report.bytes_in_f32) + " in f32",
                 4);
}

// Returns lines that name the settings that the user gave and nothing used. Likely misspellings come first.
Lines unused_lines(const std::vector<UnusedSetting>& settings) {
  if (settings.empty()) return {};
  constexpr size_t most_names = 5;
  std::string text = settings.size() == 1 ? "  nothing used the setting" : "  nothing used the settings";
  for (size_t i = 0; i < std::min(settings.size(), most_names); ++i) {
    text += (i == 0 ? " " : ", ") + beginning(settings[i].name, 30);
    if (!settings[i].did_you_mean.empty()) text += " (did you mean " + settings[i].did_you_mean + "?)";
  }
  if (settings.size() > most_names) text += " and " + std::to_string(settings.size() - most_names) + " more";
  Lines lines = wrapped(text, 4);
  shorten(&lines, most_unused_lines);
  return lines;
}

// Returns the first notes that fit into `line_limit` lines, and a line with the number of the other notes.
Lines note_lines(const std::vector<std::string>& notes, size_t line_limit) {
  Lines lines;
  for (size_t i = 0; i < notes.size(); ++i) {
    Lines note = wrapped("  note: " + notes[i], 4);
    const size_t left = notes.size() - i - 1;
    const size_t space = line_limit - lines.size() - (left > 0 ? 1 : 0);
    if (note.size() <= space) {
      lines.insert(lines.end(), note.begin(), note.end());
      continue;
    }
    lines.push_back("  " + std::to_string(left + 1) + (left > 0 ? " more notes" : " more note") + ": see --verbose");
    break;
  }
  return lines;
}

void append(Lines* lines, const Lines& more) { lines->insert(lines->end(), more.begin(), more.end()); }

// Returns at most `line_limit` lines with commands that the user can run next. A long path is shortened to "..." and
// its end.
Lines next_lines(const std::vector<files::ModelUse>& uses, const std::string& path, size_t line_limit) {
  constexpr size_t most_uses = 3;
  Lines lines;
  for (const files::ModelUse& use : uses) {
    if (lines.size() == std::min(most_uses, line_limit)) break;
    const std::string before = lines.empty() ? "  try: " : "       ";
    std::string line = before + files::command_line(use, path);
    if (columns_of(line) > most_columns) {
      const size_t taken = columns_of(before + files::command_line(use, "M")) - 1;
      const size_t left = most_columns - std::min(taken, most_columns - 20);
      line = before + files::command_line({use.command, ""}, "M");
      line.replace(line.rfind('M'), 2, ending(path, left));
      line += " " + use.arguments;
    }
    lines.push_back(beginning(line, most_columns));
  }
  return lines;
}

void print(Lines lines, const std::vector<std::string>& notes, const std::string& last, const Lines& next,
           std::ostream& out) {
  const Lines noted = note_lines(notes, most_lines - lines.size() - 1 - next.size());
  lines.insert(lines.end(), noted.begin(), noted.end());
  lines.push_back(last);
  append(&lines, next);
  for (const std::string& line : lines) out << line << "\n";
}

std::string output_line(const std::string& path, uint64_t bytes, const std::string& weight_type) {
  return headline(path == "-" ? "standard output" : path,
                  ": " + readable_bytes(bytes) + (weight_type.empty() ? "" : ", weights in " + weight_type));
}

}  // namespace

std::string readable_bytes(uint64_t bytes) {
  std::array<char, 64> text{};
  if (bytes < 1024 * 1024) {
    std::snprintf(text.data(), text.size(), "%.1f KiB", double(bytes) / 1024);
  } else {
    std::snprintf(text.data(), text.size(), "%.1f MiB", double(bytes) / (1024 * 1024));
  }
  return text.data();
}

std::string two_significant_digits(double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2g", number);
  return text.data();
}

void print_summary(const Report& report, const std::vector<files::ModelUse>& uses, std::ostream& out) {
  Lines lines = {headline(report.checkpoint, ": " + report.format + ", dialect " + report.dialect)};
  append(&lines, fact_lines(report.facts));
  append(&lines, kind_lines(report.facts));
  std::string tensors = "  " + std::to_string(report.mapped.size()) + " tensors mapped";
  if (!report.left_out.empty()) tensors += ", " + std::to_string(report.left_out.size()) + " left out";
  lines.push_back(tensors + " (--verbose lists them)");
  append(&lines, rounding_lines(report));
  append(&lines, unused_lines(report.unused_settings));
  // One line is reserved for the output, and one for notes if there are any.
  const Lines next = next_lines(uses, report.output, most_lines - lines.size() - (report.notes.empty() ? 1 : 2));
  print(std::move(lines), report.notes, output_line(report.output, report.output_bytes, report.weight_type), next, out);
}

void print_summary(const ExportReport& report, std::ostream& out) {
  Lines lines = {headline(report.model, ": model file, dialect " + report.dialect)};
  append(&lines, fact_lines(report.facts));
  lines.push_back("  " + std::to_string(report.rows.size()) + " tensors (--verbose lists them)");
  print(std::move(lines), report.notes, output_line(report.output, report.output_bytes, ""), {}, out);
}

}  // namespace linformer::convert
