#include <doctest/doctest.h>

#include <fstream>

#include "base/description.h"
#include "process.h"
#include "sentiment_model.h"
#include "support/shared_data.h"

namespace linformer_test::tokenize_test {

using nlohmann::json;

TEST_CASE("tokenize: ids, tokens and offsets are printed") {
  const CliFixture f;
  const Ran ran = run({"tokenize", f.model(), "--format", "jsonl"},
                      "{\"text\":\"a Good x.\"}\n{\"text\":\"good\",\"pair\":\"bad film\"}\n");
  CHECK(ran.code == 0);
  const std::vector<json> lines = json_lines(ran.out);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == json::parse(R"({"ids":[2,8,5,1,10,3],"tokens":["[CLS]","a","good","[UNK]",".","[SEP]"],)"
                                R"("offsets":[[0,0],[0,1],[2,6],[7,8],[8,9],[0,0]]})"));
  CHECK(lines[1]["ids"] == json::parse("[2,5,3,6,7,3]"));
  CHECK(lines_of(ran.out)[0].rfind("{\"ids\":[2,8,5,1,10,3],\"tokens\":", 0) == 0);
}

TEST_CASE("tokenize: options change special tokens, length and truncation") {
  const CliFixture f;
  const auto ids = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"tokenize", f.model(), "--format", "jsonl"});
    return json_lines(run(flags, "{\"text\":\"good bad film\",\"pair\":\"a the\"}\n").out).at(0)["ids"].dump();
  };
  CHECK(ids({}) == "[2,5,6,7,3,8,9,3]");
  CHECK(ids({"--no-special"}) == "[5,6,7,8,9]");
  CHECK(ids({"--max-tokens", "7"}) == "[2,5,6,3,8,9,3]");
  CHECK(ids({"--max-tokens", "7", "--truncation", "only_second"}) == "[2,5,6,7,3,8,3]");
  CHECK(ids({"--max-tokens", "6", "--truncation", "only_first"}) == "[2,5,3,8,9,3]");
  CHECK(ids({"--max-tokens", "7", "--side", "tail"}) == "[2,6,7,3,8,9,3]");
  CHECK(ids({"--max-tokens", "4", "--truncation", "none"}) == "[2,5,6,7,3,8,9,3]");
  const Ran text = run({"tokenize", f.model()}, "good\n\nbad\n");
  CHECK(json_lines(text.out).size() == 3);
  CHECK(json_lines(text.out)[1]["ids"] == json::parse("[2,3]"));
  CHECK(json_lines(run({"tokenize", f.model(), "good", "bad"}).out)[1]["ids"] == json::parse("[2,6,3]"));
  const Ran cut = run({"tokenize", f.model(), "good bad film", "--max-tokens", "3"});
  CHECK(json_lines(cut.out)[0]["total_tokens"] == 5);
}

TEST_CASE("tokenize: bad records are answered in their place, and bad options are refused") {
  const CliFixture f;
  const Ran ran = run({"tokenize", f.model(), "--format", "jsonl", "--id", "k"},
                      "{\"text\":\"good\",\"k\":\"a\"}\n[\n{\"text\":\"bad\",\"k\":2}\n");
  CHECK(ran.code == 1);
  const std::vector<json> lines = json_lines(ran.out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0]["id"] == "a");
  CHECK(lines[1].contains("error"));
  CHECK(lines[2]["id"] == 2);
  CHECK(run({"tokenize"}).code == 2);
  CHECK(run({"tokenize", f.model()}).err.find("nothing to tokenize: give texts") != std::string::npos);
  CHECK(run({"tokenize", "--tokenizer", "."}).code == 2);
  CHECK(run({"tokenize", f.model(), "--truncation", "some"}).code == 2);
  CHECK(run({"tokenize", "--tokenizer", f.path("absent"), "good"}).code == 1);
  const CliFixture bare({.tokenizer = false});
  CHECK(run({"tokenize", bare.model(), "good"}).code == 1);
}

TEST_CASE("tokenize: a folder of tokenizer files takes the place of a model") {
  const CliFixture f;
  std::filesystem::create_directory(f.path("files"));
  std::string vocabulary;
  for (const std::string& word : sentiment_words) vocabulary += word + "\n";
  f.file("files/vocab.txt", vocabulary);
  const std::string input = "{\"text\":\"a good film.\"}\n";
  const Ran from_files = run({"tokenize", "--tokenizer", f.path("files"), "--format", "jsonl"}, input);
  if (from_files.err.find("built without the converter") != std::string::npos) return;
  CHECK(from_files.code == 0);
  CHECK(json_lines(from_files.out).at(0) ==
        json_lines(run({"tokenize", f.model(), "--format", "jsonl"}, input).out).at(0));
  // With a folder there is no model, and every argument is a text.
  const Ran texts = run({"tokenize", "--tokenizer", f.path("files"), "a good film.", "bad"});
  CHECK(texts.code == 0);
  REQUIRE(json_lines(texts.out).size() == 2);
  CHECK(json_lines(texts.out)[0]["ids"] == json_lines(from_files.out)[0]["ids"]);
}

TEST_CASE("tokenize: ids equal those of RoBERTa's reference lines" * doctest::test_suite("shared")) {
  const auto files = shared_path("data/tokenizers/roberta-base"),
             goldens = shared_path("data/tokenizer_goldens/bpe.jsonl");
  if (!files || !goldens) return;
  const Ran ran = run({"tokenize", "--tokenizer", *files, "--no-special", "-i", *goldens});
  if (ran.err.find("built without the converter") != std::string::npos) return;
  CHECK(ran.code == 0);
  std::ifstream stream(*goldens);
  size_t checked = 0;
  const std::vector<json> lines = json_lines(ran.out);
  for (std::string line; std::getline(stream, line); ++checked) {
    const json golden = json::parse(line);
    REQUIRE(checked < lines.size());
    for (const char* key : {"ids", "tokens", "offsets"}) CHECK(lines[checked][key] == golden[key]);
  }
  CHECK(checked == lines.size());
  MESSAGE(checked << " lines equal");
}

}  // namespace linformer_test::tokenize_test
