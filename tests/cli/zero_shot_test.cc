#include <doctest/doctest.h>

#include <cmath>

#include "process.h"
#include "refused.h"
#include "sentiment_model.h"

namespace linformer_test::zero_shot_test {

using nlohmann::json;

namespace {

SentimentModel nli_model() {
  SentimentModel shape;
  shape.max_tokens = 20;
  shape.labels = {"contradiction", "neutral", "entailment"};
  return shape;
}

double probability_of(const json& answer, const std::string& label) {
  for (const json& score : answer["scores"]) {
    if (score["label"] == label) return score["probability"].get<double>();
  }
  return -1;
}

}  // namespace

TEST_CASE("zero-shot: labels follow from the classes of the pairs as in transformers") {
  const CliFixture f(nli_model());
  const std::vector<std::string> labels = {"good", "bad", "plot"};
  const std::string text = "the good film";
  std::vector<double> entailment, contradiction;
  for (const std::string& label : labels) {
    const json said =
        json_lines(run({"classify", f.model(), text, "--pair-text", "a " + label + " film.", "--json"}).out)[0];
    entailment.push_back(probability_of(said, "entailment"));
    contradiction.push_back(probability_of(said, "contradiction"));
  }
  const auto zero_shot = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"classify", f.model(), text, "--hypothesis", "a {} film.", "--json"});
    return run(more);
  };
  const Ran several = zero_shot({"--zero-shot", "good, bad,plot", "--multi-label"});
  CHECK(several.code == 0);
  CHECK(several.err == "");
  const json answer = json_lines(several.out)[0];
  CHECK(answer["id"] == 1);
  CHECK(answer["scores"].size() == 3);
  CHECK(answer["scores"][0]["label"] == "good");
  for (size_t i = 0; i < 3; ++i) {
    const double expected = entailment[i] / (entailment[i] + contradiction[i]);
    CHECK(probability_of(answer, labels[i]) == doctest::Approx(expected).epsilon(1e-5));
  }
  const json one = json_lines(zero_shot({"--zero-shot", "good,bad,plot"}).out)[0];
  double sum = 0, last = 2;
  for (const json& score : one["scores"]) {
    sum += score["probability"].get<double>();
    CHECK(score["probability"].get<double>() <= last);
    last = score["probability"].get<double>();
  }
  CHECK(sum == doctest::Approx(1));
  CHECK(one["label"] == "good");
  const std::string columns = run({"classify", f.model(), text, "--hypothesis", "a {} film.", "--zero-shot",
                                   "good,bad,plot", "--multi-label", "--output-format", "tsv"})
                                  .out;
  CHECK(columns.starts_with("id\tlabel\tprobability\tlabel_2\tprobability_2\tlabel_3\tprobability_3\t"));
  // If --zero-shot is given several times, each value is one label, even with commas.
  const json commas = json_lines(zero_shot({"--zero-shot", "good, bad", "--zero-shot", "plot"}).out)[0];
  CHECK(commas["scores"].size() == 2);
  CHECK(probability_of(commas, "good, bad") > 0);
  // The number of threads and the batch size make no difference.
  const std::string file = f.file("t.txt", "good film\nbad\n\nthe plot of a film\n");
  const auto file_answers = [&](const char* threads, const char* batch) {
    return run({"classify", f.model(), "-i", file, "--zero-shot", "good,bad", "--threads", threads, "--batch", batch})
        .out;
  };
  CHECK(file_answers("1", "16") == file_answers("3", "1"));
  CHECK(lines_of(file_answers("1", "16")).size() == 4);
}

TEST_CASE("zero-shot: --eval compares with the labels of --zero-shot") {
  const CliFixture f(nli_model());
  const std::string file = f.file("t.jsonl",
                                  "{\"text\":\"good good film\",\"label\":\"good\"}\n"
                                  "{\"text\":\"good\",\"label\":\"bad\"}\n");
  const Ran ran = run({"classify", f.model(), "-i", file, "--zero-shot", "good,bad", "--eval", "label", "--json"});
  CHECK(ran.code == 0);
  CHECK(json_lines(ran.out)[0]["evaluation"]["accuracy"] == 0.5);
}

TEST_CASE("zero-shot: conflicting options, and models without a class for entailment, are refused") {
  const CliFixture f(nli_model()), other;
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = {"classify", f.model(), "good", "--zero-shot", "good,bad"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  check_refused({"classify", other.model(), "good", "--zero-shot", "a,b"}, 1, "natural language inference");
  check_refused({"classify", f.model(), "good", "--zero-shot", ""}, 2, "no labels");
  check_refused({"classify", f.model(), "good", "--zero-shot", "a", "--zero-shot", ""}, 2, "label 1 is empty");
  check_refused({"classify", f.model(), "good", "--multi-label"}, 2, "goes with --zero-shot");
  check_refused({"classify", f.model(), "good", "--hypothesis", "a {}"}, 2, "goes with --zero-shot");
  check_refused(with({"--hypothesis", "no place"}), 2, "{}");
  check_refused(with({"--pair-text", "film"}), 2, "a second text");
  check_refused(with({"--all-heads"}), 2, "--all-heads");
  check_refused(with({"--head", "sentiment,topic"}), 2, "one head");
  check_refused(with({"--logits", f.path("l.npy")}), 2, "--logits");
  check_refused(with({"--truncation", "only_second"}), 2, "the text is cut");
  check_refused({"classify", f.model(), "-i", f.file("t.csv", "text,label\na,b\n"), "--zero-shot", "a,b",
                 "--multi-label", "--eval", "label"},
                2, "--multi-label");
}

}  // namespace linformer_test::zero_shot_test
