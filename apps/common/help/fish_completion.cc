#include "help/formats.h"

namespace linformer::help {
namespace {

std::string fish_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string option_line(const std::string& program, const std::string& condition, const Option& option) {
  std::string out = "complete -c " + program;
  if (!condition.empty()) out += " -n " + fish_quoted(condition);
  for (const std::string& name : option.names) {
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!option.value.empty()) {
    std::string choices;
    for (const std::string& choice : option.choices) choices += (choices.empty() ? "" : " ") + choice;
    out += is_path_placeholder(option.value) ? " -r -F" : choices.empty() ? " -x" : " -x -a " + fish_quoted(choices);
  }
  return out + " -d " + fish_quoted(summary(option.text)) + "\n";
}

}  // namespace

std::string fish_completion(const Command& program) {
  std::string out =
      "# Completions of " + program.name + " for fish, written by '" + program.name + " --help-format fish'.\n\n";
  const bool has_commands = !program.commands.empty();
  const std::string first = has_commands ? "__fish_use_subcommand" : "";
  for (const Option& option : program.options) out += option_line(program.name, first, option);
  const auto command_line = [&](const std::string& condition, const std::string& name, const std::string& text) {
    return "complete -c " + program.name + " -n " + fish_quoted(condition) + " -f -a " + name + " -d " +
           fish_quoted(text) + "\n";
  };
  for (const std::string& condition : {first, std::string("__fish_seen_subcommand_from help")}) {
    for (const Command& command : program.commands) {
      out += command_line(condition, last_word(command.name), summary(command.text));
    }
  }
  if (has_commands) {
    out +=
        command_line(first, "help", "Show the help of a command") + command_line(first, "version", "Show the version");
  }
  for (const Command& command : program.commands) {
    const std::string condition = "__fish_seen_subcommand_from " + last_word(command.name);
    for (const Option& option : command.options) out += option_line(program.name, condition, option);
    if (!command.options.empty()) continue;
    // A command without options is a separate program. fish completes it as it completes that program's command line.
    out += "complete -c " + program.name + " -n " + fish_quoted(condition) + " -a " +
           fish_quoted("(complete -C \"" + hyphenated(command.name) + " \"(commandline -ct))") + "\n";
  }
  return out;
}

}  // namespace linformer::help
