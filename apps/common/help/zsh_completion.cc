#include "help/formats.h"

namespace linformer::help {
namespace {

// Escapes `text` for single quotes and for the brackets and colons of zsh's _arguments.
std::string zsh_quoted(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string value_of(const Option& option) {
  if (option.value.empty()) return "";
  std::string out = ":" + zsh_quoted(option.value) + ":";
  if (!option.choices.empty()) {
    out += "(";
    for (const std::string& choice : option.choices) out += (out.back() == '(' ? "" : " ") + choice;
    return out + ")";
  }
  return out + (is_path_placeholder(option.value) ? "_files" : " ");
}

// Returns the specifications of all options and arguments for zsh's _arguments. An example is '(-i
// --input)'{-i,--input}'[text]:FILE:_files' on one line.
std::string arguments_of_zsh(const Command& command, const std::string& indent) {
  std::string out;
  for (const Option& option : command.options) {
    std::string all, braces;
    for (const std::string& name : option.names) {
      all += (all.empty() ? "" : " ") + name;
      braces += (braces.empty() ? "" : ",") + name;
    }
    out += " \\\n" + indent;
    if (option.repeated) {
      out += "'*'";
    } else {
      out += "'(" + all + ")'";
    }
    out += (option.names.size() > 1 ? "{" + braces + "}" : braces) + "'[" + zsh_quoted(summary(option.text)) + "]" +
           value_of(option) + "'";
  }
  for (const Option& option : command.positionals) {
    out += " \\\n" + indent + "'" + (option.repeated ? "*" : "") + ":" + zsh_quoted(option.names[0]) + ":" +
           (is_path_placeholder(option.names[0]) ? "_files" : " ") + "'";
  }
  return out;
}

}  // namespace

std::string zsh_completion(const Command& program) {
  std::string out = "#compdef " + program.name + "\n# Completions of " + program.name + " for zsh, written by '" +
                    program.name + " --help-format zsh'.\n\n";
  if (program.commands.empty()) return out + "_arguments" + arguments_of_zsh(program, "  ") + "\n";
  out += "local curcontext=\"$curcontext\" state line\nlocal -a commands=(";
  for (const Command& command : program.commands) {
    out += "\n  '" + last_word(command.name) + ":" + zsh_quoted(summary(command.text)) + "'";
  }
  out += "\n  'help:Show the help of a command'\n  'version:Show the version'\n)\n_arguments -C" +
         arguments_of_zsh(program, "  ") +
         " \\\n  '1:command:->command' \\\n  '*::argument:->argument'\n"
         "case $state in\n  command) _describe command commands ;;\n  argument)\n    case $words[1] in\n"
         "      help) ((CURRENT == 2)) && _describe command commands ;;\n";
  for (const Command& command : program.commands) {
    out += "      " + last_word(command.name) + ") ";
    out += command.options.empty() ? "_" + hyphenated(command.name)  // A separate program.
                                   : "_arguments" + arguments_of_zsh(command, "        ");
    out += " ;;\n";
  }
  return out + "    esac\n    ;;\nesac\n";
}

}  // namespace linformer::help
