#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "layers/rules.h"

namespace linformer_test {
namespace {

// The rooms, which are the folders of the program `linformer` and of the tools that it links, from the lowest to the
// highest. Each has the set of other rooms that its files may include. A new room must be added here.
const std::map<std::string, std::set<std::string>>& rooms() {
  static const std::map<std::string, std::set<std::string>> table = {
      {"command_line", {}},
      {"bench", {"command_line"}},
      {"research", {"command_line", "bench"}},
      {"models", {"command_line"}},
      {"answers", {"command_line", "models"}},
      {"input", {"command_line", "models", "answers"}},
      {"evaluation", {"command_line", "models", "answers", "input"}},
      {"inspect", {"command_line", "models", "answers"}},
      {"commands", {"command_line", "bench", "research", "models", "answers", "input", "evaluation", "inspect"}}};
  return table;
}

// Returns the room of a file, which is named by its path from the source root; "" if the file isn't in a room.
std::string program_folder_of(const std::string& file) {
  for (const std::string folder : {"apps/cli/", "apps/common/", "apps/"}) {
    if (!file.starts_with(folder)) continue;
    const std::string inner = file.substr(folder.size());
    const size_t end = inner.find('/');
    if (end == std::string::npos) return folder == "apps/cli/" ? "commands" : "";  // main.cc starts the commands.
    const std::string name = inner.substr(0, end);
    if (folder == "apps/cli/" || rooms().count(name) != 0) return name;
  }
  return {};
}

constexpr int most_files = 25;

}  // namespace

Findings check_program_includes(const std::string& file, const std::string& source) {
  static const std::regex pattern(R"(^\s*#\s*include\s*"([^"/]+)/[^"]+")");
  const std::string room = program_folder_of(file);
  if (room.empty()) return {};
  const auto known = rooms().find(room);
  if (known == rooms().end()) return {{file, 1, "is in no room of apps/cli that tests/layers lists"}};
  Findings findings;
  std::istringstream in(source);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    std::smatch match;
    if (!std::regex_search(line, match, pattern)) continue;
    const std::string other = match[1];
    if (other == room || rooms().count(other) == 0 || known->second.count(other) != 0) continue;
    findings.push_back({file, number, "room " + room + " may not include room " + other});
  }
  return findings;
}

Findings check_file_count(const std::string& folder, int files) {
  if (!folder.starts_with("apps") && !folder.starts_with("converter")) return {};
  if (folder.starts_with("apps/research/study/results/")) return {};  // The study writes a file for each of its runs.
  if (files <= most_files) return {};
  return {
      {folder, 1,
       std::to_string(files) + " files in one folder: sort them into rooms of at most " + std::to_string(most_files)}};
}

}  // namespace linformer_test
