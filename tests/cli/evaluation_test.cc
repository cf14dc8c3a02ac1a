#include "evaluation.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace linformer::cli;

TEST_CASE("labels by name, or else by index") {
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

// By hand: truth a: 3 as a, 1 as b. truth b: 2 as b, 1 as a, 1 as c. truth c: none. d: nothing at all.
TEST_CASE("accuracy, precision, recall, F1 and the matrix of a case worked by hand") {
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
  CHECK(json["confusion"] == nlohmann::json::parse("[[3,1,0,0],[1,2,1,0],[0,0,0,0],[0,0,0,0]]"));
  const std::string text = evaluation.text();
  CHECK(text.find("accuracy  0.6250  (5 right)") != std::string::npos);
  CHECK(text.find("errors    1 (left out)") != std::string::npos);
}

TEST_CASE("nothing evaluated is no number") {
  const Evaluation evaluation({"a", "b"});
  CHECK(std::isnan(evaluation.accuracy()));
  CHECK(evaluation.json()["accuracy"].is_null());
  CHECK(evaluation.text().find("accuracy  -") != std::string::npos);
}

TEST_CASE("many labels need no square of memory") {
  for (const int count : {1 << 20, static_cast<int>(max_matrix_json) + 1}) {
    std::vector<std::string> labels;
    for (int i = 0; i < count; ++i) labels.push_back(std::to_string(i));
    Evaluation evaluation(labels);
    evaluation.add(static_cast<size_t>(count) / 2, 5);
    CHECK(evaluation.accuracy() == 0);
    if (count < 1000) CHECK_FALSE(evaluation.json().contains("confusion"));
  }
}
