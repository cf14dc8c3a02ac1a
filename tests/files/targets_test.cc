// Tests links, devices, FIFOs, descriptors and long names as outputs of the programs.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "files/writing_programs.h"
#include "support/files.h"

namespace linformer_test::targets_test {
namespace {

namespace fs = std::filesystem;

struct Case {
  const WritingProgram& program;
  std::string expected;  // the bytes of the file
};

std::vector<Case> cases(const Folder& folder, const std::vector<WritingProgram>& programs) {
  std::vector<Case> made;
  for (const WritingProgram& program : programs) {
    CAPTURE(program.name);
    REQUIRE(program.run(folder.path("plain")).code == 0);
    made.push_back({program, read_file(folder.path("plain"))});
  }
  return made;
}

// Returns whether the program can write its file to standard output. With --logits and --dump-masks standard output has
// the answers.
bool can_write_to_stdout(const WritingProgram& program) { return program.name != "logits" && program.name != "masks"; }

// Runs a shell script, in which "$@" is the program with its arguments and the output `output`.
Ran run_shell(const WritingProgram& program, const std::string& output, const std::string& script) {
  std::vector<std::string> words = program.arguments(output);
  words.insert(words.begin(), {"-c", script, "sh", program.program});
  return run_program("/bin/sh", words);
}

}  // namespace

TEST_CASE("a symbolic link stays, and the file that it points to is replaced in its own folder") {
  const Folder inputs, folder;
  const std::vector<WritingProgram> programs = writing_programs(inputs);
  fs::create_directory(folder.path("there"));
  fs::create_symlink("there/second", folder.path("first"));
  fs::create_symlink("target", folder.path("there/second"));
  for (const Case& c : cases(inputs, programs)) {
    CAPTURE(c.program.name);
    for (const bool dangling : {false, true}) {
      fs::remove(folder.path("there/target"));
      if (!dangling) folder.file("there/target", "old");
      CHECK(c.program.run(folder.path("first")).code == 0);
      CHECK(read_file(folder.path("there/target")) == c.expected);
      CHECK(fs::is_symlink(folder.path("first")));
      CHECK(fs::is_symlink(folder.path("there/second")));
    }
  }
}

TEST_CASE("devices and FIFOs are written to, through links too, and never replaced") {
  const Folder inputs, folder;
  const std::vector<WritingProgram> programs = writing_programs(inputs);
  fs::create_symlink("/dev/null", folder.path("null"));
  fs::create_symlink("/dev/full", folder.path("full"));
  REQUIRE(::mkfifo(folder.path("fifo").c_str(), 0600) == 0);
  for (const Case& c : cases(inputs, programs)) {
    CAPTURE(c.program.name);
    if (c.program.name == "logits") {
      CHECK(c.program.run("/dev/null").code == 2);
      continue;
    }
    CHECK(c.program.run(folder.path("null")).code == 0);
    CHECK(c.program.run(folder.path("full")).code == 1);
    CHECK(fs::is_symlink(folder.path("null")));
    CHECK(fs::is_symlink(folder.path("full")));
    CHECK(fs::is_character_file("/dev/null"));
    const std::string fifo = folder.path("fifo"), got = folder.path("got");
    const Ran ran = run_shell(c.program, fifo, "cat '" + fifo + "' >'" + got + "' & \"$@\" && wait");
    CHECK(ran.code == 0);
    CHECK(fs::is_fifo(fifo));
    CHECK(read_file(got) == c.expected);
  }
}

TEST_CASE("- and /dev/stdout mean standard output for every program, or are refused") {
  const Folder inputs, folder;
  const std::vector<WritingProgram> programs = writing_programs(inputs);
  for (const Case& c : cases(inputs, programs)) {
    CAPTURE(c.program.name);
    const fs::path before = fs::current_path();
    fs::current_path(folder.path(""));
    for (const char* name : {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
      CAPTURE(std::string(name));
      const Ran ran = c.program.run(name);
      CHECK(ran.code == (can_write_to_stdout(c.program) ? 0 : 2));
      CHECK(ran.out == (can_write_to_stdout(c.program) ? c.expected : ""));
      if (!can_write_to_stdout(c.program)) continue;
      // If standard output is a file that is not empty, the output is appended and nothing is replaced.
      const std::string got = folder.path("got");
      CHECK(run_shell(c.program, name, "{ printf before; \"$@\"; } >'" + got + "'").code == 0);
      CHECK(read_file(got) == "before" + c.expected);
    }
    CHECK(!fs::exists("-"));
    fs::current_path(before);
  }
}

TEST_CASE("names of up to 255 bytes are accepted, and longer names are refused at once") {
  const Folder inputs, folder;
  const std::vector<WritingProgram> programs = writing_programs(inputs);
  for (const Case& c : cases(inputs, programs)) {
    CAPTURE(c.program.name);
    for (const size_t length : {250u, 252u, 253u, 254u, 255u}) {
      std::string name(length, 'x');
      // Characters of several bytes stand around the place where a temporary name would be cut.
      for (size_t i = 61; i + 2 < 80; i += 3) name.replace(i, 3, "\xe2\x82\xac");
      CHECK(c.program.run(folder.path(name)).code == 0);
      CHECK(read_file(folder.path(name)) == c.expected);
      fs::remove(folder.path(name));
    }
    const Ran ran = c.program.run(folder.path(std::string(256, 'x')));
    CHECK(ran.code == 1);
    CHECK(ran.err.find("File name too long") != std::string::npos);
    CHECK(folder.entry_count() == 0);
  }
}

TEST_CASE("an output has the mode of any new file") {
  const Folder inputs, folder;
  const std::vector<WritingProgram> programs = writing_programs(inputs);
  const mode_t mask = ::umask(026);
  for (const WritingProgram& program : programs) {
    CAPTURE(program.name);
    CHECK(program.run(folder.path("file")).code == 0);
    struct stat facts {};
    REQUIRE(::stat(folder.path("file").c_str(), &facts) == 0);
    CHECK((facts.st_mode & 0777) == 0640);
    fs::remove(folder.path("file"));
  }
  ::umask(mask);
}

TEST_CASE("an output with the ending of another format is refused before anything is read") {
  const Folder inputs, folder;
  for (const WritingProgram& program : writing_programs(inputs)) {
    CAPTURE(program.name);
    std::vector<std::string> words = program.arguments(folder.path("out.PNG"));
    std::erase(words, "--force");  // with --force, linformer-convert accepts any name
    const Ran ran = run_program(program.program, words);
    CHECK(ran.code == 2);
    CHECK(ran.out == "");
    CHECK(ran.err.find("out.PNG would hold ") != std::string::npos);
    CHECK(ran.err.find(" and not a PNG image: end its name in .") != std::string::npos);
    CHECK(folder.entry_count() == 0);
    CHECK(program.run(folder.path("out.mine")).code == 0);
    fs::remove(folder.path("out.mine"));
  }
}

}  // namespace linformer_test::targets_test
