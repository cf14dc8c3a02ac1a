// Tests pipes: answers come in time, memory doesn't grow, and writers and readers may go away.
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "process.h"
#include "sentiment_model.h"

namespace linformer_test::stream_test {

using nlohmann::json;

namespace {

std::string label(const std::string& line) { return line.empty() ? "" : json::parse(line).value("label", "ERROR"); }

// Runs `command` and writes `lines` to its input, which stays open. Sends SIGTERM when the file `watched` has `most`
// lines and the program sleeps because it waits for more input: by then it has counted the answers that it wrote. After
// five seconds the signal is sent in any case. Returns what the program wrote to standard error.
std::string stderr_after_sigterm(const CliFixture& f, const std::string& command, const std::string& lines,
                                 const std::string& watched, int most) {
  const std::string script =
      "cd \"$1\" && rm -f in out && mkfifo in && : >out && { \"$0\" " + command +
      " <in >out 2>err & pid=$!; exec 3>in; printf '" + lines + "' >&3; i=0; while { [ \"$(wc -l <" + watched +
      ")\" -lt " + std::to_string(most) +
      " ] || [ \"$(cut -d' ' -f3 /proc/$pid/stat)\" != S ]; } && [ $i -lt 100 ]; do sleep 0.05; i=$((i + 1)); done; "
      "kill -TERM $pid; wait $pid; cat err; }";
  return run_program("/bin/sh", {"-c", script, LINFORMER_PROGRAM, f.path("")}).out;
}

}  // namespace

TEST_CASE("a line is answered before the next one is sent") {
  const CliFixture f;
  for (const std::string& format :
       {std::string("text"), std::string("jsonl"), std::string("csv"), std::string("tsv")}) {
    CAPTURE(format);
    Conversation talk({"classify", f.model(), "--input", "-", "--format", format, "--json", "--batch", "64"});
    const auto record = [&](const std::string& text) {
      return format == "jsonl" ? json{{"text", text}}.dump().append("\n") : text + "\n";
    };
    if (format == "csv" || format == "tsv") CHECK(talk.write("text\n"));
    CHECK(talk.write(record("good film")));
    CHECK(label(talk.read_line()) == "pos");
    // One write has a line and the beginning of the next one.
    CHECK(talk.write(record("bad film") + "a ba"));
    CHECK(label(talk.read_line()) == "neg");
    if (format != "jsonl") {
      CHECK(talk.write("d plot\n"));
      CHECK(label(talk.read_line()) == "neg");
    }
    // The last line has no newline.
    CHECK(talk.write(format == "jsonl" ? std::string("\n").append(json{{"text", "good"}}.dump()) : "good"));
    talk.close_input();
    if (format == "jsonl") CHECK(label(talk.read_line()) == "ERROR");
    CHECK(label(talk.read_line()) == "pos");
    CHECK(talk.wait() == (format == "jsonl" ? 1 : 0));
  }
}

TEST_CASE("tokenize answers line by line too") {
  const CliFixture f;
  Conversation talk({"tokenize", f.model(), "--format", "jsonl"});
  CHECK(talk.write("{\"text\":\"good\"}\n"));
  CHECK(json::parse(talk.read_line())["ids"] == json::parse("[2,5,3]"));
  CHECK(talk.write("{\"text\":\"bad\"}\n"));
  CHECK(json::parse(talk.read_line())["ids"] == json::parse("[2,6,3]"));
  talk.close_input();
  CHECK(talk.wait() == 0);
}

TEST_CASE("memory doesn't grow with the amount of input") {
  const CliFixture f;
  // Bad lines are not collected, and a long text and its windows are freed when they are answered.
  std::string chunk;
  for (int i = 0; i < 400; ++i) chunk += "{\"text\":\"a good film , the plot\"}\nbroken line\n";
  chunk += "{\"text\":\"" + std::string(20000, 'x') + " film film film film film film film film film film film\"}\n";
  const size_t lines = static_cast<size_t>(std::count(chunk.begin(), chunk.end(), '\n'));
  Conversation talk(
      {"classify", f.model(), "-i", "-", "--format", "jsonl", "--json", "--on-long", "window", "--threads", "1"});
  uint64_t warm = 0, bytes = 0;
  for (int round = 0; round < 300 / input_divisor; ++round) {
    REQUIRE(talk.write(chunk));
    bytes += chunk.size();
    for (size_t i = 0; i < lines; ++i) REQUIRE(talk.read_line() != "");
    if (round == 20) warm = talk.resident();
  }
  const uint64_t end = talk.resident();
  CHECK(bytes > 8'000'000 / input_divisor);
  if (measures_memory) {
    CHECK(end < warm + (1 << 20));
    CHECK(end < (64 << 20));
  }
  MESSAGE("resident after " << bytes << " bytes: " << end << ", after a tenth: " << warm);
  talk.close_input();
  CHECK(talk.wait() == 1);
}

TEST_CASE("an endless line takes no more memory than --max-line-bytes allows") {
  const CliFixture f;
  Conversation talk({"classify", f.model(), "-", "--json", "--max-line-bytes", "1000000", "--threads", "1"});
  const std::string block(1 << 20, 'x');
  for (int i = 0; i < 64; ++i) REQUIRE(talk.write(block));
  if (measures_memory) CHECK(talk.resident() < (48 << 20));
  REQUIRE(talk.write("\ngood\n"));
  CHECK(json::parse(talk.read_line())["error"].get<std::string>().find("--max-line-bytes") != std::string::npos);
  CHECK(label(talk.read_line()) == "pos");
}

TEST_CASE("a reader that goes away ends the program quietly") {
  const CliFixture f;
  std::string input;
  for (int i = 0; i < 20000; ++i) input += "good film\n";
  Conversation talk({"classify", f.model(), "-"});
  CHECK(talk.write("good film\n"));
  CHECK(talk.read_line() != "");
  talk.close_output();
  // The program may end while the test still writes.
  talk.write(input);
  talk.close_input();
  CHECK(talk.wait() == 0);
  const Ran closed = run({"classify", f.model(), "-"}, input);
  CHECK(lines_of(closed.out).size() == 20000);
}

TEST_CASE("output that can't be written gives exit code 1") {
  if (::access("/dev/full", W_OK) != 0) return;
  const CliFixture f;
  const std::string ids = f.file("ids.jsonl", "[2, 5, 3]\n");
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"classify", f.model(), "good"},
                                             {"classify", f.model(), "good", "--json"},
                                             {"inspect", f.model()},
                                             {"tokenize", f.model(), "good"},
                                             {"encode", f.model(), "--ids", ids, "-o", "-"},
                                             {"--help"}}) {
    CAPTURE(json(arguments).dump());
    const Ran ran = run_into("/dev/full", arguments);
    CHECK(ran.code == 1);
    CHECK(lines_of(ran.err).size() == 1);
    CHECK(ran.err.find("cannot write standard output: ") != std::string::npos);
  }
  CHECK(run({"encode", f.model(), "--ids", ids, "-o", "/dev/full"}).code == 1);
  CHECK(run({"encode", f.model(), "--ids", ids, "-o", "/dev/null"}).code == 0);
}

TEST_CASE("closed standard output is an error, and its descriptor is not given to another file") {
  const CliFixture f;
  const std::string command = std::string(LINFORMER_PROGRAM) + " classify " + f.model() + " good --logits " +
                              f.path("l.npy") + " >&- 2>/dev/null";
  CHECK(run_program("/bin/sh", {"-c", command}).code == 1);
  CHECK(f.entry_count() == 1);
}

TEST_CASE("an interrupted run says how many records were answered, and that an output file was not written") {
  const CliFixture f;
  const std::string model = f.model();
  CHECK(stderr_after_sigterm(f, "classify " + model + " -", "good\\nbad\\n", "out", 2) ==
        "linformer: interrupted after 2 records were answered\n");
  CHECK(stderr_after_sigterm(f, "embed " + model + " - --json --pooling mean", "good\\n", "out", 1) ==
        "linformer: interrupted after 1 record was answered\n");
  CHECK(stderr_after_sigterm(f, "tokenize " + model + " -", "good\\nbad\\n", "out", 2) ==
        "linformer: interrupted after 2 records were answered\n");
  CHECK(stderr_after_sigterm(f, "fill-mask " + model + " - --top-k 1", "[MASK]\\nbad [MASK]\\nbad\\n", "out", 3) ==
        "linformer: interrupted after 3 records were answered\n");
  // A record that was read without its line end is not answered.
  CHECK(stderr_after_sigterm(f, "classify " + model + " -", "good\\nbad", "out", 1) ==
        "linformer: interrupted after 1 record was answered\n");
  const std::string to_file =
      stderr_after_sigterm(f, "classify " + model + " - -o answers.jsonl --verbose", "good\\n", "out", 1);
  CHECK(to_file == "linformer: interrupted after 1 record was answered; no output file was written\n");
  CHECK_FALSE(std::ifstream(f.path("answers.jsonl")).good());
}

TEST_CASE("an interrupted run leaves no temporary file") {
  const CliFixture f;
  Conversation talk({"classify", f.model(), "-", "--logits", f.path("l.npy")});
  CHECK(talk.write("good\n"));
  CHECK(talk.read_line() != "");
  CHECK(f.entry_count() == 2);
  talk.signal(SIGTERM);
  CHECK(talk.wait() == 128 + SIGTERM);
  CHECK(f.entry_count() == 1);
}

}  // namespace linformer_test::stream_test
