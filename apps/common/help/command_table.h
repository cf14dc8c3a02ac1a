// Describes a program's command line as plain data. The data is copied from the CLI11 tables that parse the command
// line, and is written as --help, as man pages and as completions.
#pragma once

#include <functional>
#include <string>
#include <vector>

// CLI::App is declared here because including <CLI/CLI.hpp> would take seconds in every file that includes this one.
namespace CLI {
class App;
}

namespace linformer::help {

// The texts of a command's help that the CLI11 tables don't contain.
struct Texts {
  std::vector<std::string> most_used;  // The options that --help shows, such as "--input".
  std::vector<std::string> examples;   // Command lines. --help shows the first two.
  std::vector<std::string> notes;      // Paragraphs for --help-all and the man page.
};

struct Option {
  std::vector<std::string> names;  // Such as "-i" and "--input". A positional argument has one name, such as "MODEL".
  std::string value;  // The name of the value, such as "FILE". Empty for a flag and for a positional argument.
  std::vector<std::string> choices;
  std::string default_value, text, group;
  bool required = false, repeated = false;
};

struct Command {
  std::string name, text;
  Texts texts;
  std::vector<Option> positionals, options;
  std::vector<Command> commands;
};

// Adds --help, --help-all and --help-format to a command or a program. `texts` is called when one of these options is
// used. A call for a program adds no options to its commands.
void set_help(CLI::App* app, std::function<Texts()> texts);

// Returns the options, arguments and subcommands of `app`. `name` is the full name, such as "linformer classify".
Command command_of(const CLI::App& app, const std::string& name);

// Thrown while a command line with --help-format is parsed. The catcher prints `text` and ends the program.
struct FormattedHelp {
  std::string text;
};

}  // namespace linformer::help
