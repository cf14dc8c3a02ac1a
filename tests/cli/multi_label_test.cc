// Tests --eval for heads that give several labels to a text.
#include <doctest/doctest.h>

#include <cmath>

#include "evaluation/evaluator.h"
#include "evaluation/multi_label_evaluation.h"
#include "process.h"
#include "sentiment_model.h"

namespace linformer_test::multi_label_test {

using namespace linformer::cli;
using nlohmann::json;

namespace {

void check_scores(const MultiLabelEvaluation::Scores& scores, double precision, double recall, double f1) {
  CHECK(scores.precision == doctest::Approx(precision).epsilon(1e-12));
  CHECK(scores.recall == doctest::Approx(recall).epsilon(1e-12));
  CHECK(scores.f1 == doctest::Approx(f1).epsilon(1e-12));
}

using Classes = std::vector<size_t>;

// Returns the classes that `read_true_labels` reads from the record, or its error in parentheses.
std::string read(const std::vector<std::string>& labels, const Record& record, const std::string& separator = ",") {
  Classes classes;
  if (const std::string error = read_true_labels(LabelNames(labels), record, separator, &classes); !error.empty()) {
    return "(" + error + ")";
  }
  return json(classes).dump();
}
std::string read(const std::vector<std::string>& labels, const std::string& text, const std::string& separator = ",") {
  Record record;
  record.label = text;
  return read(labels, record, separator);
}
std::string read_entries(const std::vector<std::string>& labels, const std::vector<std::string>& entries) {
  Record record;
  record.labels = entries;
  return read(labels, record);
}

}  // namespace

// All numbers come from scikit-learn 1.9: classification_report, accuracy_score, hamming_loss and
// multilabel_confusion_matrix with zero_division 0. d is predicted but never true; e is neither predicted nor true.
TEST_CASE("several labels: the numbers are scikit-learn's") {
  MultiLabelEvaluation evaluation({"a", "b", "c", "d", "e"}, 0.5);
  const std::vector<std::pair<Classes, Classes>> records = {
      {{0}, {0}}, {{0, 1}, {0}}, {{1, 2}, {1, 2, 3}}, {{}, {}}, {{2}, {0, 2}}, {{0, 1, 2}, {0, 1}}, {{1}, {}}};
  for (const auto& [truth, predicted] : records) evaluation.add(truth, predicted);
  evaluation.add_error();
  check_scores(evaluation.scores(0), 0.75, 1, 0.8571428571428571);
  check_scores(evaluation.scores(1), 1, 0.5, 0.6666666666666666);
  check_scores(evaluation.scores(2), 1, 0.6666666666666666, 0.8);
  // A score that scikit-learn sets to 0 with a warning is NaN here. In the means it counts as 0.
  CHECK(evaluation.scores(3).precision == 0);
  CHECK(std::isnan(evaluation.scores(3).recall));
  CHECK(evaluation.scores(3).f1 == 0);
  CHECK(std::isnan(evaluation.scores(4).precision));
  CHECK(std::isnan(evaluation.scores(4).f1));
  check_scores(evaluation.micro(), 0.7777777777777778, 0.7, 0.7368421052631579);
  check_scores(evaluation.macro(), 0.55, 0.4333333333333333, 0.4647619047619047);
  check_scores(evaluation.weighted(), 0.925, 0.7, 0.7638095238095237);
  check_scores(evaluation.samples(), 0.5952380952380951, 0.5952380952380952, 0.5619047619047619);
  CHECK(evaluation.accuracy() == doctest::Approx(0.2857142857142857).epsilon(1e-12));
  CHECK(evaluation.hamming_loss() == doctest::Approx(0.14285714285714285).epsilon(1e-12));

  const auto result = evaluation.json();
  CHECK(result["records"] == 7);
  CHECK(result["errors"] == 1);
  CHECK(result["correct"] == 2);
  CHECK(result["threshold"] == 0.5);
  CHECK(result["weighted"]["precision"].get<double>() == doctest::Approx(0.925).epsilon(1e-12));
  CHECK(result["labels"][1]["support"] == 4);
  CHECK(result["labels"][3]["recall"].is_null());
  json confusion = json::array();
  for (const auto& label : result["labels"]) confusion.push_back(json(label["confusion"]));
  CHECK(confusion == json::parse("[[[3,1],[0,3]],[[3,0],[2,2]],[[4,0],[1,2]],[[6,1],[0,0]],[[7,0],[0,0]]]"));

  const std::string text = evaluation.text();
  CAPTURE(text);
  for (const char* line : {"errors        1 (left out)\n", "accuracy      0.2857  (2 with exactly the true labels)\n",
                           "Hamming loss  0.1429\n", "label             precision  recall      F1  support\n",
                           "b                    1.0000  0.5000  0.6667        4\n",
                           "e                         -       -       -        0\n",
                           "micro average        0.7778  0.7000  0.7368       10\n",
                           "macro average        0.5500  0.4333  0.4648       10\n",
                           "weighted average     0.9250  0.7000  0.7638       10\n",
                           "samples average      0.5952  0.5952  0.5619       10\n"}) {
    CHECK_MESSAGE(text.find(line) != std::string::npos, std::string(line));
  }
}

TEST_CASE("several labels: scores are NaN if nothing was evaluated or no label is ever true") {
  MultiLabelEvaluation evaluation({"a", "b"}, 0.5);
  for (const MultiLabelEvaluation::Scores& scores :
       {evaluation.micro(), evaluation.macro(), evaluation.weighted(), evaluation.samples()}) {
    CHECK(std::isnan(scores.precision));
    CHECK(std::isnan(scores.f1));
  }
  CHECK(evaluation.json()["hamming_loss"].is_null());
  CHECK(evaluation.text().find("accuracy      -") != std::string::npos);
  evaluation.add({}, {});
  CHECK(evaluation.accuracy() == 1);
  CHECK(evaluation.hamming_loss() == 0);
  CHECK(std::isnan(evaluation.micro().f1));
  CHECK(std::isnan(evaluation.weighted().recall));
}

TEST_CASE("several labels: true labels are names, or else indices, in an array or with separators") {
  const std::vector<std::string> labels = {"a", "b", "c d", "a,b", "0"};
  CHECK(read(labels, "b") == "[1]");
  CHECK(read(labels, "c d,a") == "[0,2]");
  CHECK(read(labels, " c d , a ") == "[0,2]");
  CHECK(read(labels, "a,b") == "[3]");  // a name wins over a list
  CHECK(read(labels, "b,a") == "[0,1]");
  CHECK(read(labels, "1,3") == "[1,3]");
  CHECK(read(labels, "0") == "[4]");  // a name wins over an index
  CHECK(read(labels, "") == "[]");
  CHECK(read(labels, "  ") == "[]");
  CHECK(read(labels, "b|a,b", "|") == "[1,3]");
  CHECK(read(labels, "b::a", "::") == "[0,1]");
  CHECK(read(labels, "b a", " ") == "[0,1]");
  CHECK(read_entries(labels, {}) == "[]");
  CHECK(read_entries(labels, {"c d", "a,b", "1"}) == "[1,2,3]");

  CHECK(read(labels, "a,what").find("label 'what' is not one of this model's") != std::string::npos);
  CHECK(read(labels, "a|b").find("'a|b'") != std::string::npos);
  CHECK(read(labels, "a|b").find("--label-separator") != std::string::npos);
  CHECK(read(labels, "a,,b").find("is missing") != std::string::npos);
  CHECK(read(labels, "a,").find("is missing") != std::string::npos);
  CHECK(read(labels, "b,1").find("label 'b' occurs twice") != std::string::npos);
  CHECK(read_entries(labels, {""}).find("label ''") != std::string::npos);
  CHECK(read_entries(labels, {"what"}).find("--label-separator") == std::string::npos);
  // An array with a 0 or a 1 for each label is refused, because it isn't a list of indices.
  CHECK(read_entries({"x", "y", "z"}, {"0", "1", "0"}).find("indices") != std::string::npos);
}

TEST_CASE("JSON records: arrays of labels are read for heads that give several labels") {
  const Folder folder;
  const auto read_line = [&](const std::string& value, size_t max_labels) {
    ByteSource source(folder.file("in.jsonl", "{\"text\":\"t\",\"y\":" + value + ",\"z\":[\"no\",{\"y\":1}]}\n"));
    RecordFields fields;
    fields.label = "y";
    fields.max_labels = max_labels;
    Record record;
    REQUIRE(open_records(&source, Format::jsonl, fields, {})->next(&record));
    return record;
  };
  const Record record = read_line("[\"a\",3,true]", 5);
  CHECK_MESSAGE(record.error.empty(), record.error);
  REQUIRE(record.labels);
  CHECK(*record.labels == std::vector<std::string>{"a", "3", "true"});
  CHECK_FALSE(record.label);
  CHECK(read_line("[]", 5).labels->empty());
  CHECK(read_line("\"a,b\"", 5).label == "a,b");
  CHECK(read_line("7", 5).label == "7");
  CHECK(read_line("1.5", 5).label == "1.5");
  CHECK(*read_line("[1.0]", 5).labels == std::vector<std::string>{"1.0"});
  CHECK(read_line("null", 5).error.ends_with("field 'y' is null; give a list of labels"));
  for (const char* bad : {"null", "{\"a\":1}", "[null]", "[[1]]", "[{\"a\":1}]", "[1,[2]]"}) {
    CAPTURE(bad);
    CHECK(read_line(bad, 5).error.find("field 'y'") != std::string::npos);
  }
  CHECK(read_line("[1,2,3]", 3).error.empty());
  CHECK(read_line("[1,2,3,4]", 3).error.find("more than 3") != std::string::npos);
  // A head that gives one label takes no list.
  CHECK(read_line("[\"a\"]", 0).error.find("field 'y' is a list; give a label") != std::string::npos);
}

TEST_CASE("classify --eval with several labels gives scikit-learn's numbers") {
  const CliFixture f(
      {.kind = linformer::HeadKind::multi_label});  // neu has sigmoid(0.05) = 0.51 always; good: pos, bad: neg
  const std::string jsonl = f.file("e.jsonl",
                                   "{\"text\":\"good\",\"y\":[\"pos\"]}\n{\"text\":\"good film\",\"y\":[2,\"neu\"]}\n"
                                   "{\"text\":\"bad\",\"y\":[\"neg\",\"neu\"]}\n{\"text\":\"good\",\"y\":[]}\n"
                                   "{\"text\":\"bad film\",\"y\":[\"neg\",\"pos\"]}\n"
                                   "{\"text\":\"good\",\"y\":[\"pos\",\"what\"]}\n{\"text\":\"good\",\"y\":[0,0]}\n"
                                   "{\"text\":\"good\",\"x\":1}\nbroken\n");
  const Ran ran = run({"classify", f.model(), "-i", jsonl, "--eval", "y", "--json"});
  CHECK(ran.code == 1);
  REQUIRE(lines_of(ran.out).size() == 1);
  const json evaluation = json_lines(ran.out)[0]["evaluation"];
  CHECK(evaluation["records"] == 5);
  CHECK(evaluation["errors"] == 4);
  CHECK(evaluation["threshold"] == 0.5);
  const auto near = [](const json& value, double expected) {
    CHECK(value.get<double>() == doctest::Approx(expected).epsilon(1e-12));
  };
  near(evaluation["accuracy"], 0.4);
  near(evaluation["hamming_loss"], 0.3333333333333333);
  near(evaluation["labels"][1]["f1"], 0.5714285714285714);
  near(evaluation["micro"]["f1"], 0.7058823529411765);
  near(evaluation["macro"]["recall"], 0.8888888888888888);
  near(evaluation["weighted"]["precision"], 0.6857142857142857);
  near(evaluation["samples"]["f1"], 0.6333333333333333);
  CHECK(evaluation["labels"][2]["confusion"] == json::parse("[[1,1],[1,2]]"));
  CHECK(ran.err.find("label 'what' is not one of this model's") != std::string::npos);
  CHECK(ran.err.find("label 'neg' occurs twice") != std::string::npos);
  CHECK(ran.err.find("no field 'y'") != std::string::npos);

  // The same good records give the same numbers from a table, which has fewer bad records.
  const std::string rows =
      "text\ty\ngood\tpos\ngood film\t2, neu\nbad\tneg,neu\ngood\t\nbad film\tneg,pos\ngood\tpos,what\n";
  const Ran tsv = run({"classify", f.model(), "-i", f.file("e.tsv", rows), "--eval", "y", "--json"});
  json same = json_lines(tsv.out).at(0)["evaluation"];
  CHECK(same["errors"] == 1);
  same["errors"] = 4;
  CHECK(same == evaluation);
  const std::string csv = f.file("e.csv", "text,y\ngood,pos\ngood film,2|neu\nbad,neg|neu\ngood,\nbad film,neg|pos\n");
  const Ran bars = run({"classify", f.model(), "-i", csv, "--eval", "y", "--json", "--label-separator", "|"});
  CHECK(bars.code == 0);
  CHECK(json_lines(bars.out).at(0)["evaluation"]["micro"] == evaluation["micro"]);
  const Ran unsplit = run({"classify", f.model(), "-i", csv, "--eval", "y", "--json"});
  CHECK(unsplit.code == 1);
  CHECK(unsplit.err.find("'2|neu'") != std::string::npos);

  // At a threshold above 0.51, neu is not predicted.
  const Ran higher = run({"classify", f.model(), "-i", jsonl, "--eval", "y", "--threshold", "0.6", "--json"});
  const json without = json_lines(higher.out).at(0)["evaluation"];
  CHECK(without["threshold"] == 0.6);
  near(without["micro"]["precision"], 0.8);
  near(without["hamming_loss"], 0.26666666666666666);
  CHECK(without["labels"][1]["precision"].is_null());
  near(without["weighted"]["precision"], 0.5714285714285714);

  const Ran text = run({"classify", f.model(), "-i", jsonl, "--eval", "y"});
  CHECK(text.out.find("accuracy      0.4000  (2 with exactly the true labels)") != std::string::npos);
  CHECK(text.out.find("threshold     0.5\n") != std::string::npos);
  CHECK(text.out.find("micro average        0.6000  0.8571  0.7059        7") != std::string::npos);
}

TEST_CASE("classify --eval --records prints true and predicted labels, and wrong options are refused") {
  const CliFixture f({.kind = linformer::HeadKind::multi_label}), one;
  const std::string file = f.file("e.jsonl",
                                  "{\"text\":\"good\",\"y\":[\"pos\",\"neg\"]}\n{\"text\":\"bad\",\"y\":[]}\n"
                                  "{\"text\":\"bad\",\"y\":[\"what\"]}\n");
  const Ran ran = run({"classify", f.model(), "-i", file, "--eval", "y", "--records", "--json"});
  const auto lines = json_lines(ran.out);
  REQUIRE(lines.size() == 4);
  CHECK(lines[0]["truth"] == json{"neg", "pos"});
  CHECK(lines[0]["predicted"] == json{"neu", "pos"});
  CHECK(lines[1]["truth"] == json::array());
  CHECK(lines[0]["scores"].size() == 2);  // those of the predicted labels
  CHECK(lines[2].contains("error"));
  CHECK(lines[3]["evaluation"]["records"] == 2);
  CHECK(run({"classify", f.model(), "-i", file, "--eval", "y", "--fail-fast"}).code == 1);
  // A head that gives one label takes one true label, and no separator.
  CHECK(run({"classify", one.model(), "-i", file, "--eval", "y"}).code == 1);
  CHECK(run({"classify", one.model(), "-i", file, "--eval", "y", "--label-separator", ";"}).code == 2);
  CHECK(run({"classify", f.model(), "good", "--label-separator", ";"}).code == 2);
  CHECK(run({"classify", f.model(), "-i", file, "--eval", "y", "--label-separator", ""}).code == 2);
  CHECK(run({"classify", f.model(), "-i", file, "--eval", "y", "--head", "sentiment,topic"}).code == 2);
  const Ran single = run({"classify", f.model(), "-i", f.file("t.jsonl", "{\"text\":\"good\",\"y\":\"2\"}\n"), "--eval",
                          "y", "--head", "topic"});
  CHECK(single.code == 0);
  CHECK(single.out.find("Confusion") != std::string::npos);
}

}  // namespace linformer_test::multi_label_test
