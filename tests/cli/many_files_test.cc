// Inputs of several files, of whole files and of the first records only.
#include <doctest/doctest.h>

#include <filesystem>

#include "arrays.h"
#include "input_files.h"
#include "process.h"
#include "sentiment_model.h"

using namespace linformer_test;
using nlohmann::json;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The ids of the answers.
std::vector<json> ids(const Ran& ran) {
  std::vector<json> ids;
  for (const json& line : json_lines(ran.out)) ids.push_back(line["id"]);
  return ids;
}

std::vector<std::string> labels(const Ran& ran) {
  std::vector<std::string> labels;
  for (const json& line : json_lines(ran.out)) labels.push_back(line.contains("label") ? line["label"] : "ERROR");
  return labels;
}

}  // namespace

TEST_CASE("one -i takes any number of files, and their records are numbered through") {
  const CliFixture f;
  const std::string one = f.file("one.txt", "good\nbad\n"), two = f.file("two.csv", "text\nbad\n"),
                    three = f.file("three.jsonl", "{\"text\":\"good\"}\n{\"text\":1}\n");
  const Ran ran = run({"classify", f.model(), "-i", one, two, "-", three, "--json"}, "good\n");
  CHECK(ran.code == 1);
  CHECK(labels(ran) == std::vector<std::string>{"pos", "neg", "neg", "pos", "pos", "ERROR"});
  CHECK(ids(ran) == std::vector<json>{1, 2, 3, 4, 5, 6});
  CHECK(has(json_lines(ran.out)[5]["error"], three + ":2: "));
  CHECK(run({"classify", f.model(), "-i", one, two, "--json"}).out ==
        run({"classify", f.model(), "-i", one, "-i", two, "--json"}).out);
  // Every command that reads texts.
  const CliFixture embedding({.embedding = true});
  CHECK(json_lines(run({"embed", embedding.model(), "-i", one, two, "--json"}).out).size() == 3);
  CHECK(json_lines(run({"tokenize", f.model(), "-i", one, two}).out).size() == 3);
  CHECK(json_lines(run({"compare", f.model(), f.model(), "-i", one, two, "--json"}).out)[0]["records"] == 3);
}

TEST_CASE("a positional that is still required isn't taken for a file of -i") {
  const CliFixture f;
  const std::string one = f.file("one.txt", "good\n"), two = f.file("two.txt", "bad\n");
  CHECK(labels(run({"classify", "-i", one, two, f.model(), "--json"})) == std::vector<std::string>{"pos", "neg"});
  const Ran swallowed = run({"classify", f.model(), "-i", one, "no such text"});
  CHECK(swallowed.code == 1);
  CHECK(swallowed.out == "");
  CHECK(has(swallowed.err, "no such text: No such file"));
  CHECK(has(run({"classify", "--help"}).out, "before -i"));
}

TEST_CASE("a folder is refused with the way to give its files, before anything is read") {
  const CliFixture f;
  const std::string one = f.file("one.txt", "good\n"), folder = f.path("texts");
  std::filesystem::create_directory(folder);
  for (const std::string& name : {folder, folder + "/"}) {
    const Ran ran = run({"classify", f.model(), "-i", one, name});
    CHECK(ran.code == 1);
    CHECK(ran.out == "");
    CHECK(lines_of(ran.err).size() == 1);
    CHECK(has(ran.err, name + " is a folder; name its files, -i " + folder + "/*"));
  }
}
