// Compares the help of the real programs with the tables that parse their command lines.
#include <doctest/doctest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

#include "cli/process.h"
#include "commands/commands.h"
#include "commands/program/help_texts.h"
#include "help/command_table.h"

namespace linformer_test::help_test {
namespace {

using linformer::cli::help_texts;

struct Table {
  CLI::App app{"", "linformer"};
  linformer::cli::Run run;
  Table() { linformer::cli::add_commands(&app, &run); }
  std::vector<CLI::App*> commands() {
    std::vector<CLI::App*> found;
    for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
      if (command->get_name() != "convert") found.push_back(command);
    }
    return found;
  }
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Returns the name as it is written in troff.
std::string with_minus(const std::string& name) {
  std::string out;
  for (const char c : name) out += c == '-' ? "\\-" : std::string(1, c);
  return out;
}

std::set<std::string> words_of(const std::string& text) {
  std::set<std::string> words;
  std::string word;
  for (const char c : text + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_') {
      word += c;
    } else {
      words.insert(std::move(word));
      word.clear();
    }
  }
  return words;
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const size_t from = text.find(begin);
  if (from == std::string::npos) return "";
  return text.substr(from, text.find(end, from + begin.size()) - from);
}

void check_screen(const std::string& help) {
  const std::vector<std::string> lines = lines_of(help);
  CHECK(lines.size() <= 24);
  for (const std::string& line : lines) CHECK_MESSAGE(line.size() <= 100, line);
}

}  // namespace

TEST_CASE("every option of every command is in --help-all, the man page and all completions") {
  Table table;
  const std::string bash = run({"--help-format", "bash"}).out, zsh = run({"--help-format", "zsh"}).out,
                    fish = run({"--help-format", "fish"}).out;
  const std::vector<std::string> fish_lines = lines_of(fish);
  REQUIRE(table.commands().size() > 8);
  for (CLI::App* command : table.commands()) {
    const std::string name = command->get_name();
    CAPTURE(name);
    const Ran all = run({name, "--help-all"}), man = run({name, "--help-format", "man"});
    CHECK(all.code == 0);
    CHECK(man.code == 0);
    const std::string of_bash = between(bash, "    " + name + ")\n", "      ;;\n");
    const std::string of_zsh = between(zsh, "      " + name + ") _arguments", " ;;\n");
    CHECK(has(fish, "-f -a " + name + " -d "));
    const std::set<std::string> bash_words = words_of(of_bash), zsh_words = words_of(of_zsh),
                                help_words = words_of(all.out);
    int options = 0;
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_group().empty()) continue;
      for (const std::string& bare : option->get_lnames()) {
        CAPTURE(bare);
        ++options;
        CHECK(help_words.count("--" + bare) == 1);
        CHECK(has(man.out, "\\fB" + with_minus("--" + bare) + "\\fR"));
        CHECK(bash_words.count("--" + bare) == 1);
        CHECK(zsh_words.count("--" + bare) == 1);
        CHECK(std::any_of(fish_lines.begin(), fish_lines.end(), [&](const std::string& line) {
          return has(line, "'__fish_seen_subcommand_from " + name + "'") && has(line, " -l " + bare + " ");
        }));
      }
      if (option->get_positional() && option->get_lnames().empty()) {
        CHECK(has(all.out, option->get_name(true)));
        CHECK(has(man.out, "\\fB" + option->get_name(true) + "\\fR"));
      }
    }
    CHECK(options > 3);
  }
}

TEST_CASE("--help fits a screen, with two examples") {
  Table table;
  check_screen(run({"--help"}).out);
  check_screen(run_program(LINFORMER_CONVERT, {"--help"}).out);
  for (CLI::App* command : table.commands()) {
    const std::string name = command->get_name();
    CAPTURE(name);
    const std::string help = run({name, "--help"}).out;
    check_screen(help);
    const std::vector<std::string> lines = lines_of(between(help, "\nExamples:\n", "\n\n"));
    CHECK(lines.size() == 4);
    CHECK(has(help, "linformer " + name + " --help-all"));
    const auto texts = help_texts(name);
    CHECK(texts.most_used.size() > 4);
    for (const std::string& option : texts.most_used) {
      CAPTURE(option);
      CHECK(command->get_option_no_throw(option) != nullptr);
      CHECK(has(help, option));
    }
    for (const std::string& example : texts.examples) CHECK(has(run({name, "--help-all"}).out, example));
  }
}

TEST_CASE("the converter's options are in every form of its help") {
  const std::string all = run_program(LINFORMER_CONVERT, {"--help-all"}).out;
  std::set<std::string> names;
  for (const std::string& word : words_of(all)) {
    if (word.starts_with("--")) names.insert(word);
  }
  // These names are written out here because the forms below are all made from one table: an option that is missing
  // from the table would be missing from each of them.
  for (const char* known :
       {"--output", "--tokenizer", "--labels", "--head-kind", "--config", "--dialect", "--dtype", "--dtype-for",
        "--from-lnfr", "--list-dialects", "--list-models", "--json", "--quiet", "--verbose", "--no-mmap", "--force"}) {
    CAPTURE(std::string(known));
    CHECK(names.count(known) == 1);
    for (const char* form : {"bash", "zsh"}) {
      CHECK(words_of(run_program(LINFORMER_CONVERT, {"--help-format", form}).out).count(known) == 1);
    }
    CHECK(has(run_program(LINFORMER_CONVERT, {"--help-format", "man"}).out, with_minus(known)));
    CHECK(has(run_program(LINFORMER_CONVERT, {"--help-format", "fish"}).out, " -l " + std::string(known + 2) + " "));
  }
  CHECK(has(run_program(LINFORMER_CONVERT, {"--help"}).out, "--help-all"));
}

TEST_CASE("the program's help says where a model file comes from, and its man page names its commands' man pages") {
  CHECK(has(run({"--help"}).out, "linformer convert CHECKPOINT -o MODEL.lnfr"));
  const std::string man = run({"--help-format", "man"}).out;
  Table table;
  for (CLI::App* command : table.commands()) {
    CHECK(has(man, "\\fB" + with_minus("linformer-" + command->get_name()) + "\\fR(1)"));
  }
  CHECK(run({"--help-format", "roff"}).code == 2);
  CHECK(has(run({"--help-format", "roff"}).err, "{man,bash,zsh,fish}"));
}

}  // namespace linformer_test::help_test
