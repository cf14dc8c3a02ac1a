// Makes each write, sync, rename, close and mapping of the programs fail in turn. Afterwards the output is the old file
// or the new one, the error names the file, and there is no temporary file. The same must be true if a signal arrives
// at one of these calls.
#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>

#include "files/faults.h"
#include "files/writing_programs.h"
#include "support/files.h"

namespace linformer_test::io_sweep_test {
namespace {

const std::string old_content = "what was there before";

struct Point {
  std::string kind, path;
  bool of_temporary() const { return path.ends_with(".tmp"); }
};

std::vector<Point> points_of(const std::string& log) {
  std::vector<Point> points;
  for (const std::string& line : lines_of(log)) {
    const size_t space = line.find(' ');
    points.push_back({line.substr(0, space), line.substr(space + 1)});
  }
  return points;
}

// A program with its folder, the output that it writes if nothing fails, and the system calls that it makes.
class Sweep {
 public:
  Sweep(const Folder& folder, const WritingProgram& program, std::map<std::string, int>* tally)
      : folder_(folder), program_(program), tally_(*tally), output_(folder.path("output")) {
    folder_.file("output", old_content);
    entries_ = folder_.names();
    std::sort(entries_.begin(), entries_.end());
    const Ran ran = run(0, "fail");
    CAPTURE(ran.err);
    REQUIRE(ran.code == 0);
    new_content_ = read_file(output_);
    points_ = points_of(read_file(log()));
    CHECK(new_content_ != old_content);
  }

  size_t points() const { return points_.size(); }

  void fail(size_t at) {
    const Point& point = points_[at - 1];
    const Ran ran = run(at, "fail");
    CAPTURE(ran.err);
    // This is the fsync of the folder. The output already has its final name, and only a loss of power could undo the
    // renaming.
    const bool late = point.kind == "fsync" && !point.of_temporary();
    // The converter maps the model file that it wrote, to print which commands the model is for.
    const bool harmless =
        !point.of_temporary() && (point.kind == "close" || (point.kind == "mmap" && point.path == output_));
    CHECK(ran.code == (harmless ? 0 : 1));
    CHECK(read_file(output_) == (harmless || late ? new_content_ : old_content));
    if (!harmless) {
      CHECK(lines_of(ran.err).size() == 1);
      CHECK(ran.err.starts_with("linformer"));
      CHECK(ran.err.find(point.kind == "mmap" ? program_.input : output_) != std::string::npos);
    }
    count(harmless ? "fails, nothing lost" : late ? "error, new file" : "error, old file");
  }

  void signal(size_t at, int number) {
    const Ran ran = run(at, std::to_string(number));
    CHECK(ran.code == 128 + number);
    const std::string content = read_file(output_);
    CHECK((content == old_content || content == new_content_));
    count(content == old_content ? "signal, old file" : "signal, new file");
  }

  // Interrupts a call or cuts it short, so that the program must repeat or continue it.
  void hinder(size_t at, const std::string& how) {
    const Ran ran = run(at, how);
    CAPTURE(ran.err);
    CHECK(ran.code == 0);
    CHECK(read_file(output_) == new_content_);
    count(how + ", new file");
  }

  const Point& point(size_t at) const { return points_[at - 1]; }

 private:
  std::string log() const { return logs_.path("log"); }

  Ran run(size_t at, const std::string& action) {
    folder_.file("output", old_content);
    std::remove(log().c_str());
    Ran ran;
    {
      const Faults faults({{"IO_FOLDER", std::filesystem::path(output_).parent_path().string()},
                           {"IO_LOG", log()},
                           {"IO_AT", std::to_string(at)},
                           {"IO_ACTION", action}});
      ran = program_.run(output_);
    }
    std::vector<std::string> entries = folder_.names();
    std::sort(entries.begin(), entries.end());
    CHECK(entries == entries_);  // no temporary file
    return ran;
  }

  void count(const std::string& outcome) { ++tally_[outcome]; }

  const Folder& folder_;
  const Folder logs_;
  const WritingProgram& program_;
  std::map<std::string, int>& tally_;
  const std::string output_;
  std::string new_content_;
  std::vector<Point> points_;
  std::vector<std::string> entries_;
};

}  // namespace

TEST_CASE("the output is the old or the complete new file if a call fails, is cut short or meets a signal") {
  // Programs inherit the signals that this program ignores, as under nohup.
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_DFL);
  const Folder folder;
  size_t points = 0;
  std::map<std::string, int> tally, kinds;
  for (const WritingProgram& program : writing_programs(folder)) {
    CAPTURE(program.name);
    Sweep sweep(folder, program, &tally);
    points += sweep.points();
    for (size_t at = 1; at <= sweep.points(); ++at) {
      const Point& point = sweep.point(at);
      CAPTURE(point.kind);
      CAPTURE(point.path);
      ++kinds[point.kind];
      sweep.fail(at);
      for (const int number : {SIGINT, SIGTERM, SIGHUP}) sweep.signal(at, number);
      const bool writes = point.kind == "write" || point.kind == "pwrite";
      if (writes) sweep.hinder(at, "short");
      if (writes || point.kind == "fsync" || point.kind == "close") sweep.hinder(at, "interrupt");
    }
  }
  for (const char* kind : {"write", "pwrite", "fsync", "rename", "close", "mmap"}) CHECK(kinds[kind] >= 2);
  CHECK(kinds["write"] > kinds["rename"]);  // files of more than one write
  std::printf("%zu points:", points);
  for (const auto& [kind, number] : kinds) std::printf(" %s %d", kind.c_str(), number);
  std::printf("\n");
  for (const auto& [outcome, number] : tally) std::printf("  %4d runs: %s\n", number, outcome.c_str());
}

TEST_CASE("a limit on the size of files is an error, and SIGXFSZ doesn't end the program") {
  const Folder folder;
  for (const WritingProgram& program : writing_programs(folder)) {
    if (program.name == "spectrum" || program.name == "logits") continue;  // smaller than the limit
    CAPTURE(program.name);
    folder.file("output", old_content);
    const int64_t entries = folder.entry_count();
    std::vector<std::string> words = program.arguments(folder.path("output"));
    words.insert(words.begin(), {"-c", "ulimit -f 4; exec \"$0\" \"$@\"", program.program});
    const Ran ran = run_program("/bin/sh", words);
    CAPTURE(ran.err);
    CHECK(ran.code == 1);
    CHECK(ran.err.find("output: File too large") != std::string::npos);
    CHECK(read_file(folder.path("output")) == old_content);
    CHECK(folder.entry_count() == entries);
  }
}

}  // namespace linformer_test::io_sweep_test
