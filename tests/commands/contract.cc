#include "commands/contract.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "support/npz.h"

namespace linformer_test {
namespace {

using nlohmann::json;

// The number of lines of each kind on standard error.
struct Said {
  size_t errors = 0;     // lines that say why the command gave up
  size_t records = 0;    // "record 3: ..."
  bool counted = false;  // "2 of 5 records bad"
  std::string unknown_line;  // a line of no known kind
};

Said read(const std::vector<std::string>& lines) {
  static const std::regex record("linformer: record .+: .+"), counted("linformer: [0-9,]+ of [0-9,]+ records bad");
  static const std::regex note(
      "linformer: ([0-9,]+ of ([0-9,]+|the) texts .*|.*: (this looks like|[0-9,]+ of [0-9,]+ lines|.*invalid "
      "UTF-8).*)");
  Said said;
  for (const std::string& line : lines) {
    if (std::regex_match(line, counted)) {
      said.counted = true;
    } else if (std::regex_match(line, note)) {
    } else if (std::regex_match(line, record)) {
      ++said.records;
    } else if (line.starts_with("linformer: ")) {
      ++said.errors;
    } else {
      said.unknown_line = line;
    }
  }
  return said;
}

// Returns whether an error contains a part of an internal message, which tells a user nothing, or says that memory ran
// out, which can't happen with such small models.
bool is_unclear(const std::string& err) {
  for (const char* part : {"unexpected: ", "out of memory", "json.exception", "std::", "basic_string", "vector::"}) {
    if (err.find(part) != std::string::npos) return true;
  }
  return false;
}

std::string wrong_with_errors(const CommandLine& line, const Ran& ran, std::vector<std::string> lines) {
  if (line.profile_json && ran.code == 0) {
    if (lines.empty() || !json::accept(lines.back())) return "the profile is no JSON";
    lines.pop_back();
  }
  const bool profile = std::find(line.arguments.begin(), line.arguments.end(), "--profile") != line.arguments.end();
  const Said said = read(lines);
  if (!profile && !said.unknown_line.empty()) return "standard error has the line '" + said.unknown_line + "'";
  if (is_unclear(ran.err)) return "the error is not clear";
  if (ran.code == 0 && (said.errors > 0 || said.records > 0 || said.counted)) return "an error, but exit code 0";
  if (ran.code == 0) return {};
  if (line.error_is_answer) return json::parse(ran.out).contains("error") ? "" : "no error in the answer";
  if (said.errors > 1) return "more than one error line";
  // With --fail-fast a command stops at the first bad record and gives no count.
  if (said.errors == 0 && !said.counted && said.records != 1) return "no error line";
  return {};
}

std::string wrong_with_answers(const CommandLine& line, const Ran& ran) {
  if (line.answers == StdoutFormat::json_lines) {
    for (const std::string& answer : lines_of(ran.out)) {
      if (!json::accept(answer)) return "a line of standard output is no JSON: " + answer;
    }
  }
  if (line.answers != StdoutFormat::json_object) return {};
  // A command that fails before its first answer prints nothing on standard output.
  if (ran.out.empty() && ran.code != 0) return {};
  return json::accept(ran.out) ? "" : "standard output is no JSON";
}

std::string wrong_with_array(const CommandLine& line, const Ran& ran) {
  if (line.array.empty()) return {};
  if (!std::filesystem::exists(line.array)) return ran.code == 0 ? "the npy file is missing" : "";
  const NpyArray array = parse_npy(read_file(line.array));
  return array.bytes.size() == static_cast<size_t>(array.size()) * sizeof(float) ? "" : "the npy file is not complete";
}

}  // namespace

std::string breach_of_contract(const CommandLine& line, const Ran& ran) {
  if (ran.code < 0 || ran.code > 2) return "exit code " + std::to_string(ran.code);
  if (ran.err.find("Sanitizer") != std::string::npos || ran.err.find("runtime error: ") != std::string::npos) {
    return "a sanitizer's report";
  }
  for (const std::string& wrong : {wrong_with_answers(line, ran), wrong_with_array(line, ran)}) {
    if (!wrong.empty()) return wrong;
  }
  return wrong_with_errors(line, ran, lines_of(ran.err));
}

}  // namespace linformer_test
