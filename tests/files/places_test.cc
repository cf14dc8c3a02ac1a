// Tests programs whose output is on a full file system, and programs on a system without /proc. Both need a mount
// namespace, which not every user may create.
#include <doctest/doctest.h>

#include <algorithm>

#include "files/writing_programs.h"
#include "support/files.h"
#include "support/skip.h"

namespace linformer_test::places_test {

using Arguments = std::vector<std::string>;

namespace {

// Runs a shell script in a mount namespace of its own. "$@" in the script is the program with its arguments.
Ran run_in_mount_namespace(const std::string& script, const std::string& program, const Arguments& arguments) {
  Arguments words = {"-m", "sh", "-c", script, "sh", program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return run_program("/usr/bin/unshare", words);
}

const std::string on_full_disk =
    "mkdir -p \"$PLACE\" && mount -t tmpfs -o size=16k none \"$PLACE\" && printf old >\"$PLACE/output\" && "
    "{ \"$@\"; code=$?; } && echo \"$(cat \"$PLACE/output\") $(ls -A \"$PLACE\" | wc -l)\" && exit $code";
const std::string without_proc = "mount -t tmpfs none /proc && exec \"$@\"";

bool can_mount() { return run_in_mount_namespace(without_proc, "/bin/true", {}).code == 0; }

}  // namespace

TEST_SUITE_BEGIN("mounts");

TEST_CASE("a full file system is an error that says so, and only the old file is left") {
  if (!can_mount()) return skip("no rights to mount");
  const Folder folder;
  const std::string place = folder.path("disk");
  ::setenv("PLACE", place.c_str(), 1);
  for (const WritingProgram& program : writing_programs(folder)) {
    if (program.name == "spectrum" || program.name == "logits") continue;  // their outputs fit on the file system
    CAPTURE(program.name);
    const Ran ran = run_in_mount_namespace(on_full_disk, program.program, program.arguments(place + "/output"));
    CAPTURE(ran.err);
    CHECK(ran.code == 1);
    CHECK(lines_of(ran.err).size() == 1);
    CHECK(ran.err.find(place + "/output: No space left on device") != std::string::npos);
    CHECK(ran.out.ends_with("old 1\n"));
  }
  ::unsetenv("PLACE");
}

TEST_CASE("on a system without /proc the answers and files are the same") {
#if defined(__SANITIZE_ADDRESS__)
  return skip("the sanitizer's leak checker reads /proc");
#endif
  if (!can_mount()) return skip("no rights to mount");
  const Folder folder;
  const std::string output = folder.path("output"), model = folder.path("model.lnfr");
  for (const WritingProgram& program : writing_programs(folder)) {
    CAPTURE(program.name);
    REQUIRE(program.run(output).code == 0);
    const std::string expected = read_file(output);
    folder.file("output", "old");
    const Ran ran = run_in_mount_namespace(without_proc, program.program, program.arguments(output));
    CAPTURE(ran.err);
    CHECK(ran.code == 0);
    CHECK(read_file(output) == expected);
  }
  for (const Arguments& arguments :
       {Arguments{"classify", model, "a good film"}, Arguments{"inspect", model, "--memory", "4"},
        Arguments{"compare", model, model, "-i", folder.path("texts.txt")},
        Arguments{"classify", model, "a good film", "--threads", "2"}}) {
    CAPTURE(arguments[0]);
    const Ran ran = run_in_mount_namespace(without_proc, LINFORMER_PROGRAM, arguments);
    CHECK(ran.code == 0);
    CHECK(ran.err == "");
    CHECK(ran.out == run(arguments).out);
  }
  const Ran bench = run_in_mount_namespace(without_proc, LINFORMER_PROGRAM,
                                           {"bench", model, "--seconds", "0.01", "--n", "4", "--json"});
  CAPTURE(bench.err);
  CHECK(bench.code == 0);
  CHECK(nlohmann::json::accept(bench.out));
  // /dev/stdout is a link into /proc, so this output can't be opened.
  const Ran link =
      run_in_mount_namespace(without_proc, LINFORMER_PROGRAM, {"embed", model, "good", "-o", "/dev/stdout"});
  CHECK(link.code == 1);
  CHECK(lines_of(link.err).size() == 1);
}

TEST_SUITE_END();

}  // namespace linformer_test::places_test
