// Tests the READMEs of the programs and the pages of apps/cli/docs: their links lead to files and headings that exist,
// their command lines have commands and options that exist, each command has a page, and the table of options is right.
#include <doctest/doctest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "cli/process.h"
#include "commands/commands.h"

namespace linformer_test::pages_test {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> pages() {
  std::vector<fs::path> found = {fs::path(LINFORMER_ROOT) / "README.md", fs::path(LINFORMER_ROOT) / "apps/README.md",
                                 fs::path(LINFORMER_ROOT) / "apps/cli/README.md",
                                 fs::path(LINFORMER_ROOT) / "apps/common/help/README.md"};
  for (const auto& entry : fs::directory_iterator(fs::path(LINFORMER_ROOT) / "apps/cli/docs")) {
    found.push_back(entry.path());
  }
  return found;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns the command lines of a page, which stand in code on a line of their own or between backquotes.
std::vector<std::string> command_lines(const std::string& page) {
  static const std::regex code(R"((?:^|\n|\| |`)(?:    )?(?:\$ )?(linformer(?:-convert)? [^\n`]+))");
  std::vector<std::string> lines;
  bool fenced = false;
  std::string kept;
  for (const std::string& line : lines_of(page)) {
    if (line.starts_with("```")) fenced = !fenced;
    const bool whole = line.starts_with("    ") || fenced;
    if (whole || line.find('`') != std::string::npos) kept += line + "\n";
  }
  for (std::sregex_iterator it(kept.begin(), kept.end(), code), end; it != end; ++it) lines.push_back((*it)[1]);
  return lines;
}

// Returns the anchor that GitHub gives a heading.
std::string anchor(const std::string& heading) {
  std::string out;
  for (const char c : heading) {
    if (c == ' ') out += '-';
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_') {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return out;
}

const CLI::App* command_of(CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

bool has_anchor(const std::string& page, const std::string& name) {
  for (const std::string& line : lines_of(page)) {
    if (line.starts_with("#") && anchor(line.substr(std::min(line.size(), line.find(' ') + 1))) == name) return true;
  }
  return false;
}

// Returns the cells of a row of a table.
std::vector<std::string> cells_of(const std::string& row) {
  std::vector<std::string> cells;
  for (size_t begin = 1, end; (end = row.find('|', begin)) != std::string::npos; begin = end + 1) {
    std::string cell = row.substr(begin, end - begin);
    cell.erase(0, cell.find_first_not_of(' '));
    cell.erase(cell.find_last_not_of(' ') + 1);
    cells.push_back(cell);
  }
  return cells;
}

// Returns the texts between backquotes.
std::vector<std::string> quoted_words(const std::string& text) {
  static const std::regex quoted("`([^`]+)`");
  std::vector<std::string> words;
  for (std::sregex_iterator it(text.begin(), text.end(), quoted), end; it != end; ++it) words.push_back((*it)[1]);
  return words;
}

bool has_option(const CLI::App& command, const std::string& name) {
  const CLI::Option* const option = command.get_option_no_throw(name);
  return option != nullptr && !option->get_group().empty();
}

}  // namespace

TEST_CASE("links of the pages lead to files and headings that exist") {
  static const std::regex link(R"(\]\(([^)#: ]*)(#[^) ]+)?\))");
  int links = 0;
  for (const fs::path& path : pages()) {
    const std::string page = text_of(path);
    CAPTURE(path.string());
    for (std::sregex_iterator it(page.begin(), page.end(), link), end; it != end; ++it) {
      const std::string target = (*it)[1], heading = (*it)[2];
      CAPTURE(it->str());
      ++links;
      const fs::path file = target.empty() ? path : path.parent_path() / target;
      CHECK(fs::exists(file));
      if (!heading.empty()) CHECK(has_anchor(text_of(file), heading.substr(1)));
    }
  }
  CHECK(links > 60);
}

TEST_CASE("every command has a page, which the overview links") {
  CLI::App app{"", "linformer"};
  linformer::cli::Run run;
  linformer::cli::add_commands(&app, &run);
  const std::string overview = text_of(fs::path(LINFORMER_ROOT) / "apps/README.md");
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    CAPTURE(command->get_name());
    if (command->get_name() == "convert") continue;
    const std::string page = "cli/docs/" + command->get_name() + ".md";
    CHECK(fs::exists(fs::path(LINFORMER_ROOT) / "apps" / page));
    CHECK(overview.find("[" + command->get_name() + "](" + page + ")") != std::string::npos);
  }
}

TEST_CASE("the command lines of the pages have commands and options that exist") {
  CLI::App app{"", "linformer"};
  linformer::cli::Run run;
  linformer::cli::add_commands(&app, &run);
  const std::string convert = run_program(LINFORMER_CONVERT, {"--help-all"}).out;
  int options = 0;
  for (const fs::path& path : pages()) {
    for (const std::string& line : command_lines(text_of(path))) {
      CAPTURE(path.string());
      CAPTURE(line);
      std::istringstream words(line);
      std::string word, name;
      words >> word;
      const CLI::App* command = &app;
      const bool converter = word == "linformer-convert" || line.starts_with("linformer convert ");
      if (!converter) {
        words >> name;
        if (const bool lower = std::islower(static_cast<unsigned char>(name[0])) != 0;
            lower && name != "help" && name != "version") {
          command = command_of(app, name);
          CHECK_MESSAGE(command != nullptr, name);
          if (command == nullptr) continue;
        }
      }
      while (words >> word && word != "|") {
        if (!word.starts_with("--")) continue;
        ++options;
        CAPTURE(word);
        word = word.substr(0, word.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"));
        if (converter) {
          CHECK(convert.find(word) != std::string::npos);
        } else {
          CHECK((command->get_option_no_throw(word) != nullptr || name == "COMMAND"));
        }
      }
    }
  }
  CHECK(options > 60);
}

TEST_CASE("the table of commands and options equals the programs' options, with a reason for each empty cell") {
  CLI::App app{"", "linformer"};
  linformer::cli::Run run;
  linformer::cli::add_commands(&app, &run);
  const std::string page = text_of(fs::path(LINFORMER_ROOT) / "apps/cli/docs/reading.md");
  std::vector<std::vector<std::string>> rows;
  std::set<std::string> reasons, used, listed;
  for (const std::string& line : lines_of(page.substr(page.find("## Which command has which option")))) {
    if (line.starts_with("| ") && !line.starts_with("| ---")) rows.push_back(cells_of(line));
    if (line.starts_with("- ") && line.find(": ") == 3) reasons.insert(line.substr(2, 1));
  }
  REQUIRE(rows.size() > 10);
  std::vector<const CLI::App*> commands;
  for (size_t i = 1; i < rows[0].size(); ++i) {
    commands.push_back(command_of(app, quoted_words(rows[0][i]).at(0)));
    REQUIRE(commands.back() != nullptr);
  }
  // These are all commands except `convert`, whose options belong to another program.
  CHECK(commands.size() + 1 == app.get_subcommands([](const CLI::App*) { return true; }).size());
  for (size_t r = 1; r < rows.size(); ++r) {
    REQUIRE(rows[r].size() == rows[0].size());
    const std::vector<std::string> options = rows[r][0] == "TEXT" ? rows[r] : quoted_words(rows[r][0]);
    for (size_t o = 0; o < (rows[r][0] == "TEXT" ? 1 : options.size()); ++o) {
      CAPTURE(options[o]);
      listed.insert(options[o]);
      for (size_t i = 1; i < rows[r].size(); ++i) {
        CAPTURE(commands[i - 1]->get_name());
        CHECK(has_option(*commands[i - 1], options[o]) == (rows[r][i] == "yes"));
        if (rows[r][i] == "yes") continue;
        used.insert(rows[r][i]);
        CHECK_MESSAGE(reasons.count(rows[r][i]) == 1, rows[r][i]);
      }
    }
  }
  CHECK(reasons == used);
  std::map<std::string, int> known;
  for (const CLI::App* command : commands) {
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_group().empty() || option->get_lnames().empty()) continue;
      if (!option->get_lnames()[0].starts_with("help")) ++known["--" + option->get_lnames().back()];
    }
  }
  for (const auto& [option, count] : known) CHECK_MESSAGE((count < 3 || listed.count(option) == 1), option);
}

}  // namespace linformer_test::pages_test
