// Tests `linformer tag`: its entities in every output format, and --eval.
#include <doctest/doctest.h>

#include "process.h"
#include "refused.h"
#include "sentiment_model.h"

namespace linformer_test::tag_test {

using nlohmann::json;

namespace {

const SentimentModel with_entities = {.token_heads = true};

}  // namespace

TEST_CASE("tag: entities have a label, a score, a place in code points and a text") {
  const CliFixture f(with_entities);
  const Ran ran = run({"tag", f.model(), "\xc3\xa9 good film the bad plot", "film", "", "--json"});
  CHECK(ran.code == 0);
  CHECK(ran.err == "");
  const auto lines = json_lines(ran.out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0]["id"] == 1);
  CHECK(lines[0]["tokens"] == 8);
  CHECK(lines[0]["truncated"] == false);
  const json& found = lines[0]["entities"];
  REQUIRE(found.size() == 2);
  for (const json& entity : found) {
    CHECK(entity["score"].get<double>() > 0.5);
    CHECK(entity["score"].get<double>() <= 1);
  }
  CHECK(found[0]["label"] == "GOOD");
  CHECK(found[0]["start"] == 2);
  CHECK(found[0]["end"] == 6);
  CHECK(found[0]["text"] == "good");
  CHECK(found[1]["label"] == "BAD");
  CHECK(found[1]["start"] == 16);
  CHECK(found[1]["text"] == "bad");
  CHECK(lines[1]["entities"] == json::array());
  CHECK(lines[2]["entities"] == json::array());
  const json each = json_lines(run({"tag", f.model(), "good film", "--aggregation", "none", "--json"}).out).at(0);
  CHECK(each["entities"].at(0)["label"] == "B-GOOD");
  CHECK(json_lines(run({"tag", f.model(), "good", "--threshold", "1", "--json"}).out).at(0)["entities"].empty());
}

TEST_CASE("tag: entities are printed as lines, as tables with kept fields, and within the text") {
  const CliFixture f(with_entities);
  const std::string file = f.file("t.jsonl",
                                  "{\"k\":\"a\",\"text\":\"good film the bad plot\"}\n"
                                  "{\"k\":\"b\",\"text\":\"film\"}\n{\"k\":\"c\"}\n");
  const std::vector<std::string> arguments = {"tag", f.model(), "-i", file, "--id", "k"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), arguments.begin(), arguments.end());
    const Ran ran = run(more);
    CHECK(ran.code == 1);
    CHECK(ran.err == "linformer: 1 of 3 records bad\n");
    return lines_of(ran.out);
  };
  const auto lines = with({});
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].starts_with("a\tGOOD\t0."));
  CHECK(lines[0].ends_with("\t0\t4\tgood\t"));
  CHECK(lines[1].ends_with("\t14\t17\tbad\t"));
  CHECK(lines[2] == "b\t-\t-\t-\t-\t\t");
  CHECK(lines[3].starts_with("c\tERROR\t\t\t\t\t"));

  const auto csv = with({"--output-format", "csv"});
  REQUIRE(csv.size() == 5);
  CHECK(csv[0] == "id,label,score,start,end,text,tokens,total_tokens,error");
  CHECK(csv[1].starts_with("a,GOOD,0."));
  CHECK(csv[1].ends_with(",0,4,good,7,7,"));
  CHECK(csv[3] == "b,,,,,,3,3,");
  const auto kept = lines_of(run({"tag", f.model(), "-i", f.file("t.csv", "k,text\nx,good bad film\n"), "--keep", "all",
                                  "--output-format", "csv"})
                                 .out);
  REQUIRE(kept.size() == 3);
  CHECK(kept[0] == "k,text,id,label,score,start,end,linformer_text,tokens,total_tokens,error");
  CHECK(kept[1].starts_with("x,good bad film,1,GOOD,"));
  CHECK(kept[2].starts_with("x,good bad film,1,BAD,"));

  const auto shown = with({"--table"});
  REQUIRE(shown.size() == 3);
  CHECK(shown[0].find("[good GOOD 0.") != std::string::npos);
  CHECK(shown[0].find("] film the [bad BAD ") != std::string::npos);
  CHECK(shown[0].ends_with("] plot"));
  CHECK(shown[1].ends_with("film"));
  CHECK(shown[2].find("ERROR") != std::string::npos);
}

TEST_CASE("tag: all of a long text is read, in windows") {
  const CliFixture f(with_entities);
  std::string words = "good";
  for (int i = 0; i < 4; ++i) words += " film the a . , plot";
  words += " bad";
  const json whole = json_lines(run({"tag", f.model(), words, "--json"}).out).at(0);
  CHECK(whole["truncated"] == false);
  CHECK(whole["windows"].get<int>() > 1);
  REQUIRE(whole["entities"].size() == 2);
  CHECK(whole["entities"][1]["start"] == words.size() - 3);
  const json cut = json_lines(run({"tag", f.model(), words, "--on-long", "truncate", "--json"}).out).at(0);
  CHECK(cut["truncated"] == true);
  CHECK(cut["entities"].size() == 1);
  CHECK(run({"tag", f.model(), words, "--on-long", "error"}).code == 1);
}

TEST_CASE("tag --eval: entities are compared with spans and with labels of words") {
  const CliFixture f(with_entities);
  const std::string spans =
      f.file("s.jsonl", R"({"text": "good film the bad plot", "entities": [{"start": 0, "end": 4, "label": "GOOD"},)"
                        R"( {"end": 22, "label": "BAD", "start": 18, "more": {"start": [1]}}]})"
                        "\n"
                        R"({"text": "good", "entities": [{"start": 0, "end": 0, "label": "GOOD"}]})"
                        "\n"
                        R"({"text": "film", "entities": []})"
                        "\n");
  const Ran ran = run({"tag", f.model(), "-i", spans, "--eval", "entities", "--json"});
  CHECK(ran.code == 1);
  CHECK(ran.err.find("s.jsonl:2: field 'entities' has an entry that is not") != std::string::npos);
  const json numbers = json_lines(ran.out).at(0)["evaluation"];
  CHECK(numbers["records"] == 2);
  CHECK(numbers["errors"] == 1);
  CHECK(numbers["micro"]["f1"] == 0.5);
  CHECK(numbers["macro"]["precision"] == 0.5);
  REQUIRE(numbers["labels"].size() == 2);
  CHECK(numbers["labels"][0]["label"] == "BAD");
  CHECK(numbers["labels"][0]["right"] == 0);
  CHECK(numbers["labels"][1]["f1"] == 1);

  const std::string words =
      f.file("w.jsonl", R"({"tokens": ["good", "film.", "the", "bad"], "tags": ["B-GOOD", "O", "B-PLACE", 3]})"
                        "\n"
                        R"({"tokens": ["good"], "tags": ["O", "O"]})"
                        "\n"
                        R"({"tokens": ["good"], "tags": [4]})"
                        "\n");
  const std::vector<std::string> arguments = {"tag",     f.model(), "-i",     words, "--words",
                                              "--field", "tokens",  "--eval", "tags"};
  const Ran text = run(arguments);
  CHECK(text.code == 1);
  CHECK(text.err.find("1 words in the record, and 2 labels in field 'tags'") != std::string::npos);
  CHECK(text.err.find("label '4' is not one of this model's") != std::string::npos);
  CHECK(text.out.find("accuracy  0.7500  (3 of 4 words)") != std::string::npos);
  CHECK(text.out.find("PLACE") != std::string::npos);
  CHECK(text.out.find("micro average") != std::string::npos);
}

TEST_CASE("tag: missing and conflicting options, and models without a head for entities, are refused") {
  const CliFixture f(with_entities), plain;
  const std::string text = f.file("t.txt", "good\n"), csv = f.file("t.csv", "text,e\ngood,x\n"),
                    lines = f.file("l.jsonl", "{}\n");
  check_refused({"tag", f.model()}, 2, "nothing to tag");
  check_refused({"tag", plain.model(), "good"}, 1, "use 'linformer classify'");
  check_refused({"tag", f.model(), "good", "--head", "answers"}, 2, "use 'linformer answer'");
  check_refused({"tag", f.model(), "good", "--head", "sentiment"}, 2, "use 'linformer classify'");
  check_refused({"classify", f.model(), "good", "--head", "entities"}, 2, "use 'linformer tag'");
  check_refused({"tag", f.model(), "-i", text, "--words"}, 2, "only JSON has arrays");
  check_refused({"tag", f.model(), "-i", csv, "--eval", "e"}, 2, "only JSON has arrays");
  check_refused({"tag", f.model(), "good", "--eval", "e"}, 2, "needs records with fields");
  check_refused({"tag", f.model(), "-i", lines, "--eval", "e", "--keep", "all"}, 2, "no answers are written");
  check_refused({"tag", f.model(), "-i", lines, "--eval", "e", "-o", f.path("o.jsonl")}, 2, "no answers are written");
  check_refused({"tag", f.model(), "-i", lines, "--eval", "e", "--records"}, 2, "--records");
  check_refused({"tag", f.model(), "-i", lines, "--eval", "e", "--words", "--aggregation", "max"}, 2, "--aggregation");
  check_refused({"tag", f.model(), "-i", lines, "--eval", "e", "--output-format", "csv"}, 2,
                "leave --output-format out");
}

}  // namespace linformer_test::tag_test
