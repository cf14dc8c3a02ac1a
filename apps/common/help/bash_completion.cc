#include <algorithm>

#include "help/formats.h"

namespace linformer::help {
namespace {

std::string words(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : " ") + name;
  return out;
}

std::string pattern(const Option& option) {
  std::string out;
  for (const std::string& name : option.names) out += (out.empty() ? "" : "|") + name;
  return out;
}

// Returns a `case` statement that completes the value of the option in front of the current word, and the assignment of
// all options to the shell variable `options`.
std::string options_of(const Command& command, const std::string& indent) {
  std::string paths, others, all, choices;
  for (const Option& option : command.options) {
    all += (all.empty() ? "" : " ") + words(option.names);
    if (option.value.empty()) continue;
    if (!option.choices.empty()) {
      choices += indent + "  " + pattern(option) + ") _linformer_words '" + words(option.choices) + "'; return ;;\n";
    } else {
      std::string& list = is_path_placeholder(option.value) ? paths : others;
      list += (list.empty() ? "" : "|") + pattern(option);
    }
  }
  std::string out = indent + "case $before in\n" + choices;
  if (!paths.empty()) out += indent + "  " + paths + ") _linformer_files; return ;;\n";
  if (!others.empty()) out += indent + "  " + others + ") return ;;\n";
  return out + indent + "esac\n" + indent + "options='" + all + "'\n";
}

}  // namespace

std::string bash_completion(const Command& program) {
  std::string function = "_" + program.name;
  std::replace(function.begin(), function.end(), '-', '_');
  std::string out = "# Completions of " + program.name + " for bash, written by '" + program.name +
                    " --help-format bash'.\n\n"
                    "_linformer_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$word\"); }\n\n"
                    "_linformer_files() {\n"
                    "  mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
                    "  compopt -o filenames 2>/dev/null\n"
                    "}\n\n" +
                    function +
                    "() {\n"
                    "  COMPREPLY=()\n"
                    "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options=\n"
                    "  # Readline makes a word of the = in --option=value.\n"
                    "  if [[ $word == = ]]; then\n"
                    "    word=\n"
                    "  elif [[ $before == = ]]; then\n"
                    "    before=${COMP_WORDS[COMP_CWORD-2]}\n"
                    "  fi\n";
  if (program.commands.empty()) {
    out += options_of(program, "  ");
  } else {
    std::string names = "help version", options;
    for (const Command& command : program.commands) names += " " + last_word(command.name);
    for (const Option& option : program.options) names += " " + words(option.names);
    out += options_of(program, "  ");
    out += "  if ((COMP_CWORD == 1)); then\n    _linformer_words '" + names + "'\n    return\n  fi\n";
    out += "  case ${COMP_WORDS[1]} in\n";
    for (const Command& command : program.commands) {
      out += "    " + last_word(command.name) + ")\n";
      if (command.options.empty()) {
        // A command without options is a separate program. Its completions are in a file next to this one.
        std::string other = "_" + hyphenated(command.name);
        std::replace(other.begin(), other.end(), '-', '_');
        out += "      declare -F " + other + " >/dev/null || . \"${BASH_SOURCE[0]%/*}/" + hyphenated(command.name) +
               "\" 2>/dev/null\n      if declare -F " + other + " >/dev/null; then\n        " + other +
               "\n        return\n      fi\n";
      } else {
        out += options_of(command, "      ");
      }
      out += "      ;;\n";
    }
    out += "    help) ((COMP_CWORD > 2)) || _linformer_words '" + names.substr(names.find(' ') + 1) + "'; return ;;\n";
    out += "  esac\n";
  }
  out += "  if [[ $word == -* ]]; then\n    _linformer_words \"$options\"\n  else\n    _linformer_files\n  fi\n}\n\n";
  return out + "complete -F " + function + " " + program.name + "\n";
}

}  // namespace linformer::help
