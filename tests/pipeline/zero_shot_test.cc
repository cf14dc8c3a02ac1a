#include "linformer/zero_shot.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "linformer/classifier.h"
#include "pipeline/created.h"
#include "pipeline/loaded_model.h"
#include "pipeline/sentences.h"

namespace linformer_test::zero_shot_test {
namespace {

using namespace linformer;

using Names = std::vector<std::string>;

SentimentModel nli_model(const Names& labels = {"contradiction", "neutral", "Entailment"}) {
  SentimentModel shape;
  shape.max_tokens = 16;
  shape.labels = labels;
  return shape;
}

const std::vector<std::string_view> three = {"good", "bad", "plot"};

ZeroShotClassifier make(const LoadedModel& loaded, ZeroShotOptions options) {
  if (options.labels.empty()) options.labels = three;
  return created(ZeroShotClassifier::create(loaded.model, options));
}

Status refusal(const LoadedModel& loaded, const ZeroShotOptions& options) {
  return ZeroShotClassifier::create(loaded.model, options).status();
}

// Returns the logits of the head for a text and the hypothesis of a label.
std::vector<double> logits_of(const LoadedModel& loaded, const std::string& text, const std::string& sentence) {
  ClassifierOptions options;
  options.texts.truncation = Truncation::only_first;
  Classifier classifier = std::move(*Classifier::create(loaded.model, options));
  std::vector<double> logits;
  const TextInput inputs[] = {{text, sentence, {}}};
  const Status status = classifier.classify(inputs, [&](size_t, const Classification& made) {
    logits.assign(made.logits().begin(), made.logits().end());
    return true;
  });
  CHECK_MESSAGE(status.ok(), status.message());
  return logits;
}

std::vector<double> probabilities_of(ZeroShotClassifier* classifier, const std::string& text) {
  std::vector<double> probabilities(classifier->labels(), -1);
  const std::string_view texts[] = {text};
  const Status status = classifier->classify(texts, [&](size_t, const ZeroShotClassification& made) {
    CHECK(made.scores.size() == probabilities.size());
    double last = 2;
    for (const LabelScore& score : made.scores) {
      CHECK(static_cast<double>(score.probability) <= last);
      last = static_cast<double>(score.probability);
      probabilities[score.label] = last;
    }
    return true;
  });
  CHECK_MESSAGE(status.ok(), status.message());
  return probabilities;
}

TEST_CASE("zero-shot probabilities are a softmax of entailment over the labels, or against contradiction") {
  const LoadedModel loaded(nli_model());
  ZeroShotOptions options;
  options.hypothesis = "a {} film.";
  ZeroShotClassifier together = make(loaded, options);
  CHECK(together.entailment() == 2);
  options.multi_label = true;
  ZeroShotClassifier apart = make(loaded, options);
  for (const std::string text : {"good film", "bad bad plot", "", "the plot good"}) {
    const std::vector<double> one = probabilities_of(&together, text), several = probabilities_of(&apart, text);
    double sum = 0;
    std::vector<double> entails;
    for (size_t i = 0; i < three.size(); ++i) {
      const std::vector<double> logits = logits_of(loaded, text, "a " + std::string(three[i]) + " film.");
      entails.push_back(std::exp(logits[2]));
      sum += entails.back();
      CHECK(several[i] == doctest::Approx(std::exp(logits[2]) / (std::exp(logits[0]) + std::exp(logits[2]))));
    }
    for (size_t i = 0; i < three.size(); ++i) CHECK(one[i] == doctest::Approx(entails[i] / sum));
  }
}

TEST_CASE("a single zero-shot label is compared with contradiction, the last class if entailment is the first") {
  const LoadedModel loaded(nli_model({"entailment", "neutral", "contradiction"}));
  ZeroShotOptions options;
  options.labels = {three.data(), 1};
  options.hypothesis = "{}";
  ZeroShotClassifier classifier = make(loaded, options);
  CHECK(classifier.entailment() == 0);
  const std::vector<double> logits = logits_of(loaded, "bad film", "good");
  const double expected = std::exp(logits[0]) / (std::exp(logits[0]) + std::exp(logits[2]));
  CHECK(probabilities_of(&classifier, "bad film")[0] == doctest::Approx(expected));
}

TEST_CASE("if zero-shot classes have no names, the last class is entailment") {
  for (const Names& names : {Names(), Names({"LABEL_0", "LABEL_1", "label_2"})}) {
    const LoadedModel loaded(nli_model(names));
    CHECK(make(loaded, {}).entailment() == 2);
  }
}

TEST_CASE("only the text is cut in zero-shot classification, and texts with errors keep their place") {
  const LoadedModel loaded(nli_model());
  ZeroShotOptions options;
  options.hypothesis = "the {} .";
  ZeroShotClassifier cutting = make(loaded, options);
  std::string longer;
  for (int i = 0; i < 40; ++i) longer += i < 3 ? "good " : "bad ";
  const std::vector<std::string_view> texts = {"good", longer, "bad"};
  size_t next = 0;
  CHECK(cutting
            .classify(texts,
                      [&](size_t index, const ZeroShotClassification& made) {
                        CHECK(index == next++);
                        CHECK(made.report.status.ok());
                        CHECK(made.report.truncated() == (index == 1));
                        return true;
                      })
            .ok());
  CHECK(next == 3);
  options.texts.on_long = OnLong::error;
  ZeroShotClassifier strict = make(loaded, options);
  next = 0;
  CHECK(strict
            .classify(texts,
                      [&](size_t index, const ZeroShotClassification& made) {
                        CHECK(index == next++);
                        CHECK((made.report.status.code() == Code::too_long) == (index == 1));
                        CHECK(made.scores.empty() == (index == 1));
                        return true;
                      })
            .ok());
  CHECK(next == 3);
}

TEST_CASE("zero-shot probabilities have the same bits with any threads and batches, and a visitor can stop the call") {
  const LoadedModel loaded(nli_model());
  const std::vector<std::string> sentences = random_sentences(200, 20, 2);
  std::vector<LabelScore> expected;
  for (const int threads : {1, 3}) {
    for (const int64_t batch : {16, 1}) {
      ZeroShotOptions options;
      options.texts.cpu.threads = threads;
      options.texts.max_batch = batch;
      ZeroShotClassifier classifier = make(loaded, options);
      std::vector<LabelScore> all;
      CHECK(classifier
                .classify(views_of(sentences),
                          [&](size_t, const ZeroShotClassification& made) {
                            all.insert(all.end(), made.scores.begin(), made.scores.end());
                            return true;
                          })
                .ok());
      CHECK(all.size() == 3 * sentences.size());
      if (expected.empty()) expected = all;
      bool same = all.size() == expected.size();
      for (size_t i = 0; same && i < all.size(); ++i) {
        same = all[i].label == expected[i].label && all[i].probability == expected[i].probability;
      }
      CHECK(same);
      size_t visits = 0;
      CHECK(
          classifier.classify(views_of(sentences), [&](size_t, const ZeroShotClassification&) { return ++visits < 5; })
              .ok());
      CHECK(visits == 5);
    }
  }
}

TEST_CASE("invalid labels and hypotheses, and models without entailment, are refused") {
  const LoadedModel loaded(nli_model());
  ZeroShotOptions options;
  CHECK(refusal(loaded, options).code() == Code::invalid_argument);
  const std::vector<std::string_view> empty = {"good", ""};
  options.labels = empty;
  CHECK(refusal(loaded, options).code() == Code::invalid_argument);
  options.labels = three;
  for (const std::string_view hypothesis : {"", "no place", "{} and {}", "{", "{0}", "{}}", "{{}}"}) {
    CAPTURE(hypothesis);
    options.hypothesis = hypothesis;
    CHECK(refusal(loaded, options).code() == Code::invalid_argument);
  }
  options.hypothesis = "{}";
  options.head = 7;
  CHECK(refusal(loaded, options).code() == Code::invalid_argument);
  options.head = 0;
  const LoadedModel other;
  const Status refused = refusal(other, options);
  CHECK(refused.code() == Code::unsupported);
  CHECK(std::string_view(refused.message()).find("'neg'") != std::string_view::npos);
  SentimentModel numbers;
  numbers.numbers = numbers.more_heads = true;
  const LoadedModel many(numbers);
  for (const char* name : {"relevance", "better", "words"}) {
    options.head = many.model->find_head(name);
    CHECK(refusal(many, options).code() == Code::unsupported);
  }
  SentimentModel none;
  none.heads = false;
  options.head = 0;
  CHECK(refusal(LoadedModel(none), options).code() == Code::unsupported);
}

}  // namespace
}  // namespace linformer_test::zero_shot_test
