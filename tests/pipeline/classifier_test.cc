#include "linformer/classifier.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "pipeline/loaded_model.h"
#include "pipeline/sentences.h"

namespace linformer_test::classifier_test {
namespace {

using namespace linformer;

Classifier make(const LoadedModel& loaded, const ClassifierOptions& options = {}) {
  Result<Classifier> made = Classifier::create(loaded.model, options);
  REQUIRE_MESSAGE(made.ok(), made.status().message());
  return std::move(*made);
}

// Returns the probabilities that a session computes for one text.
std::vector<float> session_result(const LoadedModel& loaded, std::string_view text, bool* cut = nullptr) {
  const Tokenizer tokenizer = std::move(*Tokenizer::create(loaded.model));
  Session session = std::move(*Session::create(loaded.model, {}));
  EncodeOptions options;
  options.max_length = loaded.model->info().max_tokens;
  Encoding encoding;
  REQUIRE(tokenizer.encode(text, options, &encoding).ok());
  if (cut != nullptr) *cut = encoding.truncated();
  std::vector<float> probabilities(static_cast<size_t>(session.classes(0)));
  const Tokens texts[] = {encoding.ids()};
  REQUIRE(session.run(texts, {Output::probabilities(probabilities)}).ok());
  return probabilities;
}

TEST_CASE("a classifier gives the same bits as a session, with any number of threads and any batch") {
  const LoadedModel loaded;
  const std::vector<std::string> sentences = random_sentences(700, 30, 1);
  std::vector<float> expected;
  for (const std::string& sentence : sentences) {
    for (const float value : session_result(loaded, sentence)) expected.push_back(value);
  }
  for (const int threads : {1, 2, 3}) {
    for (const int64_t batch : {1, 5, 64}) {
      CAPTURE(threads);
      CAPTURE(batch);
      ClassifierOptions options;
      options.texts.cpu.threads = threads;
      options.texts.max_batch = batch;
      Classifier classifier = make(loaded, options);
      REQUIRE(classifier.classes() == 3);
      std::vector<float> probabilities(expected.size() + 5, 7.f);
      const Status status = classifier.classify(views_of(sentences), probabilities);
      REQUIRE_MESSAGE(status.ok(), status.message());
      CHECK(std::memcmp(probabilities.data(), expected.data(), expected.size() * sizeof(float)) == 0);
      for (size_t i = expected.size(); i < probabilities.size(); ++i) CHECK(probabilities[i] == 7.f);
    }
  }
}

TEST_CASE("texts are visited in order with a report of each, and texts with errors keep their place") {
  SentimentModel shape;
  shape.more_heads = true;
  const LoadedModel loaded(shape);
  ClassifierOptions options;
  options.texts.on_long = OnLong::error;
  options.texts.cpu.threads = 2;
  const int heads[] = {1, 0};
  options.heads = heads;
  Classifier classifier = make(loaded, options);
  CHECK(classifier.classes(0) == 4);
  CHECK(classifier.classes(1) == 3);
  CHECK(classifier.classes(2) == 0);
  const std::string longer(1000, 'a');
  std::vector<TextInput> inputs(300, TextInput{"good film", {}, {}});
  std::string many;
  for (int i = 0; i < 40; ++i) many += "good ";
  inputs[7].text = inputs[150].text = many;
  size_t next = 0, errors = 0;
  const Status status = classifier.classify(inputs, [&](size_t index, const Classification& made) {
    CHECK(index == next++);
    if (made.report.status.ok()) {
      CHECK(made.report.tokens == 4);
      CHECK_FALSE(made.report.truncated());
      CHECK(made.logits(0).size() == 4);
      CHECK(made.probabilities(1).size() == 3);
      CHECK(made.probabilities(1)[2] > made.probabilities(1)[0]);
    } else {
      ++errors;
      CHECK((index == 7 || index == 150));
      CHECK(made.report.status.code() == Code::too_long);
      CHECK(std::string_view(made.report.status.message()).find("42 tokens") != std::string_view::npos);
      CHECK(made.values.empty());
      CHECK(made.logits(1).empty());
    }
    return true;
  });
  CHECK_MESSAGE(status.ok(), status.message());
  CHECK(next == inputs.size());
  CHECK(errors == 2);
  // The overload with one array for all probabilities names the text in its error.
  std::vector<std::string_view> texts(20, "good");
  texts[11] = many;
  std::vector<float> probabilities(20 * 4);
  const Status refused = classifier.classify(texts, probabilities);
  CHECK(refused.code() == Code::too_long);
  CHECK(std::string_view(refused.message()).starts_with("text 11: "));
}

TEST_CASE("a visitor that returns false stops a classifier's call") {
  const LoadedModel loaded;
  Classifier classifier = make(loaded);
  const std::vector<TextInput> inputs(100, TextInput{"good", {}, {}});
  size_t visits = 0;
  CHECK(classifier.classify(inputs, [&](size_t, const Classification&) { return ++visits < 3; }).ok());
  CHECK(visits == 3);
}

TEST_CASE("a long text is read in windows, and its scores are the means over the windows") {
  const LoadedModel loaded;
  std::string text;
  for (int i = 0; i < 25; ++i) text += i < 5 ? "good " : "bad ";
  ClassifierOptions options;
  options.texts.on_long = OnLong::window;
  options.texts.overlap = 0;
  Classifier classifier = make(loaded, options);
  const TextInput inputs[] = {{text, {}, {}}};
  std::vector<float> mean(3);
  CHECK(classifier
            .classify(inputs,
                      [&](size_t, const Classification& made) {
                        CHECK(made.report.windows == 3);  // Each has 10 tokens, and the last one reaches the end.
                        CHECK(made.report.tokens == 27);
                        mean.assign(made.probabilities().begin(), made.probabilities().end());
                        return true;
                      })
            .ok());
  std::vector<float> expected(3);
  for (const int first : {0, 10, 15}) {
    std::string window;
    for (int i = first; i < first + 10; ++i) window += i < 5 ? "good " : "bad ";
    const std::vector<float> part = session_result(loaded, window);
    for (size_t c = 0; c < 3; ++c) expected[c] += part[c] / 3;
  }
  for (size_t c = 0; c < 3; ++c) CHECK(mean[c] == doctest::Approx(expected[c]).epsilon(1e-6));
}

TEST_CASE("windows can have no template, and texts of padding only are an error of the text") {
  const LoadedModel loaded;
  ClassifierOptions options;
  options.texts.on_long = OnLong::window;
  options.texts.overlap = 0;
  options.texts.add_special_tokens = false;
  Classifier classifier = make(loaded, options);
  std::string words, pads = "good ";
  for (int i = 0; i < 24; ++i) words += "good ", pads += "[PAD] ";
  const TextInput inputs[] = {{words, {}, {}}, {pads, {}, {}}, {"good", {}, {}}};
  std::vector<Code> codes;
  const Status status = classifier.classify(inputs, [&](size_t index, const Classification& made) {
    if (index == 0) CHECK(made.report.windows == 2);  // Each has 12 tokens.
    codes.push_back(made.report.status.code());
    return true;
  });
  CHECK_MESSAGE(status.ok(), status.message());
  CHECK(codes == std::vector{Code::ok, Code::invalid_argument, Code::ok});
}

TEST_CASE("heads that compare two texts read pairs") {
  SentimentModel shape;
  shape.more_heads = true;
  const LoadedModel loaded(shape);
  const int better[] = {loaded.model->find_head("better")};
  REQUIRE(better[0] >= 0);
  CHECK(loaded.model->head(better[0]).compares_two);
  ClassifierOptions options;
  options.heads = better;
  options.texts.max_batch = 5;
  Classifier classifier = make(loaded, options);
  std::vector<TextInput> inputs;
  for (int i = 0; i < 50; ++i) {
    inputs.push_back({i % 2 == 0 ? "good good" : "film", {}, {}});
    if (i != 13) inputs.back().pair = i % 2 == 0 ? "film" : "good good";
  }
  size_t next = 0;
  const Status status = classifier.classify(inputs, [&](size_t index, const Classification& made) {
    CHECK(index == next++);
    CHECK(made.report.status.ok() == (index != 13));
    if (index == 13) return true;
    CHECK((made.logits()[0] > made.logits()[1]) == (index % 2 == 0));
    CHECK(made.report.tokens == 7);
    return true;
  });
  CHECK_MESSAGE(status.ok(), status.message());
  CHECK(next == 50);
  // The probabilities of pairs can be written to an array.
  const TextInput pairs[] = {{"good good", "film", {}}, {"film", "good good", {}}};
  float probabilities[4];
  CHECK(classifier.classify(pairs, probabilities).ok());
  CHECK(probabilities[0] > probabilities[1]);
  CHECK(probabilities[2] < probabilities[3]);
  const int both[] = {0, better[0]};
  options.heads = both;
  CHECK(Classifier::create(loaded.model, options).status().code() == Code::invalid_argument);
  const int words[] = {loaded.model->find_head("words")};
  options.heads = words;
  CHECK(Classifier::create(loaded.model, options).status().code() == Code::invalid_argument);
}

TEST_CASE("a model that reads vectors classifies vectors") {
  SentimentModel shape;
  shape.vectors = true;
  shape.tokenizer = false;
  const LoadedModel loaded(shape);
  CHECK(loaded.model->info().vector_width == sentiment_width);
  Classifier classifier = make(loaded);
  std::vector<float> vectors(3 * sentiment_width, 0.5f), wrong(sentiment_width + 1), many(20 * sentiment_width);
  const TextInput inputs[] = {{{}, {}, vectors}, {{}, {}, wrong}, {{}, {}, many}, {"good", {}, {}}, {{}, {}, vectors}};
  std::vector<Code> codes;
  CHECK(classifier
            .classify(inputs,
                      [&](size_t, const Classification& made) {
                        codes.push_back(made.report.status.code());
                        return true;
                      })
            .ok());
  CHECK(codes == std::vector{Code::ok, Code::invalid_argument, Code::too_long, Code::invalid_argument, Code::ok});
}

TEST_CASE("the report of a text that is too long has the limit and the lengths") {
  const LoadedModel loaded;
  const auto words = [](int count) {
    std::string text = "film";
    for (int i = 1; i < count; ++i) text += " film";
    return text;
  };
  const auto beyond = [&](int first, int second, auto&& change) {
    ClassifierOptions options;
    options.texts.on_long = OnLong::window;
    change(&options.texts);
    Classifier classifier = make(loaded, options);
    const std::string text = words(first), pair = words(std::max(second, 1));
    TextInput input{text, {}, {}};
    if (second > 0) input.pair = pair;
    BeyondLimit found;
    const TextInput inputs[] = {input};
    const Status status = classifier.classify(inputs, [&](size_t, const Classification& made) {
      CHECK((made.report.status.code() == Code::too_long) == (made.report.beyond.limit != TextLimit::none));
      found = made.report.beyond;
      return true;
    });
    CHECK_MESSAGE(status.ok(), status.message());
    return found;
  };
  const auto as_it_is = [](TextOptions*) {};
  CHECK(beyond(30, 0, as_it_is).limit == TextLimit::none);
  const BeyondLimit tokens = beyond(30, 0, [](TextOptions* texts) { texts->on_long = OnLong::error; });
  CHECK(tokens.limit == TextLimit::tokens);
  CHECK(tokens.tokens == 32);  // This includes the two tokens of the template.
  CHECK(tokens.max_tokens == 12);
  const BeyondLimit room = beyond(9, 20, as_it_is);
  CHECK(room.limit == TextLimit::room);
  CHECK(room.text == 0);
  CHECK(room.tokens == 9);
  CHECK(room.room == 0);
  CHECK_FALSE(room.other_fits);
  const BeyondLimit other = beyond(2, 20, [](TextOptions* texts) { texts->truncation = Truncation::only_first; });
  CHECK(other.limit == TextLimit::room);
  CHECK(other.text == 1);
  CHECK(other.tokens == 20);
  CHECK(other.other_fits);
  const BeyondLimit overlap = beyond(4, 20, [](TextOptions* texts) { texts->overlap = 5; });
  CHECK(overlap.limit == TextLimit::overlap);
  CHECK(overlap.text == 0);
  CHECK(overlap.tokens == 4);
  CHECK(overlap.room == 5);
  CHECK(overlap.max_tokens == 12);
}

TEST_CASE("a classifier refuses unsuitable options with an error that names them") {
  const LoadedModel loaded;
  const auto refusal = [&](auto&& change) {
    ClassifierOptions options;
    change(&options);
    const Result<Classifier> made = Classifier::create(loaded.model, options);
    return made.ok() ? std::string() : std::string(made.status().message());
  };
  const auto says = [](const std::string& message, const char* part) {
    CAPTURE(message);
    CHECK(message.find(part) != std::string::npos);
  };
  const int absent_head[] = {9};
  says(refusal([&](auto* o) { o->heads = absent_head; }), "classification head 9");
  says(refusal([](auto* o) { o->texts.max_tokens = 2; }), "no room");
  says(refusal([](auto* o) { o->texts.max_tokens = 13; }), "max_tokens is 13");
  says(refusal([](auto* o) { o->texts.overlap = 10; }), "overlap 10");
  says(refusal([](auto* o) { o->texts.cpu.threads = 0; }), "threads is 0");
  says(refusal([](auto* o) { o->texts.max_batch = 0; }), "max_batch is 0");
  says(refusal([](auto* o) { o->texts.max_batch = INT64_MAX; }), "max_batch is 9223372036854775807");
  says(refusal([](auto* o) { o->texts.pad_to = 13; }), "pad_to is 13");
  says(refusal([](auto* o) { o->texts.pad_to = -5; }), "pad_to is -5");
  says(refusal([](auto* o) { o->texts.pad_to = INT64_MAX; }), "pad_to is 9223372036854775807");
  says(refusal([](auto* o) { o->texts.max_tokens = INT64_MAX; }), "max_tokens is 9223372036854775807");
  CHECK(refusal([](auto*) {}).empty());
  CHECK(Classifier::create(nullptr).status().code() == Code::invalid_argument);
  SentimentModel bare;
  bare.tokenizer = false;
  const LoadedModel without(bare);
  CHECK(Classifier::create(without.model).status().code() == Code::unsupported);
  Classifier classifier = make(loaded);
  std::vector<float> few(2);
  const std::string_view texts[] = {"good"};
  CHECK(classifier.classify(texts, few).code() == Code::too_long);
  CHECK(classifier.classify(std::span<const std::string_view>(), few).ok());
}

}  // namespace
}  // namespace linformer_test::classifier_test
