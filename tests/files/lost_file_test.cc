// Tests an input that is truncated or replaced while a program reads it, mapped or with --no-mmap.
#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "files/faults.h"
#include "files/writing_programs.h"
#include "support/files.h"

namespace linformer_test::lost_file_test {

using Arguments = std::vector<std::string>;

namespace {

const std::string old_content = "what was there before";

// Runs a program whose input is truncated or replaced at one of the program's calls. tests/long.sh tries every call; CI
// tries the first, the middle and the last one.
class Loss {
 public:
  Loss(const Folder& folder, const WritingProgram& program, Arguments more)
      : folder_(folder), program_(program), more_(std::move(more)), content_(read_file(program.input)) {
    entries_ = sorted_entries();
    const Ran ran = run(0, "fail");
    CAPTURE(ran.err);
    REQUIRE(ran.code == 0);
    new_content_ = read_file(output());
    printed_ = ran.out;
    calls_ = lines_of(read_file(logs_.path("log")));
  }

  // Returns the numbers of the calls to try. The first one is the call that ends the reading of the input: its mmap or
  // its close.
  std::vector<size_t> points(const char* kind) const {
    const auto first = std::find(calls_.begin(), calls_.end(), kind + (" " + program_.input));
    REQUIRE(first != calls_.end());
    std::vector<size_t> points(static_cast<size_t>(calls_.end() - first));
    std::iota(points.begin(), points.end(), static_cast<size_t>(first - calls_.begin()) + 1);
    if (std::getenv("LINFORMER_EXHAUSTIVE") != nullptr) return points;
    return {points.front(), points[points.size() / 2], points.back()};
  }

  // Truncates the input at this call. Returns true if the program ended with an error, and false if its output is
  // right.
  bool truncated(size_t at) {
    const Ran ran = run(at, "truncate");
    CAPTURE(ran.err);
    if (ran.code == 0) {
      CHECK(read_file(output()) == new_content_);
      return false;
    }
    CHECK(ran.code == 1);
    // Answers that were computed before are printed, and are right. Only classify prints answers; the other programs
    // write a file.
    CHECK(printed_.starts_with(ran.out));
    CHECK(lines_of(ran.err).size() == 1);
    CHECK(ran.err.find(program_.input + " was truncated while it was being read") != std::string::npos);
    CHECK(ran.err.find("--no-mmap") != std::string::npos);
    CHECK(read_file(output()) == old_content);
    return true;
  }

  void replaced(size_t at) {
    const Ran ran = run(at, "replace");
    CAPTURE(ran.err);
    CHECK(ran.code == 0);
    CHECK(read_file(output()) == new_content_);
  }

 private:
  std::string output() const { return folder_.path("output"); }

  std::vector<std::string> sorted_entries() const {
    folder_.file("output", old_content);
    std::vector<std::string> entries = folder_.names();
    std::sort(entries.begin(), entries.end());
    return entries;
  }

  Ran run(size_t at, const std::string& action) {
    folder_.file("output", old_content);
    std::filesystem::remove(logs_.path("log"));
    Arguments arguments = program_.arguments(output());
    arguments.insert(arguments.end(), more_.begin(), more_.end());
    Ran ran;
    {
      const Faults faults({{"IO_FOLDER", std::filesystem::path(output()).parent_path().string()},
                           {"IO_LOG", logs_.path("log")},
                           {"IO_AT", std::to_string(at)},
                           {"IO_ACTION", action},
                           {"IO_TARGET", program_.input},
                           {"IO_OTHER", logs_.file("other", "another file")}});
      ran = run_program(program_.program, arguments);
    }
    const std::string written = read_file(output());
    CHECK(sorted_entries() == entries_);  // no temporary file is left
    folder_.file("output", written);
    folder_.file(std::filesystem::path(program_.input).filename().string(), content_);
    return ran;
  }

  const Folder& folder_;
  const Folder logs_;
  const WritingProgram& program_;
  const Arguments more_;
  const std::string content_;
  std::vector<std::string> entries_;
  std::string new_content_, printed_;
  std::vector<std::string> calls_;
};

}  // namespace

TEST_CASE("an input that is truncated while it is mapped is an error, and one that is replaced changes nothing") {
  const Folder folder;
  for (const WritingProgram& program : writing_programs(folder)) {
    CAPTURE(program.name);
    Loss mapped(folder, program, {});
    size_t ended = 0;
    for (const size_t at : mapped.points("mmap")) {
      CAPTURE(at);
      ended += mapped.truncated(at) ? 1 : 0;
      mapped.replaced(at);
    }
    CHECK(ended > 0);
    Loss read(folder, program, {"--no-mmap"});
    for (const size_t at : read.points("close")) {
      CAPTURE(at);
      CHECK(!read.truncated(at));
      read.replaced(at);
    }
  }
}

TEST_CASE("a mapped model that is truncated is an error of every command; with --no-mmap it is read only once") {
  const Folder folder;
  const std::vector<WritingProgram> programs = writing_programs(folder);
  const std::string model = folder.path("model.lnfr"), full = folder.path("full.lnfr"),
                    texts = folder.file("few.txt", "a good film\nbad plot [MASK]\n"),
                    ids = folder.file("few.jsonl", "[2,5,7,3]\n");
  const std::string scores = folder.path("scores.lnfr");
  write_sentiment_model({.numbers = true}, scores);
  std::vector<Arguments> commands = {{"classify", model, "a good film"},
                                     {"classify", model, "a good film", "--json"},
                                     {"embed", model, "a good film", "--json"},
                                     {"fill-mask", model, "a [MASK] film"},
                                     {"rerank", scores, "--query", "film", "good", "bad"},
                                     {"search", model, "--query", "film", "good", "bad"},
                                     {"perplexity", model, "-i", texts},
                                     {"tokenize", model, "a good film"},
                                     {"encode", model, "--ids", ids, "-o", folder.path("new.npy")},
                                     {"inspect", model, "--verify"},
                                     {"inspect", model, "--verify", "--json"},
                                     {"compare", model, model, "-i", texts},
                                     {"bench", model, "--seconds", "0.01", "--n", "4"},
                                     {"bench", model, "--seconds", "0.01", "--n", "4", "--json"}};
  if (programs.back().name == "spectrum") commands.push_back({"spectrum", full, "--ids", ids, "--max-tokens", "3"});
  for (Arguments arguments : commands) {
    const std::string path = arguments[1], content = read_file(path), command = arguments[0];
    CAPTURE(command);
    const auto run_at = [&](const std::string& at, const std::string& only) {
      std::map<std::string, std::string> told = {
          {"IO_FOLDER", path}, {"IO_AT", at}, {"IO_ACTION", "truncate"}, {"IO_TARGET", path}};
      if (!only.empty()) told["IO_ONLY"] = only;
      Ran ran;
      {
        const Faults faults(std::move(told));
        ran = run_program(LINFORMER_PROGRAM, arguments);
      }
      folder.file(std::filesystem::path(path).filename().string(), content);
      return ran;
    };
    const auto check_ended = [&](const Ran& ran) {
      CAPTURE(ran.err);
      CHECK(ran.code == 1);
      // If the process that measures a case fails, `bench` still prints its report.
      if (command != "bench") CHECK(ran.out == "");
      if (arguments.back() == "--json" && !ran.out.empty()) CHECK(nlohmann::json::accept(ran.out));
      CHECK(lines_of(ran.err).size() == 1);
      CHECK(ran.err.find(" was truncated while it was being read") != std::string::npos);
    };
    const int64_t entries = folder.entry_count();
    check_ended(run_at("1", ""));
    if (command == "bench") check_ended(run_at("1", "--case"));  // in the process that measures the case
    CHECK(folder.entry_count() == entries);
    arguments.push_back("--no-mmap");
    const Ran read = run_at("1", "");  // truncated when the program closes the file after reading it
    CAPTURE(read.err);
    // compare and bench open the model a second time, when it is truncated.
    CHECK(read.code == (command == "compare" || command == "bench" ? 1 : 0));
    if (command == "encode") std::filesystem::remove(folder.path("new.npy"));
  }
}

TEST_CASE("a SIGBUS that no truncated file caused ends the program without the error for truncated files") {
  const Folder folder;
  const std::vector<WritingProgram> programs = writing_programs(folder);
  for (const WritingProgram& program : programs) {
    if (program.name != "convert" && program.name != "embed") continue;
    const Faults faults({{"IO_FOLDER", folder.path("")}, {"IO_AT", "3"}, {"IO_ACTION", std::to_string(SIGBUS)}});
    const Ran ran = program.run(folder.path("output"));
    CAPTURE(ran.err);
    CHECK(ran.code != 0);
    CHECK(ran.err.find("was truncated") == std::string::npos);
  }
}

}  // namespace linformer_test::lost_file_test
