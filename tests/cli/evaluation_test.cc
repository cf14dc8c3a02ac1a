#include "evaluation/evaluation.h"

#include <doctest/doctest.h>

#include <cmath>

#include "models/label_names.h"

namespace linformer_test::evaluation_test {

using namespace linformer::cli;

TEST_CASE("labels are found by name, by name in another case, as LABEL_i, or else by index") {
  const LabelNames labels({"1", "0", "pos", "Neg", "STRA\u00dfE", "label_0"});
  CHECK(labels.find("pos") == size_t{2});
  CHECK(labels.find("Pos") == size_t{2});
  CHECK(labels.find("NEG") == size_t{3});
  CHECK(labels.find("stra\u00dfe") == size_t{4});
  CHECK(labels.find("1") == size_t{0});        // a name wins over an index
  CHECK(labels.find("LABEL_0") == size_t{5});  // and over transformers' name of a class
  CHECK(labels.find("LABEL_3") == size_t{3});
  CHECK(labels.find("label_3") == size_t{3});
  CHECK(labels.find("2") == size_t{2});
  CHECK(labels.find("2.0") == size_t{2});
  CHECK(labels.find("1.0") == size_t{0});
  CHECK(LabelNames({"0.5", "1.0"}).find("1.0") == size_t{1});
  for (const char* word : {"6.0", "2.5", "-1.0", "nan", "inf", "1e300", "6", "LABEL_6", "LABEL_", "LABEL_-1",
                           "LABEL_2x", "-1", "", "2x", "po", "pos "}) {
    CAPTURE(word);
    CHECK_FALSE(labels.find(word).has_value());
  }
  CHECK_FALSE(labels.find("99999999999999999999999").has_value());
  CHECK_FALSE(labels.find("\xff\xfe").has_value());
  // Names that differ only in case are different labels, and a third spelling is neither of them.
  const LabelNames cases({"us", "US"});
  CHECK(cases.find("us") == size_t{0});
  CHECK(cases.find("US") == size_t{1});
  CHECK_FALSE(cases.find("Us").has_value());
  CHECK(
      labels.unknown_label_message("good") ==
      "label 'good' is not one of this model's labels: 1, 0, pos, Neg, STRA\u00dfE, label_0; or an index from 0 to 5");
  std::vector<std::string> many;
  for (int i = 0; i < 1000; ++i) many.push_back("class " + std::to_string(i));
  CHECK(LabelNames(many).unknown_label_message("x").find("class 9, ... (1000); or an index from 0 to 999") !=
        std::string::npos);
  CHECK(LabelNames({"0", "1", "2"}).unknown_label_message("x") ==
        "label 'x' is not one of this model's labels: 0, 1, 2");
}

TEST_CASE("heads are found by name, or else by index") {
  const std::vector<std::string> labels = {"1", "0", "pos"};
  CHECK(class_of(labels, "pos") == size_t{2});
  CHECK(class_of(labels, "1") == size_t{0});  // a name wins over an index
  CHECK(class_of(labels, "2") == size_t{2});
  CHECK_FALSE(class_of(labels, "3").has_value());
  CHECK_FALSE(class_of(labels, "-1").has_value());
  CHECK_FALSE(class_of(labels, "").has_value());
  CHECK_FALSE(class_of(labels, "2x").has_value());
  CHECK_FALSE(class_of(labels, "99999999999999999999999").has_value());
}

// The case: four records of class a are predicted three times as a and once as b. Four records of class b are predicted
// twice as b, once as a and once as c. No record is of class c, and d is neither true nor predicted.
TEST_CASE("accuracy, precision, recall, F1 and the confusion matrix equal those of a case worked by hand") {
  Evaluation evaluation({"a", "b", "c", "d"});
  for (int i = 0; i < 3; ++i) evaluation.add(0, 0);
  evaluation.add(0, 1);
  for (int i = 0; i < 2; ++i) evaluation.add(1, 1);
  evaluation.add(1, 0);
  evaluation.add(1, 2);
  evaluation.add_error();
  CHECK(evaluation.accuracy() == doctest::Approx(5.0 / 8));
  const auto a = evaluation.scores(0), b = evaluation.scores(1), c = evaluation.scores(2), d = evaluation.scores(3);
  CHECK(a.precision == doctest::Approx(3.0 / 4));
  CHECK(a.recall == doctest::Approx(3.0 / 4));
  CHECK(a.f1 == doctest::Approx(3.0 / 4));
  CHECK(a.support == 4);
  CHECK(b.precision == doctest::Approx(2.0 / 3));
  CHECK(b.recall == doctest::Approx(2.0 / 4));
  CHECK(b.f1 == doctest::Approx(4.0 / 7));
  CHECK(c.precision == 0);
  CHECK(std::isnan(c.recall));
  CHECK(c.f1 == 0);
  CHECK(std::isnan(d.precision));
  CHECK(std::isnan(d.f1));
  // d occurs neither as truth nor as prediction and does not count.
  CHECK(evaluation.macro_f1() == doctest::Approx((3.0 / 4 + 4.0 / 7 + 0) / 3));

  const auto json = evaluation.json();
  CHECK(json["records"] == 8);
  CHECK(json["errors"] == 1);
  CHECK(json["correct"] == 5);
  CHECK(json["labels"][2]["recall"].is_null());
  CHECK(json["confusion"] == nlohmann::ordered_json::parse("[[3,1,0,0],[1,2,1,0],[0,0,0,0],[0,0,0,0]]"));
  const std::string text = evaluation.text();
  CHECK(text.find("accuracy  0.6250  (5 right)") != std::string::npos);
  CHECK(text.find("errors    1 (left out)") != std::string::npos);
}

TEST_CASE("accuracy is NaN if nothing was evaluated") {
  const Evaluation evaluation({"a", "b"});
  CHECK(std::isnan(evaluation.accuracy()));
  CHECK(evaluation.json()["accuracy"].is_null());
  CHECK(evaluation.text().find("accuracy  -") != std::string::npos);
}

TEST_CASE("memory doesn't grow with the square of the number of labels") {
  for (const int count : {1 << 20, static_cast<int>(max_matrix_json) + 1}) {
    std::vector<std::string> labels;
    for (int i = 0; i < count; ++i) labels.push_back(std::to_string(i));
    Evaluation evaluation(labels);
    evaluation.add(static_cast<size_t>(count) / 2, 5);
    CHECK(evaluation.accuracy() == 0);
    if (count < 1000) CHECK_FALSE(evaluation.json().contains("confusion"));
  }
}

}  // namespace linformer_test::evaluation_test
