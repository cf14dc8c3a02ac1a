// What a program's command line takes, as plain data: read from the CLI11 tables that parse it, and written as --help,
// as man pages and as completions.
#pragma once

#include <functional>
#include <string>
#include <vector>

// CLI::App is declared here because including <CLI/CLI.hpp> would take seconds in every file that includes this one.
namespace CLI {
class App;
}

namespace linformer::help {

// What the CLI11 tables don't have.
struct Texts {
  std::vector<std::string> most_used;  // options that --help shows, such as "--input"
  std::vector<std::string> examples;   // command lines; --help shows the first two
  std::vector<std::string> notes;      // paragraphs for --help-all and the man page
};

struct Option {
  std::vector<std::string> names;  // "-i", "--input"; of a positional argument its only name, such as "MODEL"
  std::string value;               // "FILE"; empty for a flag or a positional argument
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

// Gives a command or a program --help, --help-all and --help-format. `texts` is called when one of them is shown.
// Commands that are added to a program afterwards need a call of their own.
void set_help(CLI::App* app, std::function<Texts()> texts);

// Returns what `app` takes; `name` is how it is called, such as "linformer classify".
Command command_of(const CLI::App& app, const std::string& name);

// Thrown while a command line with --help-format is parsed: what is to be printed.
struct FormattedHelp {
  std::string text;
};

}  // namespace linformer::help
