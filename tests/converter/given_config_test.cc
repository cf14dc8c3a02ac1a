// Tests --config with a pipe instead of a file, such as the pipe that a shell makes of `<(...)`.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include "converter/workplace.h"

namespace linformer_test::given_config_test {
namespace {

// Returns a fairseq checkpoint without settings, so that --config must give them.
std::string without_settings() { return torch_zip(TinyFairseq().tensors()); }

// Converts with --config /dev/stdin, where standard input is a pipe that holds `config`.
Run run_with_pipe(const Workplace& place, const std::string& config) {
  write_file(place.path("piped"), config);
  const std::string command = "cat " + place.path("piped") + " | " + LINFORMER_CONVERT + " " + place.path("c.pt") +
                              " -o " + place.path("x.lnfr") + " --config /dev/stdin >" + place.path("out") + " 2>" +
                              place.path("err");
  const int status = std::system(command.c_str());
  return {WEXITSTATUS(status), read_file(place.path("out")), read_file(place.path("err"))};
}

}  // namespace

TEST_CASE("settings may come from a pipe") {
  Workplace place;
  write_file(place.path("c.pt"), without_settings());
  write_file(place.path("config.json"), R"({"encoder_attention_heads": 2})");
  REQUIRE(place.run(place.path("c.pt") + " -o " + place.path("file.lnfr") + " --config " + place.path("config.json"))
              .status == 0);
  const Run piped = run_with_pipe(place, R"({"encoder_attention_heads": 2})");
  CAPTURE(piped.err);
  CHECK(piped.status == 0);
  CHECK(read_file(place.path("x.lnfr")) == read_file(place.path("file.lnfr")));
  const Run wrong = run_with_pipe(place, "{\"encoder_attention_heads\": ");
  CHECK(wrong.status == 1);
  CHECK(contains(wrong.err, "/dev/stdin"));
  const Run device = place.run(place.path("c.pt") + " -o " + place.path("x.lnfr") + " --config /dev/zero");
  CHECK(device.status == 1);  // it never ends
  CHECK(contains(device.err, "/dev/zero is too large for a file of settings"));
  const Run folder = place.run(place.path("c.pt") + " -o " + place.path("x.lnfr") + " --config " + place.path(""));
  CHECK(folder.status == 1);
  CHECK(contains(folder.err, " is a folder: give a file of settings"));
  const Run absent = place.run(place.path("c.pt") + " -o " + place.path("x.lnfr") + " --config absent.json");
  CHECK(absent.status == 1);
  CHECK(contains(absent.err, "absent.json does not exist"));
}

TEST_CASE("a pipe named config.json beside the checkpoint is refused without waiting for it") {
  Workplace place;
  std::filesystem::create_directory(place.path("model"));
  write_file(place.path("model/model.pt"), without_settings());
  REQUIRE(::mkfifo(place.path("model/config.json").c_str(), 0600) == 0);
  const Run run = place.run(place.path("model") + " -o " + place.path("x.lnfr"));
  CHECK(run.status == 1);
  CHECK(contains(run.err, "config.json is not a regular file"));
}

}  // namespace linformer_test::given_config_test
