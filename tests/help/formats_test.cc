// Tests every form of help with a small table of options, which has all characters that the forms must escape.
#include "help/formats.h"

#include <doctest/doctest.h>

namespace linformer_test::formats_test {
namespace {

using namespace linformer::help;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Command small() {
  Command command;
  command.name = "tool";
  command.text = "Does it's [best]: .always.";
  command.texts = {{"--input"}, {"tool 'a b' -i x", "tool 2", "tool 3"}, {".begins with a dot \\ and \"quotes\""}};
  command.positionals = {{{"MODEL"}, "", {}, "", "A model", "", true, false},
                         {{"TEXT"}, "", {}, "", "Texts", "", false, true}};
  command.options = {{{"-h", "--help"}, "", {}, "", "This", "Help", false, false},
                     {{"-i", "--input"}, "FILE", {}, "", "A user's file [of texts]: any; more", "Input", false, true},
                     {{"--mode"}, "HOW", {"fast", "slow"}, "fast", "How", "Running", false, false},
                     {{"--id"}, "NAME", {}, "", "A name", "Running", false, false}};
  return command;
}

}  // namespace

TEST_CASE("lines are broken between words, and a longer word stays whole") {
  CHECK(wrapped("a bb ccc", 4) == std::vector<std::string>{"a bb", "ccc"});
  CHECK(wrapped("abcdefgh i", 4) == std::vector<std::string>{"abcdefgh", "i"});
  CHECK(wrapped("", 4) == std::vector<std::string>{""});
}

TEST_CASE("the first part of a text ends at a semicolon outside parentheses") {
  CHECK(text_before_semicolon("names (a; b), or a file; default: none; more") == "names (a; b), or a file");
  CHECK(text_before_semicolon("all of it") == "all of it");
  CHECK(summary(std::string(200, 'x') + "; y").size() < 210);
  CHECK(summary("a b; c") == "a b");
}

TEST_CASE("the short help shows the most used options and two examples, and the full help shows all options by group") {
  const std::string brief = short_help(small()), full = full_help(small());
  CHECK(brief.starts_with("Usage: tool MODEL [TEXT...] [OPTIONS]\n"));
  CHECK(has(brief, "  -i,--input FILE"));
  CHECK(!has(brief, "--mode"));
  CHECK(has(brief, "tool 2"));
  CHECK(!has(brief, "tool 3"));
  CHECK(has(full, "\nInput:\n"));
  CHECK(has(full, "  --mode HOW=fast"));
  CHECK(has(full, "tool 3"));
  CHECK(full.find("\nRunning:\n") < full.find("\nHelp:\n"));
}

TEST_CASE("troff finds no requests and no escapes in texts") {
  const std::string page = man_page(small(), "tool 1.0");
  CHECK(has(page, "\n\\&.begins with a dot \\e and \\(dqquotes\\(dq\n"));
  CHECK(has(page, "\ntool \\(aqa b\\(aq \\-i x\n"));
  CHECK(has(page, "\\fB\\-i\\fR, \\fB\\-\\-input\\fR \\fIFILE\\fR"));
  CHECK(has(page, "One of \\fBfast\\fR, \\fBslow\\fR."));
  CHECK(has(page, "Default: \\fBfast\\fR."));
}

TEST_CASE("completions quote characters that their shells would interpret") {
  const std::string bash = bash_completion(small()), zsh = zsh_completion(small()), fish = fish_completion(small());
  CHECK(has(bash, "--mode) _linformer_words 'fast slow'; return ;;"));
  CHECK(has(bash, "-i|--input) _linformer_files; return ;;"));
  CHECK(has(bash, "--id) return ;;"));
  CHECK(has(zsh, "'*'{-i,--input}'[A user'\\''s file \\[of texts\\]\\: any]:FILE:_files'"));
  CHECK(has(zsh, "'(--mode)'--mode'[How]:HOW:(fast slow)'"));
  CHECK(has(fish, "complete -c tool -s i -l input -r -F -d 'A user\\'s file [of texts]: any'"));
  CHECK(has(fish, "complete -c tool -l mode -x -a 'fast slow' -d 'How'"));
}

}  // namespace linformer_test::formats_test
