#include <algorithm>
#include <cctype>

#include "help/formats.h"

namespace linformer::help {
namespace {

// Escapes `text` so that troff prints it unchanged: hyphens stay ASCII, quotes stay straight, and no line starts a
// troff request.
std::string escaped(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool begins_line = i == 0 || text[i - 1] == '\n';
    if (begins_line && (c == '.' || c == '\'')) out += "\\&";
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '~':
        out += "\\(ti";
        break;
      case '"':
        out += "\\(dq";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string bold(const std::string& text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + escaped(text) + "\\fR"; }

// Returns `text` in short lines, for people who read the source of the page. troff joins and breaks the lines again.
std::string paragraph(const std::string& text) {
  std::string out;
  for (const std::string& line : wrapped(text, 76)) out += escaped(line) + "\n";
  return out;
}

std::string option_entry(const Option& option) {
  std::string head;
  for (const std::string& name : option.names) head += (head.empty() ? "" : ", ") + bold(name);
  if (!option.value.empty()) head += " " + italic(option.value);
  std::string out = ".TP\n" + head + "\n" + (option.text.empty() ? "\\&\n" : paragraph(option.text));
  if (!option.default_value.empty()) out += "Default: " + bold(option.default_value) + ".\n";
  // If the option's text names all choices, the list of choices is omitted.
  const bool said = std::all_of(option.choices.begin(), option.choices.end(), [&](const std::string& choice) {
    return option.text.find(choice) != std::string::npos || choice == "auto" || choice == "automatic";
  });
  if (said) return out;
  std::string choices;
  for (const std::string& choice : option.choices) choices += (choices.empty() ? "" : ", ") + bold(choice);
  return out + "One of " + choices + ".\n";
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

}  // namespace

std::string man_page(const Command& command, const std::string& version) {
  const std::string name = hyphenated(command.name);
  std::string text = command.text;
  if (!text.empty() && text.back() == '.') text.pop_back();
  // The page has no date, so that builds are reproducible.
  std::string out = ".\\\" Written by '" + command.name + " --help-format man'.\n.TH " + upper(escaped(name)) +
                    " 1 \"\" \"" + escaped(version) + "\" \"User Commands\"\n.SH NAME\n" + escaped(name) + " \\- " +
                    escaped(text) + "\n.SH SYNOPSIS\n" + bold(command.name);
  if (!command.commands.empty()) out += " " + italic("COMMAND");
  const std::string arguments = positional_usage(command);
  if (!arguments.empty()) out += " " + italic(arguments);
  out += " [" + italic("OPTIONS") + "]\n";
  if (!command.texts.notes.empty()) out += ".SH DESCRIPTION\n";
  for (size_t i = 0; i < command.texts.notes.size(); ++i) {
    out += (i == 0 ? "" : ".PP\n") + paragraph(command.texts.notes[i]);
  }
  if (!command.positionals.empty()) out += ".SH ARGUMENTS\n";
  for (const Option& option : command.positionals) out += option_entry(option);
  if (!command.commands.empty()) out += ".SH COMMANDS\n";
  for (const Command& inner : command.commands) {
    out += ".TP\n" + bold(last_word(inner.name)) + "\n" + paragraph(inner.text + ".") + "See " +
           bold(hyphenated(inner.name)) + "(1).\n";
  }
  out += ".SH OPTIONS\n";
  for (const std::string& group : groups_of(command)) {
    if (group != "Options") out += ".SS " + escaped(group) + "\n";  // "Options" is CLI11's default group.
    for (const Option& option : command.options) {
      if (option.group == group) out += option_entry(option);
    }
  }
  if (!command.texts.examples.empty()) out += ".SH EXAMPLES\n.nf\n";
  for (const std::string& example : command.texts.examples) out += escaped(example) + "\n";
  if (!command.texts.examples.empty()) out += ".fi\n";
  out +=
      ".SH \"EXIT STATUS\"\n.TP\n.B 0\nEverything was done.\n.TP\n.B 1\nA model, an input or an output failed, or some "
      "records were bad.\n.TP\n.B 2\nThe command line is wrong; nothing was read or written.\n.SH \"SEE ALSO\"\n";
  return out + ".BR linformer (1),\n.BR linformer\\-convert (1)\n";
}

}  // namespace linformer::help
