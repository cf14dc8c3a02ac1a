#include "layers/folder_rules.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace linformer_test {
namespace {

// The folders from which the converter may include headers: its own, and layers of the runtime, lower layers first
// (rules.cc).
const std::set<std::string> converter_may_include = {"converter", "linformer", "base", "io", "model", "text"};
// The converter's C API reads structs in the same way as the runtime's. Only this folder may include the runtime's
// c_api.
const std::string converter_c_form = "converter/c_api/";
const std::set<std::string> c_headers = {"linformer.h", "stddef.h", "stdint.h"};
// The folders and headers that all programs may include (`files` is also the name of a folder of the converter).
// `programs` has the additional folders of each program. Programs may include only public headers of the library and
// the converter. `bench` and `research`, which are linked into the program `linformer`, may include internal ones.
const std::set<std::string> common_may_include = {"files",        "input_files", "terminal", "system",
                                                  "command_line", "help",        "linformer"};
const std::set<std::string> common_headers = {"usage.h"};
const std::map<std::string, std::set<std::string>> programs = {
    {"apps/cli/", {"answers", "bench", "commands", "evaluation", "input", "inspect", "models", "research"}},
    {"apps/convert/", {"convert"}},
    {"apps/examples/", {}},
    {"apps/train/", {}}};
const std::set<std::string> not_of_converter = {"iostream",  "CLI/CLI.hpp", "signal.h",      "csignal",
                                                "termios.h", "spawn.h",     "sys/resource.h"};
const std::set<std::string> printing_and_exiting_calls = {
    "printf", "vprintf", "puts", "putchar", "perror", "isatty",     "abort",  "exit", "_exit",
    "_Exit",  "raise",   "kill", "signal",  "setenv", "quick_exit", "system", "fork", "sigaction"};
const std::set<std::string> output_streams = {"cout", "cerr", "clog", "stdout", "stderr"};
const std::set<std::string> targets_of_programs = {
    "linformer_files",        "linformer_help",     "linformer_input_files",    "linformer_terminal",
    "linformer_command_line", "linformer_bench",    "linformer_cli_support",    "linformer_convert_support",
    "CLI11::CLI11",           "linformer_research", "linformer_research_lapack"};

bool is_source(const std::string& file) {
  return file.ends_with(".h") || file.ends_with(".cc") || file.ends_with(".c");
}

template <class Callback>
void for_each_include(const std::string& source, Callback&& callback) {
  static const std::regex pattern(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::istringstream in(source);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    std::smatch match;
    if (std::regex_search(line, match, pattern)) callback(number, match[1] == "\"", match[2].str());
  }
}

std::string first_folder(const std::string& path) { return path.substr(0, path.find('/')); }

}  // namespace

Findings check_converter(const std::string& file, const std::string& source) {
  static const std::regex word(R"([A-Za-z_][A-Za-z0-9_]*)");
  Findings findings;
  for_each_include(source, [&](int number, bool quoted, const std::string& target) {
    // The converter may not include the header that flatc generates (schema/), because it belongs to the runtime.
    const std::string folder = first_folder(target);
    const bool known =
        converter_may_include.count(folder) != 0 || (folder == "c_api" && file.starts_with(converter_c_form));
    if (quoted && (target.find('/') == std::string::npos || !known)) {
      findings.push_back({file, number, "includes " + target + ": the converter may include itself and the runtime"});
    } else if (!quoted && not_of_converter.count(target) != 0) {
      findings.push_back({file, number, "includes " + target + ": only programs may use the terminal and the process"});
    }
  });
  // Errors of the converter may not contain option names of a program. The caller supplies the names
  // (converter/option_names.h).
  static const std::regex flag(R"re("(?:[^"\\]|\\.)*--[a-z](?:[^"\\]|\\.)*")re");
  std::istringstream lines(source);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const size_t start = line.find_first_not_of(" \t");
    if (start == std::string::npos || line.compare(start, 2, "//") == 0 || line[start] == '*') continue;
    if (std::regex_search(line, flag)) findings.push_back({file, number, "an error names a program's option"});
  }
  std::istringstream code(without_comments_and_literals(source));
  for (int number = 1; std::getline(code, line); ++number) {
    if (line.find_first_not_of(" \t") != std::string::npos && line[line.find_first_not_of(" \t")] == '#') continue;
    for (std::sregex_iterator it(line.begin(), line.end(), word), end; it != end; ++it) {
      const std::string name = it->str();
      const size_t after = static_cast<size_t>(it->position()) + name.size();
      const bool called = after < line.size() && line[after] == '(';
      if (output_streams.count(name) != 0 || (called && printing_and_exiting_calls.count(name) != 0)) {
        findings.push_back({file, number, "the converter may not use " + name});
      }
    }
  }
  return findings;
}

Findings check_converter_links(const std::string& file, const std::string& cmake) {
  static const std::regex command(R"(target_link_libraries\s*\(\s*([^\s)]+)([^)]*)\))"), name(R"([A-Za-z0-9_:\-]+)");
  Findings findings;
  for (std::sregex_iterator it(cmake.begin(), cmake.end(), command), end; it != end; ++it) {
    const std::string libraries = (*it)[2];
    const int line = 1 + static_cast<int>(std::count(cmake.begin(), cmake.begin() + it->position(), '\n'));
    for (std::sregex_iterator library(libraries.begin(), libraries.end(), name); library != end; ++library) {
      if (targets_of_programs.count(library->str()) == 0) continue;
      findings.push_back({file, line, (*it)[1].str() + " links " + library->str() + ", which belongs to the programs"});
    }
  }
  return findings;
}

Findings check_shared_code(const std::string& file, const std::string& source) {
  Findings findings;
  for_each_include(source, [&](int number, bool quoted, const std::string& target) {
    const bool allowed = target.find('/') == std::string::npos ? common_headers.count(target) != 0
                                                               : common_may_include.count(first_folder(target)) != 0;
    if (!quoted || allowed) return;
    findings.push_back({file, number, "includes " + target + ": shared code may include itself and public headers"});
  });
  return findings;
}

Findings check_converter_header(const std::string& file, const std::string& source) {
  Findings findings;
  for_each_include(source, [&](int number, bool quoted, const std::string& target) {
    if ((!quoted && target.find('/') == std::string::npos &&
         (!target.ends_with(".h") || c_headers.count(target) != 0)) ||
        (quoted && first_folder(target) == "linformer")) {
      return;
    }
    findings.push_back({file, number, "includes " + target + ": a public header may include only public headers"});
  });
  return findings;
}

Findings check_program(const std::string& file, const std::string& source) {
  const auto program =
      std::find_if(programs.begin(), programs.end(), [&](const auto& known) { return file.starts_with(known.first); });
  Findings findings;
  if (program == programs.end()) return findings;
  for_each_include(source, [&](int number, bool quoted, const std::string& target) {
    const std::string folder = first_folder(target);
    const bool allowed = target.find('/') == std::string::npos
                             ? common_headers.count(target) != 0
                             : common_may_include.count(folder) != 0 || program->second.count(folder) != 0;
    if (!quoted || allowed) return;
    findings.push_back({file, number, "includes " + target + ": a program may include only itself and public headers"});
  });
  return findings;
}

Findings check_folder_rules(const std::string& file, const std::string& text) {
  if (file.starts_with("converter/")) {
    if (file.starts_with("converter/include/")) return check_converter_header(file, text);
    if (is_source(file)) return check_converter(file, text);
    if (file.ends_with("CMakeLists.txt")) return check_converter_links(file, text);
  }
  if (file.starts_with("apps/common/") && is_source(file)) return check_shared_code(file, text);
  return is_source(file) ? check_program(file, text) : Findings();
}

}  // namespace linformer_test
