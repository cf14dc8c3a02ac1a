// Tests heads that give numbers, which are scores or regression: what is printed and how it is evaluated.
#include <doctest/doctest.h>

#include <cmath>

#include "arrays.h"
#include "command_line/display.h"
#include "evaluation/evaluator.h"
#include "evaluation/number_evaluation.h"
#include "process.h"
#include "sentiment_model.h"

namespace linformer_test::number_test {

using namespace linformer::cli;
using nlohmann::json;

namespace {

struct Fixture : CliFixture {
  Fixture() : CliFixture({.numbers = true}) {}
  Ran classify(const std::string& head, std::vector<std::string> rest) const {
    rest.insert(rest.begin(), {"classify", model(), "--head", head});
    return run(rest);
  }
  // Returns the score of the head "relevance", from which the expected outputs of the other heads follow.
  double relevance(const std::string& text) const {
    return json_lines(classify("relevance", {text, "--json"}).out).at(0)["score"];
  }
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

void near(const json& value, double expected) { CHECK(value.get<double>() == doctest::Approx(expected).epsilon(1e-6)); }

}  // namespace

TEST_CASE("classify: a score is printed after the head's activation, or unchanged if the head has none") {
  const Fixture f;
  const double good = f.relevance("good"), bad = f.relevance("bad");
  CHECK(good > 0.5);
  CHECK(bad == doctest::Approx(-good));
  const Ran squashed = f.classify("squashed", {"good", "bad", "--json"});
  CHECK(squashed.code == 0);
  const auto lines = json_lines(squashed.out);
  near(lines.at(0)["score"], sigmoid(good));
  near(lines.at(1)["score"], sigmoid(bad));
  for (const char* key : {"label", "probability", "scores", "values"}) CHECK_FALSE(lines[0].contains(key));

  // Text output and tables print as many digits as a float needs.
  const auto plain = lines_of(f.classify("relevance", {"good", "bad"}).out);
  REQUIRE(plain.size() == 2);
  CHECK(plain[0] == "1\tscore\t" + shortest_text(static_cast<float>(good)) + "\t");
  CHECK(plain[1] == "2\tscore\t" + shortest_text(static_cast<float>(bad)) + "\t");
  CHECK(f.classify("squashed", {"good"}).out.rfind("1\tgoodness\t0.", 0) == 0);
  const auto table = lines_of(f.classify("relevance", {"good", "--table"}).out);
  REQUIRE(table.size() == 2);
  CHECK(table[0].find("score") != std::string::npos);
  CHECK(table[0].find("probability") == std::string::npos);
  CHECK(table[1].find(" " + shortest_text(static_cast<float>(good)) + " ") != std::string::npos);
}

TEST_CASE("classify: regression prints all values unchanged") {
  const Fixture f;
  const double good = f.relevance("good");
  const json line = json_lines(f.classify("mood", {"good", "--json"}).out).at(0);
  REQUIRE(line["values"].size() == 2);
  CHECK(line["values"][0]["label"] == "up");
  near(line["values"][0]["value"], good);
  near(line["values"][1]["value"], -good);
  const auto lines = lines_of(f.classify("mood", {"good"}).out);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == "1\tup\t" + shortest_text(static_cast<float>(good)) + "\t");
  CHECK(lines[1] == "1\tdown\t" + shortest_text(static_cast<float>(-good)) + "\t");
}

TEST_CASE("classify: heads of every kind answer in one run, with windows and with logits") {
  const Fixture f;
  const Ran ran = run({"classify", f.model(), "good", "--head", "sentiment,squashed,mood", "--json"});
  const json heads = json_lines(ran.out).at(0)["heads"];
  CHECK(heads[0]["label"] == "pos");
  CHECK(heads[1].contains("score"));
  CHECK(heads[2]["values"].size() == 2);
  const auto lines = lines_of(run({"classify", f.model(), "good", "--head", "sentiment,squashed,mood"}).out);
  REQUIRE(lines.size() == 4);
  for (const std::string& line : lines) CHECK(std::count(line.begin(), line.end(), '\t') == 4);
  CHECK(lines[3].rfind("1\tmood\tdown\t-", 0) == 0);
  const auto table = lines_of(run({"classify", f.model(), "good", "--head", "sentiment,mood", "--table"}).out);
  CHECK(table.at(0).find("value") != std::string::npos);

  // The score of a long text is the mean over its windows.
  const std::string text = "good good good good good good good good good film film film film film";
  const json windows =
      json_lines(f.classify("relevance", {text, "--on-long", "window", "--overlap", "0", "--json"}).out).at(0);
  CHECK(windows["windows"] == 2);
  CHECK(f.classify("squashed", {"good", "bad", "--logits", f.path("l.npy")}).code == 0);
  const FloatArray logits = parse_float_npy(read_file(f.path("l.npy")));
  CHECK(logits.shape == Shape{2, 1});
  CHECK(logits.values[0] == doctest::Approx(f.relevance("good")));
}

TEST_CASE("classify: a pair gets a score from a head that compares two sequences and from one that reads both as one") {
  const Fixture f;
  const Ran apart = f.classify("better_by", {"good", "bad", "--pair-text", "bad", "--pair-text", "good", "--json"});
  CHECK(apart.code == 0);
  const auto lines = json_lines(apart.out);
  CHECK(lines.at(0)["score"].get<double>() > 0);
  near(lines.at(1)["score"], -lines[0]["score"].get<double>());
  const std::string pairs = f.file("p.jsonl",
                                   "{\"a\":\"good\",\"b\":\"film\",\"y\":1}\n{\"a\":\"bad\",\"b\":\"film\",\"y\":0}\n"
                                   "{\"a\":\"film\",\"b\":\"the\",\"y\":0.5}\n");
  const Ran together = f.classify("squashed", {"-i", pairs, "--field", "a", "--pair", "b", "--eval", "y", "--json"});
  CHECK(together.code == 0);
  near(json_lines(together.out).at(0)["evaluation"]["spearman"], 1);
}

TEST_CASE("classify: options about labels are refused if no head has labels") {
  const Fixture f;
  for (const std::vector<std::string>& more : {std::vector<std::string>{"--top-k", "2"}, {"--threshold", "0.5"}}) {
    for (const char* head : {"relevance", "mood", "relevance,mood"}) {
      std::vector<std::string> arguments = {"good"};
      arguments.insert(arguments.end(), more.begin(), more.end());
      const Ran ran = f.classify(head, arguments);
      CHECK(ran.code == 2);
      CHECK(lines_of(ran.err).size() == 1);
      CHECK(ran.err.find(more[0] + " chooses among labels") != std::string::npos);
    }
  }
  // If one of the heads has labels, the options apply to it.
  CHECK(f.classify("sentiment,mood", {"good", "--top-k", "2"}).code == 0);
  const std::string file = f.file("e.jsonl", "{\"text\":\"good\",\"y\":1}\n");
  CHECK(f.classify("relevance", {"-i", file, "--eval", "y", "--label-separator", ";"}).code == 2);
}

// The numbers were worked out in Python from the definitions.
TEST_CASE("numbers: MSE, MAE and both correlations equal their definitions, with ties") {
  NumberEvaluation evaluation({"score"});
  const std::vector<double> truth = {0, 1, 2.5, 2.5, 4, -3};
  const std::vector<float> predicted = {0.5f, 1, 2, 4, 4, 1};
  for (size_t i = 0; i < truth.size(); ++i) evaluation.add({truth[i]}, {predicted[i]});
  evaluation.add_error();
  const NumberEvaluation::Scores scores = evaluation.mean();
  CHECK(scores.mse == doctest::Approx(3.125).epsilon(1e-12));
  CHECK(scores.mae == doctest::Approx(1.0833333333333333).epsilon(1e-12));
  CHECK(scores.pearson == doctest::Approx(0.7491634810334663).epsilon(1e-12));
  CHECK(scores.spearman == doctest::Approx(0.8508410434878083).epsilon(1e-12));
  const auto result = evaluation.json();
  CHECK(result["records"] == 6);
  CHECK(result["errors"] == 1);
  CHECK_FALSE(result.contains("outputs"));
  CHECK(evaluation.text() ==
        "records   6\nerrors    1 (left out)\nMSE       3.125\nMAE       1.083333\nPearson   0.7492\n"
        "Spearman  0.8508\n");

  NumberEvaluation small({"score"});
  small.add({0}, {2e-9f});
  CHECK(small.text().find("MSE       4e-18\nMAE       2e-09\n") != std::string::npos);

  NumberEvaluation two({"a", "b"});
  for (size_t i = 0; i < truth.size(); ++i) two.add({truth[i], truth[i]}, {predicted[i], -predicted[i]});
  CHECK(two.mean().mse == doctest::Approx((3.125 + two.scores(1).mse) / 2));
  CHECK(two.mean().spearman == doctest::Approx(0).epsilon(1e-12));
  CHECK(two.json()["outputs"][1]["label"] == "b");
  CHECK(two.text().find("output") != std::string::npos);
}

TEST_CASE("numbers: scores are NaN if nothing was compared, and correlations are NaN if all true numbers are equal") {
  NumberEvaluation evaluation({"score"});
  CHECK(std::isnan(evaluation.mean().mse));
  CHECK(evaluation.json()["pearson"].is_null());
  CHECK(evaluation.text().find("MSE       -") != std::string::npos);
  evaluation.add({1}, {2});
  evaluation.add({1}, {3});
  CHECK(evaluation.mean().mse == 2.5);
  CHECK(std::isnan(evaluation.mean().pearson));
  CHECK(std::isnan(evaluation.mean().spearman));
}

TEST_CASE("numbers: true numbers are read from strings and arrays") {
  const auto read = [](size_t count, const std::string& text) {
    Record record;
    record.label = text;
    std::vector<double> numbers;
    const std::string error = read_true_numbers(count, record, ",", &numbers);
    return error.empty() ? json(numbers).dump() : "(" + error + ")";
  };
  CHECK(read(1, "2.5") == "[2.5]");
  CHECK(read(1, " -1e-3 ") == "[-0.001]");
  CHECK(read(1, "+3") == "[3.0]");
  CHECK(read(3, "1, 2,3.5") == "[1.0,2.0,3.5]");
  for (const char* bad : {"", "x", "1,2", "nan", "inf", "1e999", "2.5x", "true", "+-1"}) {
    CAPTURE(bad);
    CHECK(read(1, bad).find("is not a number") != std::string::npos);
  }
  CHECK(read(3, "1,2") == "(2 numbers, and the head gives 3)");
  CHECK(read(2, "") == "(0 numbers, and the head gives 2)");
  CHECK(read(2, "1;2").find("--label-separator") != std::string::npos);
}

TEST_CASE("classify --eval evaluates scores and values from every format") {
  const Fixture f;
  const double good = f.relevance("good"), bad = f.relevance("bad");
  const std::string jsonl =
      f.file("e.jsonl",
             "{\"text\":\"good\",\"y\":1.5}\n{\"text\":\"bad\",\"y\":\"-2\"}\n"
             "{\"text\":\"good\",\"y\":\"high\"}\n{\"text\":\"good\"}\n{\"text\":\"good\",\"y\":[1]}\n");
  const Ran ran = f.classify("relevance", {"-i", jsonl, "--eval", "y", "--json"});
  CHECK(ran.code == 1);
  const json evaluation = json_lines(ran.out).at(0)["evaluation"];
  CHECK(evaluation["records"] == 2);
  CHECK(evaluation["errors"] == 3);
  near(evaluation["mse"], ((good - 1.5) * (good - 1.5) + (bad + 2) * (bad + 2)) / 2);
  near(evaluation["mae"], (std::abs(good - 1.5) + std::abs(bad + 2)) / 2);
  near(evaluation["pearson"], 1);
  CHECK(ran.err.find("'high' is not a number") != std::string::npos);
  CHECK(ran.err.find("no field 'y'") != std::string::npos);
  const std::string rows = f.file("e.tsv", "text\ty\ngood\t1.5\nbad\t-2\n");
  json same = json_lines(f.classify("relevance", {"-i", rows, "--eval", "y", "--json"}).out).at(0)["evaluation"];
  same["errors"] = 3;
  CHECK(same == evaluation);
  CHECK(f.classify("relevance", {"-i", rows, "--eval", "y"}).out.find("Spearman  1.0000\n") != std::string::npos);

  const std::string two =
      f.file("t.jsonl", "{\"text\":\"good\",\"y\":[1.5,-1.5]}\n{\"text\":\"bad\",\"y\":\"-2;2\"}\n");
  const Ran both = f.classify("mood", {"-i", two, "--eval", "y", "--label-separator", ";", "--json", "--records"});
  CHECK(both.code == 0);
  const auto lines = json_lines(both.out);
  CHECK(lines.at(0)["truth"] == json{1.5, -1.5});
  CHECK(lines.at(2)["evaluation"]["outputs"][0]["label"] == "up");
  near(lines[2]["evaluation"]["mse"], evaluation["mse"]);
  const Ran one = f.classify("relevance", {"-i", rows, "--eval", "y", "--json", "--records"});
  CHECK(json_lines(one.out).at(0)["truth"] == 1.5);
}

TEST_CASE("classify --eval: the error names a field of the wrong kind, and 1.0 is the index 1") {
  const Fixture f;
  const auto error = [&](const std::string& head, const std::string& value) {
    const std::string file = f.file("e.jsonl", "{\"text\":\"good\",\"y\":" + value + "}\n");
    const Ran ran = f.classify(head, {"-i", file, "--eval", "y", "--json", "--records"});
    const json line = json_lines(ran.out).at(0);
    return line.contains("error") ? line["error"].get<std::string>() : "true: " + line["truth"].dump();
  };
  const auto says = [&](const std::string& head, const std::string& value, const std::string& sentence) {
    CAPTURE(head);
    CAPTURE(value);
    CAPTURE(error(head, value));
    CHECK(error(head, value).ends_with(sentence));
  };
  says("sentiment", "null", ": field 'y' is null; give a label");
  says("sentiment", "[1]", ": field 'y' is a list; give a label");
  says("sentiment", "{\"a\":[1]}", ": field 'y' is an object; give a label");
  says("sentiment", "true", "label 'true' is not one of this model's labels: neg, neu, pos; or an index from 0 to 2");
  says("sentiment", "1.5", "label '1.5' is not one of this model's labels: neg, neu, pos; or an index from 0 to 2");
  for (const char* one : {"1", "1.0", "1e0", "\"1.0\""}) says("sentiment", one, "true: \"neu\"");
  says("relevance", "null", ": field 'y' is null; give a number");
  says("relevance", "[1]", ": field 'y' is a list; give a number");
  says("relevance", "true", "'true' is not a number");
  says("relevance", "1e0", "true: 1.0");
  says("mood", "null", ": field 'y' is null; give a list of numbers");
  says("mood", "[1,2.5]", "true: [1.0,2.5]");
  const std::string rows = f.file("e.csv", "text,y\ngood,2.0\nbad,0.0\n");
  const Ran table = f.classify("sentiment", {"-i", rows, "--eval", "y", "--json"});
  CHECK(table.code == 0);
  CHECK(json_lines(table.out).at(0)["evaluation"]["correct"] == 2);
}

TEST_CASE("inspect shows the kind of each head") {
  const Fixture f;
  const std::string text = run({"inspect", f.model()}).out;
  for (const char* part :
       {"3 classes (neg, neu, pos), one of them (softmax)", "a score (not named), the output as it is",
        "a score (goodness), sigmoid", "2 values (up, down), as they are"}) {
    CHECK_MESSAGE(text.find(part) != std::string::npos, std::string(part));
  }
  const json heads = json::parse(run({"inspect", f.model(), "--json"}).out)["heads"];
  CHECK(heads[0]["kind"] == "single_label");
  CHECK(heads[0]["score_activation"].is_null());
  CHECK(heads[2]["kind"] == "score");
  CHECK(heads[2]["score_activation"] == "none");
  CHECK(heads[3]["score_activation"] == "sigmoid");
  CHECK(heads[4]["kind"] == "regression");
}

TEST_CASE("the error of encode --what logits without a head names an output that the model has") {
  const CliFixture with({.heads = false});
  const Ran ran = run({"encode", with.model(), "good", "--what", "logits", "-o", with.path("l.npy")});
  CHECK(ran.code == 1);
  CHECK(lines_of(ran.err).size() == 1);
  CHECK(ran.err.find("--what mlm") != std::string::npos);
  const CliFixture vectors({.heads = false, .vectors = true});
  const std::string file = vectors.file("v.npy", npy_of_floats<float>({1, 2, 16}, std::vector<float>(32)));
  const Ran other =
      run({"encode", vectors.model(), "--vectors", file, "--what", "logits", "-o", vectors.path("l.npy")});
  CHECK(other.code == 1);
  CHECK(other.err.find("--what hidden") != std::string::npos);
  CHECK(other.err.find("mlm") == std::string::npos);
}

}  // namespace linformer_test::number_test
