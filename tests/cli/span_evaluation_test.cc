// Tests how entities and answers are counted. The expected numbers come from seqeval 1.2.2 and from SQuAD's script.
#include <doctest/doctest.h>

#include <cmath>

#include "evaluation/answer_evaluation.h"
#include "evaluation/tag_evaluation.h"

namespace linformer_test::span_evaluation_test {
namespace {

using linformer::cli::AnswerEvaluation;
using linformer::cli::LabelledSpan;
using linformer::cli::normalized_words;
using linformer::cli::spans_of_labels;
using linformer::cli::TagEvaluation;
using Labels = std::vector<std::string>;
using Spans = std::vector<LabelledSpan>;

}  // namespace

TEST_CASE("labels of words become entities as in seqeval's default mode") {
  CHECK(spans_of_labels({"O", "I-A", "I-A", "B-A", "I-B", "O"}) == Spans{{1, 3, "A"}, {3, 4, "A"}, {4, 5, "B"}});
  CHECK(spans_of_labels({"B-A", "I-A", "B-A", "E-A", "I-A", "S-B", "E-B", ".", "I"}) ==
        Spans{{0, 2, "A"}, {2, 4, "A"}, {4, 5, "A"}, {5, 6, "B"}, {6, 7, "B"}, {6, 9, "_"}});
  CHECK(spans_of_labels({"I-A-B", "B-", "O", "B"}) == Spans{{0, 1, "A-B"}, {1, 2, "_"}, {3, 4, "_"}});
  CHECK(spans_of_labels({}).empty());
  CHECK(spans_of_labels({"", "O", ""}).empty());
}

TEST_CASE("precision, recall and F1 of entities are seqeval's") {
  const std::vector<Labels> truth = {{"B-A", "I-A", "O", "B-B", "I-B", "I-B", "O", "I-C"},
                                     {"O", "B-A", "B-A", "I-B", "O"},
                                     {"S-B", "B-A", "E-A", "O"},
                                     {"B-D", "O", "I-C", "I-C"}};
  const std::vector<Labels> predicted = {{"B-A", "I-A", "O", "B-B", "I-B", "O", "O", "B-C"},
                                         {"O", "I-A", "I-A", "I-B", "O"},
                                         {"B-B", "I-A", "I-A", "B-A"},
                                         {"O", "O", "I-C", "B-C"}};
  TagEvaluation evaluation;
  for (size_t i = 0; i < truth.size(); ++i) evaluation.add_words(truth[i], predicted[i]);
  const auto check = [](const TagEvaluation::Scores& scores, double precision, double recall, double f1) {
    CHECK(scores.precision == doctest::Approx(precision).epsilon(1e-5));
    CHECK(scores.recall == doctest::Approx(recall).epsilon(1e-5));
    CHECK(scores.f1 == doctest::Approx(f1).epsilon(1e-5));
  };
  check(evaluation.micro(), 0.5, 0.5, 0.5);
  check(evaluation.macro(), 0.375, 0.416667, 0.391667);
  check(evaluation.weighted(), 0.466667, 0.5, 0.48);
  const auto json = evaluation.json();
  CHECK(json["words"] == 21);
  CHECK(json["accuracy"].get<double>() == doctest::Approx(0.5238095));
  REQUIRE(json["labels"].size() == 4);
  CHECK(json["labels"][1]["f1"].get<double>() == doctest::Approx(2.0 / 3));
  CHECK(json["labels"][2]["support"] == 2);
  CHECK(json["labels"][3]["precision"].is_null());  // never predicted
  CHECK(json["labels"][3]["recall"] == 0);
}

TEST_CASE("an entity that is given twice counts once, and scores are NaN if there are no entities") {
  TagEvaluation evaluation;
  CHECK(std::isnan(evaluation.micro().f1));
  CHECK(std::isnan(evaluation.macro().f1));
  CHECK(evaluation.text().find("micro average") != std::string::npos);
  evaluation.add({{0, 4, "A"}, {0, 4, "A"}, {5, 6, "A"}}, {{0, 4, "A"}, {0, 4, "A"}, {5, 6, "B"}});
  CHECK(evaluation.micro().precision == 0.5);
  CHECK(evaluation.micro().recall == 0.5);
}

TEST_CASE("answers are compared word by word as SQuAD's script does it") {
  CHECK(normalized_words("The Quick-Brown fox, a.k.a. \"the\" FOX!") == Labels{"quickbrown", "fox", "aka", "fox"});
  CHECK(normalized_words("\u201cthe\u201d \u00c9t\u00e9 an\u2013a") ==
        Labels{"\u201c", "\u201d", "\u00e9t\u00e9", "\u2013"});
  CHECK(normalized_words("a_an the") == Labels{"aan"});
  CHECK(normalized_words("  A  ").empty());
  CHECK(normalized_words("theatre an") == Labels{"theatre"});
  CHECK(normalized_words("x\u00a0the\u2003y") == Labels{"x", "y"});
  CHECK(normalized_words("\xff the").size() == 1);

  AnswerEvaluation evaluation;
  CHECK(std::isnan(evaluation.f1()));
  evaluation.add({"nobody", "a red red fox"}, "the fox, red");  // shares red and fox: 2 * 2 / (3 + 2)
  evaluation.add({"", "the"}, "");
  evaluation.add({}, "fox");
  evaluation.add({"The fox!"}, "fox");
  CHECK(evaluation.exact_match() == 0.5);
  CHECK(evaluation.f1() == doctest::Approx((0.8 + 1 + 0 + 1) / 4));
}

}  // namespace linformer_test::span_evaluation_test
