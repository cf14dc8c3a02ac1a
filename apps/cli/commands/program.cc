#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <new>

#include "answers/output.h"
#include "base/cpu.h"
#include "command_line/display.h"
#include "command_line/errors.h"
#include "commands/commands.h"
#include "commands/flags/run_flags.h"
#include "files/signals.h"
#include "files/write_error.h"
#include "help_formatter.h"
#include "input_files/lost_file.h"
#include "usage.h"

namespace linformer::cli {
namespace {

constexpr char version[] = "linformer " LINFORMER_VERSION;

// A file opened later must not become standard output or error because the caller closed them.
void fill_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // Read-only, so that writing still fails.
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF && ::open("/dev/null", O_RDONLY) < 0) return;
  }
}

// Returns one line without control characters, which names and contents of files may have put into the sentence.
std::string error_line(const std::string& sentence) { return "linformer: " + excerpt(sentence, 2000) + "\n"; }

int complain(int code, const std::string& sentence) {
  std::fputs(error_line(sentence).c_str(), stderr);
  return code;
}

// The line is cleared first, because the progress may stand in it.
files::FinalMessage final_message(const std::string& sentence) {
  return {"", (::isatty(STDERR_FILENO) == 1 ? "\r\033[K" : "") + error_line(sentence)};
}

std::string no_command(const CLI::App& app, const std::string& name) {
  std::string commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    commands += (commands.empty() ? "" : ", ") + command->get_name();
  }
  return "there is no command '" + name + "': give one of " + commands;
}

int parse_and_run(int argument_count, char** arguments) {
  CLI::App app("Classifies, embeds and completes texts with a Linformer model file (.lnfr).", "linformer");
  app.set_version_flag("--version", version);
  app.require_subcommand(1);
  auto formatter = std::make_shared<HelpFormatter>();
  formatter->column_width(30);
  app.formatter(formatter);
  Run run;
  add_classify(&app, &run);
  add_encode(&app, &run);
  add_embed(&app, &run);
  add_fill_mask(&app, &run);
  add_perplexity(&app, &run);
  add_tokenize(&app, &run);
  add_inspect(&app, &run);
  add_compare(&app, &run);
  add_spectrum(&app, &run);
  add_bench(&app, &run);
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) add_access_flag(command);
  app.footer(
      "linformer COMMAND --help says more.\n\n"
      "Examples:\n"
      "  linformer classify model.lnfr \"A lovely, moving film.\"\n"
      "  linformer classify model.lnfr --input reviews.csv --field review --json\n"
      "  linformer inspect model.lnfr --memory 1024\n\n"
      "Exit status: 0 done, 1 bad input or a bad record, 2 usage.\n");
  try {
    app.parse(argument_count, arguments);
  } catch (const CLI::CallForHelp&) {
    standard_output().write(app.help());
    standard_output().flush();
    return exit_ok;
  } catch (const CLI::CallForVersion&) {
    standard_output().write(std::string(version) + "\n");
    standard_output().flush();
    return exit_ok;
  } catch (const CLI::ParseError& error) {
    const auto chosen = app.get_subcommands();
    if (chosen.empty() && argument_count > 1 && arguments[1][0] != '-')
      return complain(exit_usage, no_command(app, arguments[1]));
    const std::string help = "linformer " + (chosen.empty() ? "" : chosen[0]->get_name() + " ") + "--help";
    const std::string sentence =
        usage_sentence(chosen.empty() ? app : *chosen[0], error, {arguments + 1, arguments + argument_count});
    return complain(exit_usage, sentence + "; see '" + help + "'");
  }
  // Also for what computes nothing or was given --isa: whoever set it believes that it counts.
  if (const Status isa = isa_from_environment().status(); !isa.ok()) return complain(exit_usage, isa.message());
  const int code = run();
  standard_output().flush();
  return code;
}

}  // namespace

int run_program(int argument_count, char** arguments) {
  // A closed pipe is then an error of write(), and temporary files are cleaned up.
  ::signal(SIGPIPE, SIG_IGN);
  // As a full disk does, a limit of a file's size then says so.
  ::signal(SIGXFSZ, SIG_IGN);
  fill_standard_descriptors();
  files::remove_temporary_files_at_signals();
  files::set_final_message(final_message);
  try {
    return parse_and_run(argument_count, arguments);
  } catch (const OutputClosed&) {
    return exit_ok;
  } catch (const CommandError& error) {
    try {
      standard_output().flush();  // the answers before it are good
    } catch (...) {
    }
    return complain(error.code(), error.what());
  } catch (const files::WriteError& error) {
    return error.code() == EPIPE ? exit_ok : complain(exit_data, error.what());
  } catch (const std::bad_alloc&) {
    return complain(exit_data, "out of memory; lower --batch, --threads, --max-tokens or --max-line-bytes");
  } catch (const std::exception& error) {
    return complain(exit_data, std::string("unexpected: ") + error.what());
  }
}

}  // namespace linformer::cli
