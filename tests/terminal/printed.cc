#include "terminal/printed.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "model/utf8.h"

namespace linformer_test {
namespace {

// Returns the text in ASCII, so that doctest can print it whatever it contains.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace

bool exhaustive() { return std::getenv("LINFORMER_EXHAUSTIVE") != nullptr; }

std::string terminal_fault(const std::string& printed) {
  for (size_t i = 0; i < printed.size(); ++i) {
    const auto byte = static_cast<unsigned char>(printed[i]);
    const bool control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f;
    const bool c1 = byte == 0xc2 && i + 1 < printed.size() && static_cast<unsigned char>(printed[i + 1]) < 0xa0;
    if (control || c1) return "a control character in " + quoted(printed.substr(i < 40 ? 0 : i - 40, 80));
  }
  if (!linformer::is_utf8(printed)) return "no UTF-8: " + quoted(printed.substr(0, 400));
  for (const std::string& line : lines_of(printed)) {
    if (line.starts_with("INJECTED")) return "a line of the input's: " + quoted(line);
  }
  return "";
}

Ran run_and_check_output(const std::string& program, const std::vector<std::string>& arguments,
                         const std::string& input) {
  std::string command;
  for (const std::string& argument : arguments) command += quoted(argument) + " ";
  CAPTURE(command);
  const Ran ran = run_program(program, arguments, input);
  CHECK(terminal_fault(ran.out) == "");
  CHECK(terminal_fault(ran.err) == "");
  CHECK(ran.code >= 0);
  CHECK(ran.code <= 2);
  return ran;
}

std::vector<std::string> listed_options(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> all = arguments, options;
  all.push_back("--help-all");
  for (const std::string& line : lines_of(run_program(program, all).out)) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    const size_t dashes = word.find("--");
    if (!line.starts_with("  -") || dashes == std::string::npos) continue;
    const std::string name = word.substr(dashes, word.find_first_of("=[", dashes) - dashes);
    if (!name.starts_with("--help") && name != "--version") options.push_back(name);
  }
  return options;
}

}  // namespace linformer_test
