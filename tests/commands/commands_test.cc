// Runs every command on every kind of model: on the converted goldens, and on random and unusual models.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "base/description.h"
#include "cli/process.h"
#include "commands/command_lines.h"
#include "commands/contract.h"
#include "commands/model_files.h"
#include "support/shared_data.h"

namespace linformer_test::commands_test {

using namespace linformer;

namespace {

// CI runs every `stride_in_ci`-th command line of a model, and different ones on the next model. The test cases whose
// names begin with "complete" run all command lines.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t stride_in_ci = 16;
#else
constexpr size_t stride_in_ci = 5;
#endif
constexpr uint64_t random_models_in_ci = 42;

std::string shell_text(const CommandLine& line) {
  std::string text = "linformer";
  for (const std::string& argument : line.arguments) text += " '" + argument.substr(0, 100) + "'";
  return text;
}

class Runs {
 public:
  explicit Runs(size_t part) : part_(part) {}
  ~Runs() {
    std::string text;
    for (const auto& [command, codes] : codes_) {
      text += "\n  " + command + ":";
      for (const auto& [code, count] : codes) text += " " + std::to_string(count) + " x " + std::to_string(code);
    }
    MESSAGE(models_ << " models, " << lines_ << " command lines at most, " << runs_ << " runs; exit codes" << text);
  }

  void run_all(const ModelFile& model, const std::string& other, const Folder& files) {
    const auto loaded = Model::load(model.path.c_str());
    REQUIRE_MESSAGE(loaded.ok(), model.name << ": " << std::string(loaded.status().message()));
    const std::vector<CommandLine> lines = command_lines(**loaded, model.path, other, files);
    const std::vector<std::string> before = files.names();
    lines_ = std::max(lines_, lines.size());
    for (size_t i = models_ % part_; i < lines.size(); i += part_) run_one(model, lines[i], files, before);
    ++models_;
  }

  // Returns whether a run of the command ended with this exit code.
  bool ended(const std::string& command, int code) const {
    const auto found = codes_.find(command);
    return found != codes_.end() && found->second.contains(code);
  }

 private:
  void run_one(const ModelFile& model, const CommandLine& line, const Folder& files,
               const std::vector<std::string>& before) {
    const Ran ran = run(line.arguments, line.input);
    ++runs_;
    ++codes_[line.arguments[0]][ran.code];
    std::string wrong = breach_of_contract(line, ran);
    // A new file that isn't an output (out.* or masks.jsonl) is a temporary file that the command did not remove.
    for (const std::string& name : files.names()) {
      const bool known = std::find(before.begin(), before.end(), name) != before.end();
      if (known) continue;
      if (!name.starts_with("out.") && name != "masks.jsonl") wrong += "; it left " + name;
      std::filesystem::remove(files.path(name));
    }
    INFO(model.name);
    INFO(shell_text(line));
    INFO("exit code " << ran.code);
    INFO(ran.err.substr(0, 3000));
    INFO(ran.out.substr(0, 1000));
    CHECK_MESSAGE(wrong.empty(), wrong);
  }

  size_t part_, lines_ = 0;
  uint64_t models_ = 0, runs_ = 0;
  std::map<std::string, std::map<int, uint64_t>> codes_;
};

void run_goldens(const std::string& golden, size_t part, size_t least, int most_refused) {
  const Folder models, files;
  int refused = 0;
  const std::vector<ModelFile> all = convert_golden_models(golden, models, &refused);
  CHECK(all.size() >= least);
  CHECK(refused <= most_refused);
  Runs runs(part);
  for (size_t i = 0; i < all.size(); ++i) runs.run_all(all[i], all[(i + 1) % all.size()].path, files);
}

void run_random(uint64_t count, size_t part) {
  const Folder models, files;
  const Folder first;
  const std::string other = write_random_model_file(1, first).path;
  Runs runs(part);
  for (uint64_t index = 0; index < count; ++index) runs.run_all(write_random_model_file(index, models), other, files);
  for (const char* command :
       {"inspect", "classify", "embed", "fill-mask", "perplexity", "encode", "tokenize", "compare", "bench"}) {
    CAPTURE(command);
    CHECK(runs.ended(command, 0));
  }
}

// Returns the number of random models in the complete run: that of the variable LINFORMER_COMMANDS_MODELS, or else 100.
uint64_t random_models() {
  const char* wanted = std::getenv("LINFORMER_COMMANDS_MODELS");
  return wanted == nullptr ? 100 : std::strtoull(wanted, nullptr, 10);
}

}  // namespace

TEST_CASE("commands end as contract.h says on every golden of the tree") {
  run_goldens(golden_cases_folder(), stride_in_ci, 76, 2);
}

TEST_CASE("commands end as contract.h says on random and unusual models") {
  run_random(random_models_in_ci, stride_in_ci);
}

TEST_CASE("commands end as contract.h says on every golden of ../shared" * doctest::test_suite("shared")) {
  if (const auto golden = shared_path("golden")) run_goldens(*golden, stride_in_ci, 58, 4);
}

// tests/long.sh runs the complete cases. They take minutes, and an hour with sanitizers.
TEST_CASE("complete: every command line ends as contract.h says on every golden" * doctest::skip()) {
  run_goldens(golden_cases_folder(), 1, 76, 2);
  if (const auto golden = shared_path("golden")) run_goldens(*golden, 1, 58, 4);
}

TEST_CASE("complete: every command line ends as contract.h says on random and unusual models" * doctest::skip()) {
  run_random(random_models(), 1);
}

}  // namespace linformer_test::commands_test
