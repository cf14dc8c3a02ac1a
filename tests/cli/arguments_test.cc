// Options that go together or do not, before any text is read.
#include <doctest/doctest.h>

#include <fstream>

#include "process.h"
#include "sentiment_model.h"

using namespace linformer_test;
using nlohmann::json;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a dash among the texts is standard input, with fields where its format has them") {
  const CliFixture f;
  const std::string record = "{\"text\":\"good film\",\"pair\":\"bad\",\"k\":\"a\"}\n";
  const Ran dash = run({"classify", f.model(), "-", "--format", "jsonl", "--id", "k", "--json"}, record);
  CHECK(dash.code == 0);
  const Ran input = run({"classify", f.model(), "-i", "-", "--format", "jsonl", "--id", "k", "--json"}, record);
  CHECK(dash.out == input.out);
  CHECK(has(dash.out, "\"id\":\"a\""));
  const Ran text = run({"classify", f.model(), "-", "--id", "k"}, record);
  CHECK(text.code == 2);
  CHECK(has(text.err, "standard input is read as text lines"));
  CHECK(run({"classify", f.model(), "-", "good", "--format", "jsonl", "--id", "k"}, record).code == 2);
  const Ran field = run({"classify", f.model(), "good", "--field", "body"});
  CHECK(field.code == 2);
  CHECK(has(field.err, "--field needs records with fields"));
}

TEST_CASE("tokenize takes the second text of a pair as an argument") {
  const CliFixture f;
  const Ran arguments = run({"tokenize", f.model(), "--text", "good", "--pair-text", "bad film"});
  const Ran record = run({"tokenize", f.model()}, "{\"text\":\"good\",\"pair\":\"bad film\"}\n");
  CHECK(arguments.code == 0);
  CHECK(arguments.out == record.out);
  CHECK(has(arguments.out, "[2,5,3,6,7,3]"));
}

TEST_CASE("tokenize: --no-room words keeps whole words where the special tokens leave no room") {
  const CliFixture f;
  const std::vector<std::string> cut = {"tokenize", f.model(), "--text", "good bad film", "--max-length", "1"};
  const Ran error = run(cut);
  CHECK(error.code == 1);
  CHECK(has(error.out, "max_length is 1, but the special tokens alone are 2"));
  std::vector<std::string> words = cut;
  words.insert(words.end(), {"--no-room", "words"});
  const Ran kept = run(words);
  CHECK(kept.code == 0);
  CHECK(json_lines(kept.out).at(0)["ids"] == json::parse("[2,5,3]"));
}

TEST_CASE("a file that is not there is said before the first one is read") {
  const CliFixture f;
  const std::string there = f.path("there.txt");
  std::ofstream(there) << "good\n";
  const Ran ran = run({"classify", f.model(), "-i", there, "-i", f.path("absent.txt")});
  CHECK(ran.code == 1);
  CHECK(ran.out.empty());
  CHECK(has(ran.err, "absent.txt"));
}

TEST_CASE("an unknown command is named, beside those that there are") {
  const Ran ran = run({"clasify"});
  CHECK(ran.code == 2);
  CHECK(has(ran.err, "there is no command 'clasify': give one of classify, "));
  const Ran help = run({"--help"});
  CHECK(help.code == 0);
  CHECK(has(help.out, "Examples:"));
  CHECK(has(help.out, "Exit status:"));
}

TEST_CASE("ids come back as they were written, and a record without one is not taken for another") {
  const CliFixture f;
  const Ran ran = run({"classify", f.model(), "-", "--format", "jsonl", "--id", "k", "--json"},
                      "{\"text\":\"good\",\"k\":18446744073709551616}\n{\"text\":\"good\",\"k\":1.50}\n"
                      "{\"text\":\"good\",\"k\":2.5}\n{\"text\":\"good\"}\n{\"text\":\"good\",\"k\":4}\n");
  CHECK(ran.code == 1);
  const std::vector<json> lines = json_lines(ran.out);
  REQUIRE(lines.size() == 5);
  CHECK(lines[0]["id"] == "18446744073709551616");
  CHECK(lines[1]["id"] == "1.50");
  CHECK(lines[2]["id"] == 2.5);
  CHECK(lines[3]["id"] == "record 4");
  CHECK(lines[4]["id"] == 4);
}

TEST_CASE("--fail-fast says on standard error why it stopped") {
  const CliFixture f;
  const Ran ran = run({"classify", f.model(), "-", "--format", "jsonl", "--fail-fast"}, "{\"text\":\"good\"}\n[\n");
  CHECK(ran.code == 1);
  CHECK(has(ran.err, "record 2"));
}

TEST_CASE("options without their sense are usage errors") {
  const CliFixture f;
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"--overlap", "3"}, {"--threshold", "nan"}, {"--threshold", "2"}}) {
    std::vector<std::string> arguments = {"classify", f.model(), "good"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const Ran ran = run(arguments);
    CAPTURE(ran.err);
    CHECK(ran.code == 2);
    CHECK(has(ran.err, flags[0]));
  }
}
