// The program linformer-convert, which turns a trained checkpoint into a model file, and a model file back into a
// checkpoint.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <new>
#include <span>
#include <sstream>
#include <string>

#include "convert/arguments.h"
#include "convert/print_report.h"
#include "convert/print_summary.h"
#include "files/hub_name.h"
#include "files/output_target.h"
#include "files/signals.h"
#include "files/terminal_output.h"
#include "help/command_table.h"
#include "input_files/lost_file.h"
#include "input_files/model_uses.h"
#include "input_files/open_model.h"
#include "linformer/convert.h"
#include "linformer/session_options.h"
#include "system/descriptors.h"
#include "system/process.h"
#include "system/terminal.h"
#include "terminal/progress_line.h"
#include "terminal/shown_text.h"
#include "usage.h"

namespace {

using linformer::convert::ConvertOptions;

using linformer::convert::Arguments;
using linformer::convert::exit_usage;

constexpr int exit_bad_input = 1;

// Shows the progress of the conversion on standard error, if that is a terminal.
class ConversionProgress {
 public:
  // `input` is the file that is converted. The rate is computed from its size.
  ConversionProgress(bool shown, const std::string& input) : line_(shown) {
    std::error_code error;
    const uintmax_t bytes =
        std::filesystem::is_regular_file(input, error) ? std::filesystem::file_size(input, error) : 0;
    if (!error) megabytes_ = static_cast<double>(bytes) / 1e6;
  }

  void show(const char* phase, double done) {
    if (phase_ != phase) line_.restart();
    phase_ = phase;
    if (!line_.due()) return;
    std::string text = phase;
    if (megabytes_ > 0 && line_.has_rate()) {
      char rate[40];
      std::snprintf(rate, sizeof rate, ", %.1f MB a second", megabytes_ * done / line_.seconds());
      text += rate;
    }
    line_.show(text, done);
  }
  void clear() { line_.clear(); }

 private:
  linformer::terminal::ProgressLine line_;
  double megabytes_ = 0;
  std::string phase_;
};

// Returns the sentence as one line without control characters. Arguments, file names and contents of files may have
// brought some into it.
std::string one_line(const std::string& sentence) {
  constexpr int widest = 2000;  // In columns.
  return linformer::terminal::excerpt(sentence, widest);
}

int complain_of_usage(const std::string& sentence) {
  std::cerr << "linformer-convert: " << one_line(sentence) << "; see 'linformer-convert --help'\n";
  return exit_usage;
}

// Returns the stream that the report is printed to: standard output, or standard error if the model is written to
// standard output.
std::ostream& report_stream(const Arguments& arguments) {
  return linformer::files::is_standard_output(arguments.convert.output) ? std::cerr : std::cout;
}

int complain(const char* sentence, const Arguments& arguments) {
  if (arguments.json) linformer::convert::print_json_error(sentence, report_stream(arguments));
  std::cerr << "linformer-convert: " << one_line(sentence) << "\n";
  return exit_bad_input;
}

// Returns the message that is printed if a mapped file is truncated. It begins by clearing the line of the terminal,
// which may show progress.
linformer::files::FinalMessage final_message(const std::string& sentence) {
  return {"", (linformer::system::is_terminal(linformer::system::standard_error) ? "\r\033[K" : "") +
                  ("linformer-convert: " + one_line(sentence) + "\n")};
}

linformer::files::FinalMessage final_message_in_json(const std::string& sentence) {
  std::ostringstream json;
  linformer::convert::print_json_error(sentence.c_str(), json);
  return {json.str(), final_message(sentence).error};
}

// Returns the same message as final_message_in_json(), but with the JSON on standard error. It is used if the model is
// written to standard output.
linformer::files::FinalMessage final_message_on_standard_error(const std::string& sentence) {
  const linformer::files::FinalMessage message = final_message_in_json(sentence);
  return {"", message.output + message.error};
}

// Returns the commands that can run the written model. The result is empty if the output can't be read back, for
// example because it is a pipe.
std::vector<linformer::files::ModelUse> uses_of_output(const Arguments& arguments) {
  const std::string& path = arguments.convert.output;
  std::error_code error;
  if (linformer::files::is_standard_output(path) || !std::filesystem::is_regular_file(path, error)) return {};
  linformer::LoadOptions options;
  options.access = arguments.no_mmap ? linformer::Access::read : linformer::Access::map;
  const auto model = linformer::files::open_model(path, options);
  return model.ok() ? linformer::files::commands_that_run(**model) : std::vector<linformer::files::ModelUse>();
}

// Prints the report in the form that the arguments ask for. `more` is the list of commands that can run the model, if a
// model file was written.
template <class Report, class... More>
void print_report(const Report& report, const Arguments& arguments, const More&... more) {
  std::ostream& out = report_stream(arguments);
  if (arguments.json) {
    print_json(report, more..., out);
  } else if (arguments.verbose) {
    print_table(report, more..., out);
  } else if (!arguments.quiet) {
    print_summary(report, more..., out);
  }
}

// Prints the assumptions that may make the model differ from what the user wanted. They are printed even with --quiet.
void warn_of_assumptions(const linformer::convert::Report& report) {
  for (const std::string& caution : report.cautions) std::cerr << "linformer-convert: note: " << caution << "\n";
}

void warn_of_misspellings(const linformer::convert::Report& report) {
  constexpr size_t most = 3;
  std::string names;
  size_t count = 0;
  for (const linformer::convert::UnusedSetting& setting : report.unused_settings) {
    if (setting.did_you_mean.empty() || ++count > most) continue;
    names += (count == 1 ? "" : ", ") + linformer::convert::quote(setting.name) + " in " +
             linformer::convert::escaped(setting.source) + " (did you mean " + setting.did_you_mean + "?)";
  }
  if (count == 0) return;
  if (count > most) names += " and " + std::to_string(count - most) + " more";
  std::cerr << "linformer-convert: note: nothing used the setting" << (count == 1 ? " " : "s ") << names << "\n";
}

// Returns the name that errors and reports give to an option of the converter: the command-line option, such as
// --dtype.
std::string option_name(linformer::convert::Option option, const std::string& value) {
  using linformer::convert::Option;
  static constexpr std::pair<Option, const char*> flags[] = {
      {Option::output, "-o"},           {Option::tokenizer, "--tokenizer"},
      {Option::labels, "--labels"},     {Option::head_kinds, "--head-kind"},
      {Option::config, "--config"},     {Option::dialect, "--dialect"},
      {Option::weight_type, "--dtype"}, {Option::keep, "--dtype-for"},
      {Option::replace_any, "--force"}, {Option::supported_dialects, "--list-dialects"}};
  for (const auto& [known, flag] : flags) {
    if (known == option) return value.empty() ? flag : flag + (" '" + value + "'");
  }
  return value;
}

// Returns an object for Control::guard_mapping. While it exists, the program ends with an error message if another
// process truncates the file.
std::shared_ptr<void> guard_mapping(std::span<const std::byte> bytes, const std::string& path) {
  return std::make_shared<linformer::files::TruncationGuard>(bytes, path);
}

void refuse_hub_name(const std::string& checkpoint) {
  const std::string advice = linformer::files::hub_name_advice(checkpoint);
  if (!advice.empty()) {
    throw linformer::convert::Error(checkpoint + " does not exist. " + advice + " and give that folder");
  }
}

void run(const Arguments& arguments, ConversionProgress* progress) {
  linformer::convert::Control control;
  control.access = arguments.no_mmap ? linformer::Access::read : linformer::Access::map;
  control.guard_mapping = guard_mapping;
  control.option_name = option_name;
  control.progress = [progress](const char* phase, double done) { progress->show(phase, done); };
  if (arguments.list_models) {
    arguments.json ? linformer::convert::print_models_json(std::cout) : linformer::convert::print_models(std::cout);
  } else if (arguments.list_dialects) {
    arguments.json ? linformer::convert::print_dialects_json(std::cout) : linformer::convert::print_dialects(std::cout);
  } else if (!arguments.from_lnfr.empty()) {
    const linformer::convert::ExportReport report = linformer::convert::export_checkpoint(
        {arguments.from_lnfr, arguments.convert.output, arguments.convert.replace_any, control});
    progress->clear();
    print_report(report, arguments);
  } else {
    refuse_hub_name(arguments.convert.checkpoint);
    ConvertOptions options = arguments.convert;
    options.control = control;
    const linformer::convert::Report report = linformer::convert::convert_checkpoint(options);
    progress->clear();
    warn_of_misspellings(report);
    warn_of_assumptions(report);
    print_report(report, arguments, uses_of_output(arguments));
  }
}

}  // namespace

int main(int argc, char** argv) {
  linformer::system::prepare_process(&argc, &argv);
  CLI::App app("Converts a trained Linformer checkpoint to a .lnfr model file, and back.", "linformer-convert");
  app.allow_windows_style_options(false);  // An argument that begins with '/' is a path on every system.
  app.set_version_flag("-V,--version", std::string("linformer-convert ") + LINFORMER_VERSION);
  Arguments arguments;
  linformer::convert::declare(app, &arguments);
  linformer::help::set_help(&app, linformer::convert::help_texts);
  try {
    app.parse(argc, argv);
    linformer::convert::check(app, &arguments);
  } catch (const linformer::help::FormattedHelp& formatted) {
    std::cout << formatted.text << std::flush;
    return std::cout ? 0 : exit_bad_input;
  } catch (const CLI::ParseError& error) {
    const bool asked = error.get_exit_code() == 0;  // The user asked for --help or --version.
    return asked ? app.exit(error) : complain_of_usage(linformer::usage_sentence(app, error, {argv + 1, argv + argc}));
  }

  linformer::files::remove_temporary_files_at_signals();
  linformer::system::ignore_file_size_signal();
  // The environment variables are checked although this program computes nothing, because every program checks them.
  if (const linformer::Status environment = linformer::check_environment(); !environment.ok()) {
    return complain_of_usage(environment.message());
  }
  linformer::files::set_final_message(!arguments.json                           ? final_message
                                      : &report_stream(arguments) == &std::cerr ? final_message_on_standard_error
                                                                                : final_message_in_json);
  ConversionProgress progress(!arguments.quiet,
                              arguments.from_lnfr.empty() ? arguments.convert.checkpoint : arguments.from_lnfr);
  try {
    run(arguments, &progress);
    std::cout.flush();
    if (!std::cout) {
      std::cerr << "linformer-convert: the report could not be printed\n";
      return exit_bad_input;
    }
    return 0;
  } catch (const std::bad_alloc&) {
    progress.clear();
    return complain(
        "there is not enough memory for this conversion, so nothing was written: free some, raise the limit (ulimit "
        "-v), or convert on a larger machine",
        arguments);
  } catch (const std::exception& error) {
    progress.clear();
    return complain(error.what(), arguments);
  }
}
