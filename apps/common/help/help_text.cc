#include <algorithm>
#include <cctype>

#include "help/formats.h"

namespace linformer::help {
namespace {

constexpr const char* exit_status = "Exit status: 0 done, 1 bad input or a bad record, 2 usage.\n";
constexpr size_t screen_columns = 100, first_column = 30;

std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

// Returns an entry with `name`, such as "-i,--input FILE", in the first column and `text`, broken into lines, in the
// second one.
std::string row(const std::string& name, const std::string& text) {
  std::string out = "  " + name;
  if (out.size() + 2 > first_column) {
    out += "\n" + std::string(first_column, ' ');
  } else {
    out.resize(first_column, ' ');
  }
  out += joined(wrapped(text, screen_columns - first_column), ("\n" + std::string(first_column, ' ')).c_str());
  while (out.back() == ' ') out.pop_back();
  return out + "\n";
}

std::string row(const Option& option) {
  std::string name = joined(option.names, ",");
  if (!option.value.empty()) name += " " + option.value;
  if (!option.default_value.empty()) name += "=" + option.default_value;
  return row(name, option.text);
}

bool has_name(const Option& option, const std::string& name) {
  return std::find(option.names.begin(), option.names.end(), name) != option.names.end();
}

std::string start(const Command& command) {
  std::string out = "Usage: " + command.name + (command.commands.empty() ? "" : " COMMAND");
  const std::string arguments = positional_usage(command);
  out += (arguments.empty() ? "" : " " + arguments) + " [OPTIONS]\n";
  for (const std::string& line : wrapped(command.text, screen_columns)) out += line + "\n";
  if (!command.positionals.empty()) out += "\n";
  for (const Option& option : command.positionals) out += row(option);
  return out;
}

std::string commands_text(const Command& command) {
  std::string out;
  if (!command.commands.empty()) out += "\nCommands:\n";
  for (const Command& inner : command.commands) out += row(last_word(inner.name), inner.text);
  return out;
}

std::string examples_text(const Command& command, size_t most) {
  std::string out;
  if (!command.texts.examples.empty()) out += "\nExamples:\n";
  for (size_t i = 0; i < std::min(most, command.texts.examples.size()); ++i) {
    out += "  " + command.texts.examples[i] + "\n";
  }
  return out;
}

std::string notes_text(const Command& command) {
  std::string out;
  for (const std::string& note : command.texts.notes) {
    out += "\n";
    for (const std::string& line : wrapped(note, screen_columns)) out += line + "\n";
  }
  return out;
}

}  // namespace

std::vector<std::string> wrapped(const std::string& text, size_t columns) {
  std::vector<std::string> lines(1);
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find(' ', begin);
    if (end == std::string::npos) end = text.size();
    const std::string word = text.substr(begin, end - begin);
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > columns) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
    begin = end + 1;
  }
  return lines;
}

std::string last_word(const std::string& name) { return name.substr(name.rfind(' ') + 1); }

std::string hyphenated(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string text_before_semicolon(const std::string& text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0 && text.compare(i, 2, "; ") == 0) return text.substr(0, i);
  }
  return text;
}

std::string summary(const std::string& text) {
  constexpr size_t most_columns = 80;
  std::string start = text_before_semicolon(text);
  if (start.size() > most_columns) start = wrapped(start, most_columns - 4)[0] + " ...";
  return start;
}

std::vector<std::string> groups_of(const Command& command) {
  std::vector<std::string> groups;
  for (const Option& option : command.options) {
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
  }
  // The group "Help" is moved to the end, because each command adds it first.
  const auto help = std::find(groups.begin(), groups.end(), "Help");
  if (help != groups.end()) std::rotate(help, help + 1, groups.end());
  return groups;
}

bool is_path_placeholder(const std::string& value) {
  static const std::vector<std::string> paths = {"FILE", "DIR", "PATH", "MODEL", "FIRST", "SECOND", "CHECKPOINT"};
  const bool several = value.ends_with("...");  // "FILE..."
  return std::find(paths.begin(), paths.end(), value.substr(0, value.size() - (several ? 3 : 0))) != paths.end();
}

std::string positional_usage(const Command& command) {
  std::string out;
  for (const Option& option : command.positionals) {
    const std::string name = option.names[0] + (option.repeated ? "..." : "");
    out += (out.empty() ? "" : " ") + (option.required ? name : "[" + name + "]");
  }
  return out;
}

std::string short_help(const Command& command) {
  std::string out = start(command);
  // A program's list of commands fills the screen, so the notes are printed without blank lines between them.
  if (!command.commands.empty()) {
    for (const std::string& note : command.texts.notes) {
      for (const std::string& line : wrapped(note, screen_columns)) out += line + "\n";
    }
    out += commands_text(command);
  }
  if (!command.texts.most_used.empty()) out += "\nMost used options:\n";
  for (const std::string& name : command.texts.most_used) {
    for (const Option& option : command.options) {
      if (!has_name(option, name)) continue;
      Option brief = option;
      brief.text = text_before_semicolon(option.text);
      out += row(brief);
    }
  }
  const std::string examples = examples_text(command, 2);
  if (command.commands.empty()) return out + examples + "\nAll options and notes: " + command.name + " --help-all\n";
  return out + examples.substr(std::min<size_t>(1, examples.size())) + "'" + command.name +
         " COMMAND --help' says more, and --help-all everything.\n" + exit_status;
}

std::string full_help(const Command& command) {
  std::string out = start(command) + commands_text(command);
  for (const std::string& group : groups_of(command)) {
    out += "\n" + group + ":\n";
    for (const Option& option : command.options) {
      if (option.group == group) out += row(option);
    }
  }
  return out + notes_text(command) + examples_text(command, command.texts.examples.size()) + "\n" + exit_status;
}

}  // namespace linformer::help
