#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "arrays.h"
#include "process.h"
#include "refused.h"
#include "sentiment_model.h"

namespace linformer_test::rerank_test {

using nlohmann::json;

namespace {

SentimentModel scores() {
  SentimentModel shape;
  shape.numbers = true;
  return shape;
}

}  // namespace

TEST_CASE("rerank: documents have the scores that classify gives, best first, and equal ones keep their order") {
  const CliFixture f(scores());
  const std::vector<std::string> documents = {"bad film",  "good film", "the plot",
                                              "good good", "bad film",  "good film"};
  std::string pairs, lines;
  for (const std::string& document : documents) {
    pairs += json{{"q", "film"}, {"d", document}}.dump() + "\n";
    lines += document + "\n";
  }
  const auto expected = json_lines(run({"classify", f.model(), "-i", f.file("p.jsonl", pairs), "--head", "squashed",
                                        "--field", "q", "--pair", "d", "--json"})
                                       .out);
  REQUIRE(expected.size() == documents.size());
  const std::vector<std::string> rerank = {"rerank", f.model(), "--query", "film", "--head", "squashed", "--json"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = rerank;
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  const Ran ran = with({"-i", f.file("d.txt", lines)});
  CHECK(ran.code == 0);
  CHECK(ran.err == "");
  const auto answers = json_lines(ran.out);
  REQUIRE(answers.size() == documents.size());
  double last = 2;
  std::vector<size_t> order;
  for (const json& answer : answers) {
    const size_t index = answer["index"].get<size_t>();
    CHECK(answer["id"] == index + 1);
    CHECK(answer["text"] == documents[index]);
    CHECK(answer["score"] == expected[index]["score"]);
    CHECK(answer.size() == 4);
    if (answer["score"].get<double>() == last) CHECK(index > order.back());
    CHECK(answer["score"].get<double>() <= last);
    last = answer["score"].get<double>();
    order.push_back(index);
  }
  // Texts on the command line are documents too, and --top-n keeps the best documents.
  CHECK(with(documents).out == ran.out);
  const auto best = json_lines(with({"-i", f.path("d.txt"), "--top-n", "2"}).out);
  CHECK(best == std::vector<json>(answers.begin(), answers.begin() + 2));
  for (const char* threads : {"1", "3"}) CHECK(with({"-i", f.path("d.txt"), "--threads", threads}).out == ran.out);
  // --raw gives the output without the sigmoid. It equals the score of "relevance", the first head with one output,
  // which rerank uses by default.
  const auto raw = json_lines(with({"-i", f.path("d.txt"), "--raw"}).out);
  CHECK(raw[0]["index"] == answers[0]["index"]);
  const double logit = raw[0]["score"].get<double>();
  CHECK(answers[0]["score"].get<double>() == doctest::Approx(1 / (1 + std::exp(-logit))).epsilon(1e-6));
  CHECK(json_lines(run({"rerank", f.model(), "--query", "film", "-i", f.path("d.txt"), "--json"}).out) == raw);
}

TEST_CASE("rerank: several queries are answered, as lines and as tables") {
  const CliFixture f(scores());
  const std::string documents = f.file("d.csv", "key,body\na,bad film\nb,good film\nc,\"the, plot\"\n");
  const auto rerank = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"rerank", f.model(), "-i", documents, "--field", "body", "--id", "key"});
    return run(more);
  };
  const Ran both = rerank({"--queries", f.file("q.txt", "film\ngood plot\n"), "--json", "--top-n", "2"});
  CHECK(both.code == 0);
  const auto answers = json_lines(both.out);
  REQUIRE(answers.size() == 4);
  for (const size_t query : {size_t{0}, size_t{1}}) {
    auto alone = json_lines(rerank({"--query", query == 0 ? "film" : "good plot", "--json", "--top-n", "2"}).out);
    for (size_t i = 0; i < 2; ++i) {
      json expected = alone[i];
      expected["query"] = query + 1;
      CHECK(answers[2 * query + i] == expected);
    }
  }
  CHECK(answers[0]["id"] == "b");
  const std::string records = f.file("q.jsonl", "{\"query\":\"film\"}\n{\"query\":\"good plot\"}\n");
  CHECK(rerank({"--queries", records, "--json", "--top-n", "2"}).out == both.out);
  const std::string named = f.file("n.csv", "what\nfilm\ngood plot\n");
  CHECK(rerank({"--queries", named, "--query-field", "what", "--json", "--top-n", "2"}).out == both.out);

  const auto lines = lines_of(rerank({"--query", "film"}).out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].starts_with("b\t"));
  CHECK(lines[0].ends_with("\tgood film"));
  const auto rows = lines_of(rerank({"--query", "film", "--output-format", "csv"}).out);
  CHECK(rows[0] == "index,id,score,text");
  CHECK(rows[1].starts_with("1,b,"));
  const auto kept = lines_of(rerank({"--queries", f.path("q.txt"), "--keep", "all"}).out);
  CHECK(kept[0] == "key\tbody\tquery\tindex\tid\tscore\ttext");
  CHECK(rerank({"--query", "film", "-o", f.path("out.jsonl")}).out == "");
  CHECK(json_lines(read_file(f.path("out.jsonl"))).size() == 3);
}

TEST_CASE("rerank: documents that can't be read are left out, and reported once") {
  const CliFixture f(scores());
  std::string longer;
  for (int i = 0; i < 30; ++i) longer += "good ";
  const std::string documents =
      f.file("d.jsonl", "{\"text\":\"good\"}\n{\"text\":3}\n{\"text\":\"" + longer + "\"}\n{\"text\":\"bad\"}\n");
  const Ran ran = run({"rerank", f.model(), "--queries", f.file("q.txt", "film\nplot\n"), "-i", documents, "--json",
                       "--on-long", "error"});
  CHECK(ran.code == 1);
  CHECK(json_lines(ran.out).size() == 4);
  CHECK(lines_of(ran.err).size() == 3);
  CHECK(ran.err.find("linformer: record 3: ") != std::string::npos);
  CHECK(ran.err.find("linformer: 2 of 4 records bad") != std::string::npos);
  const Ran cut = run({"rerank", f.model(), "--query", "film", longer, "--json"});
  CHECK(cut.code == 0);
  CHECK(cut.err.find("1 of 1 texts cut to 12 tokens") != std::string::npos);
}

TEST_CASE("rerank: missing and conflicting arguments are refused in one line that says what to do") {
  const CliFixture f(scores()), labels, vectors({.heads = false, .embedding = true});
  check_refused({"rerank", f.model(), "--query", "film"}, 2, "no documents");
  check_refused({"rerank", f.model(), "good"}, 2, "--query TEXT");
  check_refused({"rerank", f.model(), "good", "--query", "a", "--queries", "b"}, 2, "exclude each other");
  check_refused({"rerank", f.model(), "good", "--queries", f.file("empty.txt", "")}, 1, "no queries");
  check_refused({"rerank", f.model(), "good", "--queries", f.file("bad.jsonl", "{}\n")}, 1, "--queries: ");
  check_refused({"rerank", f.model(), "good", "--queries", f.path("none.txt")}, 1, "none.txt");
  check_refused({"rerank", f.model(), "-", "--queries", "-"}, 2, "name a file");
  check_refused({"rerank", f.model(), "good", "--query", "film", "--head", "sentiment"}, 2, "3 outputs");
  check_refused({"rerank", labels.model(), "good", "--query", "film"}, 1, "cross-encoder");
  check_refused({"rerank", vectors.model(), "good", "--query", "film"}, 1, "linformer search");
  check_refused({"rerank", f.model(), "good", "--query", "film", "-o", f.model()}, 2, "would replace");
}

}  // namespace linformer_test::rerank_test
