// The progress lines that programs rewrite on a terminal hold no control character of a file's name.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <filesystem>
#include <regex>

#include "cli/sentiment_model.h"
#include "converter/tiny_fairseq.h"
#include "research/spectrum_lapack.h"
#include "support/random_model.h"
#include "terminal/printed.h"

using namespace linformer_test;
using Arguments = std::vector<std::string>;

namespace {

// The bytes that the program writes to a pseudo-terminal, which is its standard output and its standard error.
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
  static const std::regex own("\r\x1b\\[K|\r(?=(reading|writing) \\[)|\r {64}\r");
  return std::regex_replace(shown, own, "");
}

}  // namespace

TEST_CASE("progress on a terminal holds no control character of a file's name") {
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
  }
  CHECK(rewritten >= 3);  // otherwise there was no progress to check
}
