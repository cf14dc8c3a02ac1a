#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <new>
#include <string_view>
#include <vector>

#include "answers/output.h"
#include "command_line/display.h"
#include "command_line/errors.h"
#include "commands/commands.h"
#include "commands/flags/output_flags.h"
#include "commands/flags/run_flags.h"
#include "commands/program/help_texts.h"
#include "commands/program/run_converter.h"
#include "files/signals.h"
#include "files/write_error.h"
#include "help/command_table.h"
#include "input_files/lost_file.h"
#include "linformer/edit_distance.h"
#include "linformer/session_options.h"
#include "system/descriptors.h"
#include "system/process.h"
#include "system/terminal.h"
#include "usage.h"

namespace linformer::cli {
namespace {

constexpr char version[] = "linformer " LINFORMER_VERSION;

// Returns the message as one line. Control characters, which may come from the names and contents of files, are
// replaced.
std::string error_line(const std::string& sentence) { return "linformer: " + excerpt(sentence, 2000) + "\n"; }

int print_error(int code, const std::string& sentence) {
  std::fputs(error_line(sentence).c_str(), stderr);
  return code;
}

// Returns the message that is printed if a truncated file ends the program. The message first clears the line of the
// terminal, because the progress may be shown in that line.
files::FinalMessage final_message(const std::string& sentence) {
  return {"", (system::is_terminal(system::standard_error) ? "\r\033[K" : "") + error_line(sentence)};
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

// Returns the command that a misspelt name probably means, or an empty string if no command is similar.
std::string command_like(const std::vector<std::string>& names, const std::string& given) {
  std::string best;
  size_t least = convert::most_changes + 1;
  for (const std::string& name : names) {
    const size_t changes = given.size() > convert::longest_name ? least : convert::changes_between(given, name);
    // If half of the letters differ, it is probably another word.
    if (changes >= least || 2 * changes >= name.size()) continue;
    least = changes;
    best = name;
  }
  return best;
}

std::string no_command(const CLI::App& app, const std::string& given) {
  std::vector<std::string> names = command_names(app);
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  names.insert(names.end(), {"help", "version"});
  const std::string like = command_like(names, given);
  return "there is no command '" + given + "'" + (like.empty() ? "" : " (did you mean " + like + "?)") +
         ": give one of " + list;
}

// Replaces the commands `help` and `version` by the options --help and --version, and `help COMMAND` by `COMMAND
// --help`.
std::vector<char*> without_aliases(std::vector<char*> arguments) {
  static char help[] = "--help", version_option[] = "--version";
  const std::string_view first = arguments.size() > 1 ? arguments[1] : "";
  if (first == "version") arguments[1] = version_option;
  if (first == "help") {
    arguments.erase(arguments.begin() + 1);
    arguments.insert(arguments.begin() + (arguments.size() > 1 ? 2 : 1), help);
  }
  return arguments;
}

int print_text(const std::string& text) {
  standard_output().write(text);
  standard_output().flush();
  return exit_ok;
}

int parse_and_run(const std::vector<char*>& arguments) {
  const int argument_count = static_cast<int>(arguments.size());
  CLI::App app("Classifies, embeds and ranks texts. To make a model file: linformer convert CHECKPOINT -o MODEL.lnfr",
               "linformer");
  app.allow_windows_style_options(false);  // An argument that begins with / is a path on every system.
  app.set_version_flag("-V,--version", version);
  app.require_subcommand(1);
  Run run;
  // Only the options of the chosen command are declared, because declaring the options of all commands takes longer
  // than answering a short text.
  add_commands(&app, &run, argument_count > 1 ? arguments[1] : "");
  try {
    app.parse(argument_count, arguments.data());
  } catch (const CLI::CallForHelp&) {
    if (app.get_subcommands().empty() && argument_count > 1 && arguments[1][0] != '-') {
      return print_error(exit_usage, no_command(app, arguments[1]));
    }
    return print_text(app.help());
  } catch (const CLI::CallForAllHelp&) {
    return print_text(app.help("", CLI::AppFormatMode::All));
  } catch (const help::FormattedHelp& formatted) {
    return print_text(formatted.text);
  } catch (const CLI::CallForVersion&) {
    return print_text(std::string(version) + "\n");
  } catch (const CLI::ParseError& error) {
    const auto chosen = app.get_subcommands();
    if (chosen.empty() && argument_count > 1 && arguments[1][0] != '-')
      return print_error(exit_usage, no_command(app, arguments[1]));
    const std::string help = "linformer " + (chosen.empty() ? "" : chosen[0]->get_name() + " ") + "--help";
    const std::string sentence =
        usage_sentence(chosen.empty() ? app : *chosen[0], error, {arguments.begin() + 1, arguments.end()});
    return print_error(exit_usage, sentence + "; see '" + help + "'");
  }
  // LINFORMER_ISA is checked even if the command computes nothing or has --isa, because a user who set it expects it to
  // have an effect.
  if (const Status environment = check_environment(); !environment.ok()) {
    return print_error(exit_usage, environment.message());
  }
  const int code = run();
  standard_output().flush();
  return code;
}

}  // namespace

void add_commands(CLI::App* app, Run* run, std::string_view only) {
  struct Command {
    std::string_view name;
    void (*add)(CLI::App* app, Run* run);
  };
  static constexpr Command commands[] = {
      {"classify", add_classify},   {"encode", add_encode},   {"embed", add_embed},
      {"fill-mask", add_fill_mask}, {"tag", add_tag},         {"answer", add_answer},
      {"rerank", add_rerank},       {"search", add_search},   {"perplexity", add_perplexity},
      {"tokenize", add_tokenize},   {"inspect", add_inspect}, {"compare", add_compare},
      {"spectrum", add_spectrum},   {"bench", add_bench}};
  const bool one = std::any_of(std::begin(commands), std::end(commands),
                               [only](const Command& command) { return command.name == only; });
  for (const Command& command : commands) {
    if (!one || command.name == only) command.add(app, run);
  }
  for (CLI::App* command : app->get_subcommands([](const CLI::App*) { return true; })) {
    add_no_mmap_flag(command);
    // `inspect` has no --quiet and --verbose, because it prints no notes.
    if (command->get_name() != "inspect") add_verbosity_flags(command);
    help::set_help(command, [name = command->get_name()] { return help_texts(name); });
  }
  if (one) return;
  // The command `convert` is declared only for the help, because run_program() starts the converter before it parses
  // anything.
  CLI::App* const convert =
      app->add_subcommand("convert", "Make a model file from a checkpoint: runs linformer-convert");
  convert->set_help_flag();
  help::set_help(app, [] { return help_texts(""); });
}

int run_program(int argument_count, char** given) {
  const std::vector<char*> arguments = without_aliases({given, given + argument_count});
  // The converter is started before this process changes its signals, because a started program inherits ignored
  // signals.
  if (argument_count > 1 && std::string_view(arguments[1]) == "convert") {
    std::vector<char*> converters(arguments.begin() + 1, arguments.end());
    converters.push_back(nullptr);
    return print_error(exit_data, exec_converter(converters.data()));
  }
  system::ignore_closed_pipes();
  system::ignore_file_size_signal();
  system::open_missing_standard_streams();
  files::remove_temporary_files_at_signals();
  files::set_final_message(final_message);
  try {
    return parse_and_run(arguments);
  } catch (const OutputClosed&) {
    return exit_ok;
  } catch (const CommandError& error) {
    try {
      standard_output().flush();  // The answers before the error are valid.
    } catch (...) {
    }
    return print_error(error.code(), error.what());
  } catch (const files::WriteError& error) {
    return error.code() == EPIPE ? exit_ok : print_error(exit_data, error.what());
  } catch (const std::bad_alloc&) {
    return print_error(exit_data, "out of memory; lower --batch, --threads, --max-tokens or --max-line-bytes");
  } catch (const std::exception& error) {
    return print_error(exit_data, std::string("unexpected: ") + error.what());
  }
}

}  // namespace linformer::cli
