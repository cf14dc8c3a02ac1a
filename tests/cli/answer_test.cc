// Tests `linformer answer`: its answers in every output format, and --eval.
#include <doctest/doctest.h>

#include "process.h"
#include "refused.h"
#include "sentiment_model.h"

namespace linformer_test::answer_test {

using nlohmann::json;

namespace {

const SentimentModel with_answers = {.token_heads = true};

}  // namespace

TEST_CASE("answer: each context has its best span, with its place in code points") {
  const CliFixture f(with_answers);
  const Ran ran = run({"answer", f.model(), "--question", "plot", "\xc3\xa9 the good film .", "good , film", "--json"});
  CHECK(ran.code == 0);
  CHECK(ran.err == "");
  const auto lines = json_lines(ran.out);
  REQUIRE(lines.size() == 2);
  REQUIRE(lines[0]["answers"].size() == 1);
  const json& answer = lines[0]["answers"][0];
  CHECK(answer["text"] == "good film");
  CHECK(answer["start"] == 6);
  CHECK(answer["end"] == 15);
  CHECK(answer["score"].get<double>() > 0.5);
  CHECK(lines[1]["answers"][0]["text"] == "good , film");
  const auto most = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"answer", f.model(), "--question", "plot", "good , film", "--json"});
    return json_lines(run(more).out).at(0)["answers"];
  };
  const json three = most({"--top-k", "3"});
  REQUIRE(three.size() == 3);
  CHECK(three[0]["score"] >= three[1]["score"]);
  CHECK(three[1]["score"] >= three[2]["score"]);
  CHECK(most({"--max-answer-tokens", "2"})[0]["text"] != "good , film");
  bool none = false;
  for (const json& each : most({"--top-k", "100", "--no-answer"})) none = none || each["text"] == "";
  CHECK(none);
}

TEST_CASE("answer: questions and contexts are read from records, lines and tables, and fields can be kept") {
  const CliFixture f(with_answers);
  const std::string squad = f.file("s.jsonl",
                                   "{\"id\":\"a\",\"question\":\"plot\",\"context\":\"the good film\"}\n"
                                   "{\"id\":\"b\",\"context\":\"good film\"}\n");
  const Ran ran = run({"answer", f.model(), "-i", squad, "--id", "id"});
  CHECK(ran.code == 1);
  const auto lines = lines_of(ran.out);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].starts_with("a\t1\tgood film\t0."));
  CHECK(lines[0].ends_with("\t4\t13\t"));
  CHECK(lines[1].starts_with("b\t-\tERROR\t\t\t\t"));
  CHECK(lines[1].find("no field 'question'") != std::string::npos);
  // A question on the command line is asked about every record.
  CHECK(run({"answer", f.model(), "-i", squad, "--question", "plot"}).code == 0);
  CHECK(lines_of(run({"answer", f.model(), "--question", "plot", "-"}, "good film\nthe good film\n").out).size() == 2);

  const std::string table = f.file("t.csv", "q,p\nplot,the good film\n");
  const auto csv = lines_of(run({"answer", f.model(), "-i", table, "--question-field", "q", "--field", "p", "--keep",
                                 "all", "--output-format", "csv"})
                                .out);
  REQUIRE(csv.size() == 2);
  CHECK(csv[0] == "q,p,id,rank,text,score,start,end,error");
  CHECK(csv[1].starts_with("plot,the good film,1,1,good film,0."));
  const auto shown = lines_of(run({"answer", f.model(), "-i", squad, "--table"}).out);
  REQUIRE(shown.size() == 3);
  CHECK(shown[0].find("answer") == shown[1].find("good film"));
}

TEST_CASE("answer: a long context is read in windows, and a question that is too long makes a bad record") {
  const CliFixture f(with_answers);
  std::string words;
  for (int i = 0; i < 20; ++i) words += "the ";
  const json far =
      json_lines(run({"answer", f.model(), "--question", "plot", words + "good film", "--json"}).out).at(0);
  CHECK(far["answers"][0]["text"] == "good film");
  CHECK(far["answers"][0]["start"] == 80);
  CHECK(far["windows"].get<int>() > 1);
  const Ran refused = run({"answer", f.model(), "--question", words, "good film"});
  CHECK(refused.code == 1);
  CHECK(refused.out.find("the question has 20 tokens, which leave no room for the context in a window of 12") !=
        std::string::npos);
}

TEST_CASE("answer --eval: exact match and F1 equal those of SQuAD's script") {
  const CliFixture f(with_answers);
  const std::string squad = f.file(
      "s.jsonl",
      R"({"question": "plot", "context": "the good film .", "answers": {"text": ["bad", "The good, film"], "x": [1]}})"
      "\n"
      R"({"question": "plot", "context": "the good film .", "answers": ["good"]})"
      "\n"
      R"({"question": "plot", "context": "the good film .", "answers": {"answer_start": [], "text": []}})"
      "\n"
      R"({"question": "plot", "context": "the good film .", "answers": 3})"
      "\n"
      R"({"question": "plot", "context": "the good film ."})"
      "\n");
  const Ran ran = run({"answer", f.model(), "-i", squad, "--eval", "answers", "--json"});
  CHECK(ran.code == 1);
  const json numbers = json_lines(ran.out).at(0)["evaluation"];
  CHECK(numbers["records"] == 4);
  CHECK(numbers["errors"] == 1);
  CHECK(numbers["correct"] == 1);
  CHECK(numbers["exact_match"] == 0.25);
  CHECK(numbers["f1"].get<double>() == doctest::Approx((1 + 2.0 / 3) / 4));
  CHECK(run({"answer", f.model(), "-i", squad, "--eval", "answers"}).out.find("exact match  0.2500") !=
        std::string::npos);
}

TEST_CASE("answer: missing and conflicting options, and models without an answer head, are refused") {
  const CliFixture f(with_answers), plain;
  const std::string text = f.file("t.txt", "good\n"), lines = f.file("l.jsonl", "{}\n");
  check_refused({"answer", f.model(), "--question", "a"}, 2, "no context");
  check_refused({"answer", f.model(), "good film"}, 2, "no question: give --question TEXT");
  check_refused({"answer", f.model(), "-i", text}, 2, "no question: give --question TEXT");
  check_refused({"answer", f.model(), "-i", lines, "--question", "a", "--question-field", "b"}, 2,
                "exclude each other");
  check_refused({"answer", plain.model(), "--question", "a", "good"}, 1, "use 'linformer classify'");
  check_refused({"answer", f.model(), "--question", "a", "good", "--head", "entities"}, 2, "use 'linformer tag'");
  check_refused({"classify", f.model(), "good", "--head", "answers"}, 2, "use 'linformer answer'");
  check_refused({"answer", f.model(), "-i", lines, "--eval", "e", "-o", f.path("o.jsonl")}, 2,
                "no answers are written");
  check_refused({"answer", f.model(), "-i", lines, "--eval", "e", "--keep", "all"}, 2, "no answers are written");
  check_refused({"answer", f.model(), "-i", lines, "--eval", "e", "--records"}, 2, "--records");
}

}  // namespace linformer_test::answer_test
