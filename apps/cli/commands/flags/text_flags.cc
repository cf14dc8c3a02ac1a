#include "commands/flags/text_flags.h"

#include <CLI/CLI.hpp>

#include "command_line/errors.h"

namespace linformer::cli {

void TokenFlags::add_to(CLI::App* command) {
  command->add_option("--side", side, "Which end of a text is kept if the text is cut: head or tail")
      ->type_name("END")
      ->check(CLI::IsMember({"head", "tail"}))
      ->capture_default_str()
      ->group("Tokens");
  add_literal_to(command);
}

void TokenFlags::add_literal_to(CLI::App* command) {
  command
      ->add_flag("--literal-special", literal_special,
                 "Special tokens written inside a text, such as <mask>, are plain characters")
      ->group("Tokens");
}

EncodeOptions TokenFlags::options() const {
  EncodeOptions options;
  options.match_special_tokens = !literal_special;
  options.keep = side == "tail" ? Keep::tail : Keep::head;
  return options;
}

Truncation parse_truncation(const std::string& name) {
  if (name == "none") return Truncation::none;
  if (name == "only_first") return Truncation::only_first;
  return name == "only_second" ? Truncation::only_second : Truncation::longest_first;
}

void LongFlags::add_windows_to(CLI::App* command, const std::string& windows, const std::string& usual_overlap) {
  command->add_option("--on-long", on_long, "If a text is too long: truncate, error or window (" + windows + ")")
      ->type_name("HOW")
      ->check(CLI::IsMember({"truncate", "error", "window"}))
      ->capture_default_str()
      ->group("Tokens");
  command->add_option("--overlap", overlap, "Tokens that neighbouring windows share; default: " + usual_overlap)
      ->type_name("N")
      ->check(CLI::Range(int64_t{0}, int64_t{max_dimension}))
      ->group("Tokens");
}

void LongFlags::add_to(CLI::App* command, const std::string& windows) {
  add_windows_to(command, windows, "a quarter of a window");
  command
      ->add_option("--truncation", truncation,
                   "Which text of a pair is cut, or read in windows: longest_first, only_first or only_second")
      ->type_name("HOW")
      ->check(CLI::IsMember({"longest_first", "only_first", "only_second"}))
      ->capture_default_str()
      ->group("Tokens");
}

OnLong LongFlags::value() const {
  if (overlap >= 0 && on_long != "window") throw UsageError("--overlap goes with --on-long window");
  if (on_long == "error") return OnLong::error;
  return on_long == "window" ? OnLong::window : OnLong::truncate;
}

Truncation LongFlags::pair_truncation() const { return parse_truncation(truncation); }

TextOptions text_options(const RunFlags& run, const TokenFlags& tokens, const LongFlags* longer) {
  const EncodeOptions encode = tokens.options();
  TextOptions options = run.text_options();
  options.add_special_tokens = encode.add_special_tokens;
  options.match_special_tokens = encode.match_special_tokens;
  options.truncation = encode.truncation;
  options.keep = encode.keep;
  if (longer != nullptr) {
    options.on_long = longer->value();
    options.overlap = longer->overlap;
    options.truncation = longer->pair_truncation();
  }
  return options;
}

}  // namespace linformer::cli
