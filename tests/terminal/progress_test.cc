// Tests that the progress lines which programs rewrite on a terminal contain no control character of a file's name.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <regex>

#include "cli/sentiment_model.h"
#include "converter/tiny_fairseq.h"
#include "research/spectrum_lapack.h"
#include "support/random_model.h"
#include "terminal/printed.h"
#include "terminal/progress_line.h"

namespace linformer_test::progress_test {

using Arguments = std::vector<std::string>;

namespace {

// Returns the bytes that the program writes to a pseudo-terminal, which is its standard output and its standard error.
std::string shown_on_terminal(const std::string& program, const Arguments& arguments) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  REQUIRE(terminal >= 0);
  REQUIRE(::grantpt(terminal) == 0);
  REQUIRE(::unlockpt(terminal) == 0);
  const std::string name = ::ptsname(terminal);
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const int other_end = ::open(name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  REQUIRE(other_end >= 0);
  termios modes{};
  ::tcgetattr(other_end, &modes);
  modes.c_oflag &= ~static_cast<tcflag_t>(OPOST);  // no carriage return is added to a line feed
  ::tcsetattr(other_end, TCSANOW, &modes);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(other_end, STDOUT_FILENO);
    ::dup2(other_end, STDERR_FILENO);
    ::execv(program.c_str(), argv.data());
    ::_exit(127);
  }
  ::close(other_end);
  std::string shown;
  char buffer[4096];
  for (ssize_t count; (count = ::read(terminal, buffer, sizeof buffer)) > 0;) {
    shown.append(buffer, static_cast<size_t>(count));
  }
  ::close(terminal);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  return shown;
}

// Removes the control characters that the programs' own progress lines need.
std::string without_progress(const std::string& shown) {
  static const std::regex own("\r\x1b\\[K");
  return std::regex_replace(shown, own, "");
}

}  // namespace

TEST_CASE("progress on a terminal contains no control character of a file's name") {
  const Folder folder;
  std::filesystem::create_directory(folder.path(hostile_bytes));
  const std::string place = folder.path(hostile_bytes) + "/" + hostile_bytes, model = place + ".lnfr",
                    full = place + "full.lnfr", checkpoint = place + ".pt";
  write_sentiment_model({}, model);
  RandomModel shape;
  shape.n = shape.d_model = 16;
  shape.heads = 2;
  shape.kinds = {linformer::ProjectionKind::none};
  shape.pad = shape.fairseq_positions = false;
  random_builder(shape).write(full);
  std::string lines;
  for (int i = 0; i < 2000; ++i) lines += "a good film\n";
  const std::string texts = folder.file(hostile_bytes + "/texts.txt", lines);
  folder.file(hostile_bytes + "/" + hostile_bytes + ".pt",
              torch_zip(TinyFairseq().tensors(), TinyFairseq().settings()));
  const std::string ids = folder.file(hostile_bytes + "/ids.jsonl", "[2,5,7,10,3]\n[2,5,7,10,3]\n");
  std::vector<std::pair<std::string, Arguments>> runs = {
      {LINFORMER_PROGRAM, {"bench", model, "--seconds", "0.05", "--n", "4,8"}},
      {LINFORMER_PROGRAM, {"embed", model, "-i", texts, "--pooling", "mean", "-o", place + ".npy"}},
      {LINFORMER_CONVERT, {checkpoint, "-o", place + "made.lnfr"}},
      {LINFORMER_CONVERT, {"--from-lnfr", place + "made.lnfr", "-o", place + ".safetensors"}}};
  if (linformer::research::lapack_problem().empty()) {
    runs.push_back({LINFORMER_PROGRAM,
                    {"spectrum", full, "--ids", ids, "--max-tokens", "3", "--limit", "2", "--csv", place + ".csv"}});
  }
  size_t rewritten = 0;
  for (const auto& [program, arguments] : runs) {
    CAPTURE(arguments[0]);
    const std::string shown = shown_on_terminal(program, arguments);
    rewritten += shown.find('\r') != std::string::npos ? 1 : 0;
    CHECK(terminal_fault(without_progress(shown)) == "");
    if (program != LINFORMER_CONVERT) continue;
    CHECK((shown.find(" % reading") != std::string::npos || shown.find(" % writing") != std::string::npos));
  }
  CHECK(rewritten >= 3);  // otherwise there was no progress to check
}

TEST_CASE("entities are in colour on a terminal that shows colours, unless NO_COLOR is set") {
  const CliFixture f({.token_heads = true});
  const auto shown = [&](const char* terminal, const char* unwanted) {
    ::setenv("TERM", terminal, 1);
    ::setenv("NO_COLOR", unwanted, 1);
    const std::string text = shown_on_terminal(LINFORMER_PROGRAM, {"tag", f.model(), "good film\x1b[2J the plot"});
    ::unsetenv("NO_COLOR");
    return text;
  };
  const std::string colored = shown("xterm", "");
  static const std::regex color("\x1b\\[[0-9;]*m");
  CHECK(colored.find("\x1b[1;36mgood\x1b[0m \x1b[36mGOOD 0.") != std::string::npos);
  CHECK(terminal_fault(std::regex_replace(without_progress(colored), color, "")) == "");
  CHECK(colored.find(" film [2J the plot\n") != std::string::npos);
  for (const auto& [terminal, unwanted] : {std::pair{"xterm", "1"}, std::pair{"dumb", ""}}) {
    const std::string plain = shown(terminal, unwanted);
    CHECK(terminal_fault(without_progress(plain)) == "");
    CHECK(plain.find("[good GOOD 0.") != std::string::npos);
  }
}

namespace {

bool says(const std::string& shown, const char* pattern) { return std::regex_search(shown, std::regex(pattern)); }

// Returns what a command that reads a file of texts shows on a terminal. The command is run on longer and longer files
// until it takes a second. `command` returns its arguments for a file.
std::string shown_of_long_work(const Folder& folder, const std::string& program,
                               const std::function<Arguments(const std::string& texts)>& command) {
  for (size_t count = 4000;; count *= 4) {
    std::string lines;
    for (size_t i = 0; i < count; ++i) lines += "a good film , the bad plot\n";
    const std::string texts = folder.file("texts.txt", lines);
    const auto begin = std::chrono::steady_clock::now();
    const std::string shown = shown_on_terminal(program, command(texts));
    if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(1) || count > 4000000) return shown;
  }
}

}  // namespace

TEST_CASE("work of a second shows its rate and the time left, only the rate from a pipe, and nothing with --quiet") {
  const Folder folder;
  const std::string model = folder.path("model.lnfr"), out = folder.path("out");
  write_sentiment_model({}, model);
  const char* const known = "\\[#*\\.*\\] [0-9]+ % [0-9,]+ records, [0-9.]+ a second, [0-9]+ (s|min) left";
  const std::vector<Arguments> commands = {
      {"classify", "-o", out + ".jsonl"}, {"embed", "--pooling", "mean", "-o", out + ".npy"},
      {"tokenize", "-o", out + ".jsonl"}, {"encode", "--what", "pooled", "-o", out + ".npy"},
      {"perplexity", "--json"},           {"compare", model, "--json"}};
  for (const Arguments& arguments : commands) {
    CAPTURE(arguments[0]);
    const auto command = [&](const std::string& texts) {
      Arguments all = arguments;
      all.insert(all.begin() + 1, model);
      all.insert(all.end(), {"-i", texts});
      return all;
    };
    const std::string shown = shown_of_long_work(folder, LINFORMER_PROGRAM, command);
    CHECK_MESSAGE(says(shown, known), shown.substr(0, 400));
    Arguments quiet = command(folder.path("texts.txt"));
    quiet.push_back("--quiet");
    CHECK_FALSE(says(shown_on_terminal(LINFORMER_PROGRAM, quiet), "a second"));
  }
  const std::string piped = shown_of_long_work(folder, "/bin/sh", [&](const std::string& texts) {
    const std::string program = LINFORMER_PROGRAM;
    return Arguments{"-c", "cat " + texts + " | " + program + " classify " + model + " - -o " + out + ".jsonl"};
  });
  CHECK_MESSAGE(says(piped, "\x1b\\[K[0-9,]+ records, [0-9.]+ a second"), piped.substr(0, 400));
  CHECK_FALSE(says(piped, "left"));
}

TEST_CASE("a length of time is shown in the unit that fits it") {
  CHECK(linformer::terminal::time_text(0.4) == "0 s");
  CHECK(linformer::terminal::time_text(119) == "119 s");
  CHECK(linformer::terminal::time_text(600) == "10 min");
  CHECK(linformer::terminal::time_text(7200) == "2 h");
  CHECK(linformer::terminal::time_text(1e300) == "1000000000 h");
}

}  // namespace linformer_test::progress_test
