// Tests many threads that use one model, and calls that are stopped.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "linformer/classifier.h"
#include "pipeline/sentences.h"

namespace linformer_test::threads_test {
namespace {

using namespace linformer;

TEST_CASE("16 threads with sessions and classifiers of one model give the same bits") {
  const CliFixture f;
  const std::shared_ptr<const Model> model = *Model::load(f.model().c_str());
  const std::vector<std::string> sentences = random_sentences(64, 10, 3);
  const std::vector<std::string_view> texts = views_of(sentences);
  std::vector<float> expected(64 * 3);
  REQUIRE(Classifier::create(model)->classify(texts, expected).ok());
  const std::shared_ptr<const PreparedWeights> weights = *PreparedWeights::create(model);
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      if (t % 2 == 0) {
        ClassifierOptions options;
        options.texts.cpu.threads = 1 + t % 3;
        Result<Classifier> classifier = Classifier::create(model, options);
        std::vector<float> values(64 * 3);
        for (int round = 0; round < 3; ++round) {
          right += classifier->classify(texts, values).ok() && values == expected;
        }
      } else {
        Result<Session> session = Session::create(weights, {});
        const Tokenizer tokenizer = std::move(*Tokenizer::create(model));
        Encoding encoding;
        EncodeOptions options;
        options.max_length = 12;
        for (int round = 0; round < 3; ++round) {
          bool same = true;
          for (size_t i = 0; i < texts.size(); ++i) {
            float values[3];
            same = same && tokenizer.encode(texts[i], options, &encoding).ok();
            const Tokens tokens[] = {encoding.ids()};
            same = same && session->run(tokens, {Output::probabilities(values)}).ok() &&
                   std::equal(values, values + 3, expected.begin() + static_cast<ptrdiff_t>(3 * i));
          }
          right += same;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 16 * 3);
}

TEST_CASE("a classifier's call stops when its flag is set, and the next call is complete") {
  const CliFixture f;
  const std::shared_ptr<const Model> model = *Model::load(f.model().c_str());
  const std::vector<std::string> sentences = random_sentences(5000, 10, 4);
  const std::vector<std::string_view> texts = views_of(sentences);
  for (const int threads : {1, 3}) {
    ClassifierOptions options;
    options.texts.cpu.threads = threads;
    Classifier classifier = std::move(*Classifier::create(model, options));
    std::vector<float> expected(texts.size() * 3), values(texts.size() * 3);
    REQUIRE(classifier.classify(texts, expected).ok());
    std::atomic<bool> cancel{true};
    RunControl control;
    control.cancel = &cancel;
    CHECK(classifier.classify(texts, values, control).code() == Code::cancelled);
    // The progress callback sets the flag when more than the share `at` is done. With 2 it never sets it.
    cancel = false;
    struct Seen {
      std::atomic<bool>* cancel;
      double last = 0, at = 2;
      bool grows = true;
    } seen{&cancel};
    control.progress = [](void* context, double share) {
      Seen& s = *static_cast<Seen*>(context);
      s.grows = s.grows && share > s.last;
      s.last = share;
      if (share > s.at) *s.cancel = true;
    };
    control.context = &seen;
    CHECK(classifier.classify(texts, values, control).ok());
    CHECK(seen.grows);
    CHECK(seen.last == 1);
    CHECK(values == expected);
    seen = {&cancel, 0, 0.1, true};
    CHECK(classifier.classify(texts, values, control).code() == Code::cancelled);
    CHECK(seen.last < 1);
    cancel = false;
    seen = {&cancel};
    CHECK(classifier.classify(texts, values, control).ok());
    CHECK(values == expected);
  }
}

TEST_CASE("a call that was stopped within a batch doesn't change the results of the next one") {
  const CliFixture f;
  const std::shared_ptr<const Model> model = *Model::load(f.model().c_str());
  const std::vector<std::string> sentences = random_sentences(2000, 10, 7);
  const std::vector<std::string_view> texts = views_of(sentences);
  std::vector<float> expected(texts.size() * 3), values(texts.size() * 3);
  REQUIRE(Classifier::create(model)->classify(texts, expected).ok());
  for (const int threads : {1, 2}) {
    // The first of three events stops the call: a number of calls of `parallel`, a timer in another thread, or a share
    // of the progress. On a busy machine the timer may be too late, but the progress always stops the call.
    struct Stop {
      std::atomic<bool> cancel{false};
      std::atomic<int> left{0};
      double share = 2;
    } stop;
    ClassifierOptions options;
    options.texts.cpu.threads = threads;
    options.texts.cpu.parallel_context = &stop;
    options.texts.cpu.parallel = [](void* context, void (*task)(void*, int), void* argument, int count) {
      Stop& s = *static_cast<Stop*>(context);
      for (int i = 0; i < count; ++i) task(argument, i);
      if (--s.left == 0) s.cancel = true;
    };
    Classifier classifier = std::move(*Classifier::create(model, options));
    RunControl control;
    control.cancel = &stop.cancel;
    control.context = &stop;
    control.progress = [](void* context, double share) {
      Stop& s = *static_cast<Stop*>(context);
      if (share > s.share) s.cancel = true;
    };
    int stopped = 0;
    for (int after = 1; after < 20; ++after) {
      // Another thread sets the flag after a short time.
      stop.cancel = false;
      stop.left = after;
      stop.share = 0.05 * after;
      std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::microseconds(50 * after));
        stop.cancel = true;
      });
      const Status status = classifier.classify(texts, values, control);
      other.join();
      stopped += status.code() == Code::cancelled;
      CHECK((status.ok() || status.code() == Code::cancelled));
      stop.cancel = false;
      stop.left = 0;
      stop.share = 2;
      std::fill(values.begin(), values.end(), -1.f);
      const size_t few = static_cast<size_t>(after % 5);
      CHECK(classifier.classify(std::span(texts).first(few), values, control).ok());
      CHECK(std::equal(values.begin(), values.begin() + static_cast<ptrdiff_t>(3 * few), expected.begin()));
      for (size_t i = 3 * few; i < values.size(); ++i) REQUIRE(values[i] == -1.f);
    }
    CHECK(stopped > 0);
  }
}

TEST_CASE("a call of a classifier uses only the calling thread if its control says so") {
  const CliFixture f;
  const std::shared_ptr<const Model> model = *Model::load(f.model().c_str());
  const std::vector<std::string> sentences = random_sentences(500, 10, 8);
  std::vector<float> values(500 * 3);
  ClassifierOptions options;
  options.texts.cpu.threads = 3;
  static std::atomic<int> calls;
  calls = 0;
  options.texts.cpu.parallel = [](void*, void (*task)(void*, int), void* argument, int count) {
    ++calls;
    for (int i = 0; i < count; ++i) task(argument, i);
  };
  Classifier classifier = std::move(*Classifier::create(model, options));
  RunControl control;
  control.one_thread = true;
  CHECK(classifier.classify(views_of(sentences), values, control).ok());
  CHECK(calls == 0);
  CHECK(classifier.classify(views_of(sentences), values).ok());
  CHECK(calls > 0);
}

TEST_CASE("the caller's threads do all the work") {
  const CliFixture f;
  const std::shared_ptr<const Model> model = *Model::load(f.model().c_str());
  const std::vector<std::string> sentences = random_sentences(500, 10, 5);
  std::vector<float> expected(500 * 3), values(500 * 3);
  REQUIRE(Classifier::create(model)->classify(views_of(sentences), expected).ok());
  ClassifierOptions options;
  options.texts.cpu.threads = 3;
  static std::atomic<int> calls;
  calls = 0;
  options.texts.cpu.parallel = [](void*, void (*task)(void*, int), void* argument, int count) {
    ++calls;
    for (int i = count; i-- > 0;) task(argument, i);
  };
  CHECK(Classifier::create(model, options)->classify(views_of(sentences), values).ok());
  CHECK(values == expected);
  CHECK(calls > 0);
}

}  // namespace
}  // namespace linformer_test::threads_test
