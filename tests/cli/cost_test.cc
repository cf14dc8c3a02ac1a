// Tests that memory and output stay within the multiples of the input's size that apps/cli/docs/cost.md states.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "process.h"
#include "sentiment_model.h"

namespace linformer_test::cost_test {
namespace {

constexpr uint64_t megabyte = 1 << 20;
constexpr uint64_t size = 8 * megabyte / input_divisor;  // bytes of an input
// The memory that the program needs for any input: for its code, libraries and session, and for the copy of this
// process before exec.
constexpr uint64_t rest = 96 * megabyte;

struct Cost {
  int code;
  uint64_t memory, output;  // in bytes
};

Cost cost_of(std::vector<std::string> arguments, const std::string& out) {
  arguments.insert(arguments.begin(), LINFORMER_PROGRAM);
  arguments.insert(arguments.end(), {"--threads", "1"});
  if (arguments[1] == "tokenize") arguments.resize(arguments.size() - 2);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    ::dup2(::open("/dev/null", O_WRONLY), STDERR_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  int status = -1;
  rusage used{};
  ::wait4(pid, &status, 0, &used);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, static_cast<uint64_t>(used.ru_maxrss) * 1024,
          std::filesystem::file_size(out)};
}

std::string repeated(const std::string& unit, uint64_t bytes) {
  std::string text;
  while (text.size() < bytes) text += unit;
  return text;
}

}  // namespace

TEST_CASE("cost: memory and output are at most a multiple of the longest record") {
  const CliFixture f;
  const std::string words = repeated("a ", size), out = f.path("out");
  const std::string text = f.file("in.txt", words + "\n"), json = f.file("in.jsonl", "{\"text\":\"" + words + "\"}\n"),
                    table = f.file("in.csv", "text\n\"" + words + "\"\n");
  for (const std::string& file : {text, json, table}) {
    CAPTURE(file);
    const Cost classified = cost_of({"classify", f.model(), "-i", file}, out);
    CHECK(classified.code == 0);
    CHECK(classified.output < 100);
    if (measures_memory) CHECK(classified.memory < rest + 32 * words.size());
    const Cost embedded = cost_of({"embed", f.model(), "-i", file, "--pooling", "mean", "--json"}, out);
    CHECK(embedded.code == 0);
    if (measures_memory) CHECK(embedded.memory < rest + 32 * words.size());
  }
  const Cost cut = cost_of({"tokenize", f.model(), "-i", text, "--max-tokens", "10"}, out);
  CHECK(cut.code == 0);
  if (measures_memory) CHECK(cut.memory < rest + 32 * words.size());
  const Cost whole = cost_of({"tokenize", f.model(), "-i", text}, out);
  CHECK(whole.code == 0);
  CHECK(whole.output < 16 * words.size());
  if (measures_memory) CHECK(whole.memory < rest + 192 * words.size());
}

TEST_CASE("cost: memory for ids is at most a multiple of the input, in one line or in many") {
  const CliFixture f;
  const std::string out = f.path("out");
  const std::string one = "[5" + repeated(",5", size) + "]\n", many = repeated("[5]\n", size / 2);
  const Cost refused = cost_of({"encode", f.model(), "--ids", f.file("one", one), "-o", f.path("o.npy")}, out);
  CHECK(refused.code == 1);  // the line has more ids than the model takes, which is known only at its end
  if (measures_memory) CHECK(refused.memory < rest + 16 * one.size());
  const Cost held =
      cost_of({"encode", f.model(), "--ids", f.file("many", many), "--what", "pooled", "-o", f.path("o.npy")}, out);
  CHECK(held.code == 0);
  if (measures_memory) CHECK(held.memory < rest + 16 * many.size());
}

}  // namespace linformer_test::cost_test
