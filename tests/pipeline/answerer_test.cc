// Compares an Answerer with a plain implementation of transformers 4's QuestionAnsweringPipeline on the outputs of
// sessions.
#include "linformer/answerer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cmath>
#include <vector>

#include "pipeline/created.h"
#include "pipeline/loaded_model.h"
#include "pipeline/token_model.h"
#include "support/case_step.h"

namespace linformer_test::answerer_test {
namespace {

using namespace linformer;

struct Found {
  std::string text;
  double score;
  uint32_t begin, end;
  bool no_answer;
};

struct Answered {
  Code code;
  int64_t windows;
  std::vector<Found> answers;
};

Answerer make(const std::shared_ptr<const Model>& model, const AnswererOptions& options = {}) {
  return created(Answerer::create(model, options));
}

std::vector<Answered> answer(Answerer& answerer, const TextList& questions) {
  std::vector<Answered> all;
  const Status status = answerer.answer(questions, [&](size_t index, const Answers& made) {
    CHECK(index == all.size());
    Answered one{made.report.status.code(), made.report.windows, {}};
    for (const Answer& found : made.answers) {
      one.answers.push_back({std::string(found.text), static_cast<double>(found.score), found.offset.begin,
                             found.offset.end, found.no_answer});
    }
    all.push_back(std::move(one));
    return true;
  });
  CHECK_MESSAGE(status.ok(), status.message());
  CHECK(all.size() == questions.size());
  return all;
}

void check_same(const std::vector<Answered>& made, const std::vector<Answered>& expected, double tolerance) {
  REQUIRE(made.size() == expected.size());
  for (size_t i = 0; i < made.size(); ++i) {
    CAPTURE(i);
    CHECK(made[i].code == expected[i].code);
    CHECK(made[i].windows == expected[i].windows);
    REQUIRE(made[i].answers.size() == expected[i].answers.size());
    for (size_t j = 0; j < made[i].answers.size(); ++j) {
      const Found &a = made[i].answers[j], &b = expected[i].answers[j];
      CHECK(std::abs(a.score - b.score) <= tolerance);
      CHECK(a.text == b.text);
      CHECK(a.begin == b.begin);
      CHECK(a.end == b.end);
      CHECK(a.no_answer == b.no_answer);
    }
  }
}

// Returns random contexts of words of the vocabulary, in upper and lower case, and characters of several bytes.
std::vector<std::string> random_contexts(size_t count, size_t most, uint32_t seed) {
  const char* parts[] = {"good", "film", "ing", "the", "plot", "of", "a", ",", ".", "GOOD", "Film", "\u00e9"};
  std::mt19937 random(seed);
  std::vector<std::string> texts(count);
  for (std::string& text : texts) {
    for (size_t i = random() % (most + 1); i > 0; --i) text += std::string(parts[random() % std::size(parts)]) + " ";
  }
  return texts;
}

// Computes windows, spans and answers step by step, with a session and a tokenizer.
class Reference {
 public:
  explicit Reference(const TokenModel& loaded)
      : tokenizer_(std::move(*Tokenizer::create(loaded.model))),
        session_(std::move(*Session::create(loaded.model, {}))) {}

  Answered operator()(const std::string& question, const std::string& context, size_t window, size_t overlap,
                      const AnswererOptions& options) {
    EncodeOptions plain;
    plain.add_special_tokens = false;
    Encoding asked, read;
    REQUIRE(tokenizer_.encode(question, plain, &asked).ok());
    REQUIRE(tokenizer_.encode(context, plain, &read).ok());
    const size_t count = read.ids().size(), room = window - 3 - asked.ids().size();
    struct Item {
      Found found;
      std::string key;
    };
    std::vector<Item> items;
    double null_score = 1e6;
    int64_t windows = 0;
    for (size_t first = 0;; first += room - overlap) {
      ++windows;
      const size_t size = std::min(room, count - first);
      std::vector<int32_t> ids = {0};
      ids.insert(ids.end(), asked.ids().begin(), asked.ids().end());
      ids.push_back(2);
      const size_t begin = ids.size();
      for (size_t t = 0; t < size; ++t) ids.push_back(read.ids()[first + t]);
      ids.push_back(2);
      const Tokens tokens[] = {ids};
      std::vector<float> logits(2 * ids.size());
      REQUIRE(session_.run(tokens, Output::logits(logits, 1)).ok());
      std::vector<double> chances[2];
      for (const size_t side : {0, 1}) {
        double sum = 0;
        for (size_t t = 0; t < ids.size(); ++t) {
          const bool counts = t == 0 || (t >= begin && t < begin + size);
          chances[side].push_back(counts ? std::exp(static_cast<double>(logits[2 * t + side])) : 0);
          sum += chances[side].back();
        }
        for (double& chance : chances[side]) chance /= sum;
      }
      null_score = std::min(null_score, chances[0][0] * chances[1][0]);
      struct Span {
        size_t begin, end;
        double score;
      };
      std::vector<Span> spans;
      for (size_t b = 0; b < size; ++b) {
        for (size_t e = b; e < size && e < b + static_cast<size_t>(options.max_answer_tokens); ++e) {
          spans.push_back({first + b, first + e, chances[0][begin + b] * chances[1][begin + e]});
        }
      }
      std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.score > b.score; });
      spans.resize(std::min(spans.size(), static_cast<size_t>(options.top_k)));
      for (const Span& span : spans) {
        const uint32_t from = read.offsets()[span.begin].begin, to = read.offsets()[span.end].end;
        std::string text, key;
        uint32_t at = 0;
        for (size_t i = 0; i < context.size(); ++i) {
          if (i > 0 && (static_cast<uint8_t>(context[i]) & 0xC0) != 0x80) ++at;
          if (at >= from && at < to) text += context[i];
        }
        for (const char byte : text) key += byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte + 32) : byte;
        const auto same = std::find_if(items.begin(), items.end(), [&](const Item& item) { return item.key == key; });
        if (same != items.end()) {
          same->found.score += span.score;
        } else {
          items.emplace_back();
          items.back().found = Found{text, span.score, from, to, false};
          items.back().key = key;
        }
      }
      if (first + room >= count) break;
    }
    if (options.no_answer) {
      items.emplace_back();
      items.back().found = Found{"", null_score, 0, 0, true};
    }
    std::stable_sort(items.begin(), items.end(),
                     [](const Item& a, const Item& b) { return a.found.score > b.found.score; });
    Answered answered{Code::ok, windows, {}};
    for (const Item& item : items) {
      if (answered.answers.size() < static_cast<size_t>(options.top_k)) answered.answers.push_back(item.found);
    }
    return answered;
  }

 private:
  Tokenizer tokenizer_;
  Session session_;
};

struct Asked {
  std::vector<std::string> questions, contexts;
  std::vector<TextInput> inputs() const {
    std::vector<TextInput> made;
    for (size_t i = 0; i < questions.size(); ++i) made.push_back({questions[i], contexts[i], {}});
    return made;
  }
};

Asked random_questions(size_t count, size_t most, uint32_t seed) {
  return {random_contexts(count, 6, seed + 1), random_contexts(count, most, seed)};
}

TEST_CASE("answers are those of the pipeline, from windows that each have the whole question") {
  size_t settings = 0;
  for (const TokenizerKind kind : {TokenizerKind::wordpiece, TokenizerKind::unigram}) {
    TokenModelShape shape;
    shape.kind = kind;
    shape.n = 48;
    const TokenModel loaded(shape);
    REQUIRE(loaded.model != nullptr);
    Reference reference(loaded);
    const Asked asked = random_questions(80, 90, 2);
    for (const int64_t top_k : {1, 3, 50}) {
      for (const int64_t most : {1, 4, 15, 1000}) {
        for (const int64_t overlap : {-1, 0, 9}) {
          if (settings++ % case_step(5) != 0) continue;
          CAPTURE(top_k);
          CAPTURE(most);
          CAPTURE(overlap);
          AnswererOptions options;
          options.top_k = top_k;
          options.max_answer_tokens = most;
          options.no_answer = top_k == 3;
          options.texts.overlap = overlap;
          options.texts.max_tokens = overlap == 9 ? 40 : 0;
          const size_t window = overlap == 9 ? 40 : 48;
          std::vector<Answered> expected;
          for (size_t i = 0; i < asked.questions.size(); ++i) {
            expected.push_back(reference(asked.questions[i], asked.contexts[i], window,
                                         overlap < 0 ? window / 2 : static_cast<size_t>(overlap), options));
          }
          Answerer answerer = make(loaded.model, options);
          CHECK(answerer.head() == 1);
          CHECK(answerer.max_tokens() == static_cast<int64_t>(window));
          const std::vector<Answered> made = answer(answerer, asked.inputs());
          check_same(made, expected, 1e-6);
          CHECK(std::any_of(made.begin(), made.end(), [](const Answered& a) { return a.windows > 2; }));
          CHECK(std::any_of(made.begin(), made.end(), [](const Answered& a) { return !a.answers.empty(); }));
        }
      }
    }
  }
}

TEST_CASE("answers have the same bits with any number of threads and any batch, in the order of the questions") {
  const TokenModel loaded;
  const Asked asked = random_questions(300, 40, 4);
  AnswererOptions options;
  options.top_k = 4;
  options.texts.overlap = 3;
  Answerer alone = make(loaded.model, options);
  std::vector<Answered> expected;
  for (const TextInput& input : asked.inputs()) {
    const TextInput one[] = {input};
    expected.push_back(answer(alone, one)[0]);
  }
  for (const int threads : {1, 3}) {
    for (const int64_t batch : {1, 5, 64}) {
      CAPTURE(threads);
      CAPTURE(batch);
      options.texts.cpu.threads = threads;
      options.texts.max_batch = batch;
      Answerer answerer = make(loaded.model, options);
      CHECK(answerer.sessions().size() == static_cast<size_t>(threads));
      check_same(answer(answerer, asked.inputs()), expected, 0);
      check_same(answer(answerer, asked.inputs()), expected, 0);
    }
  }
}

TEST_CASE("an answerer handles empty contexts, contexts of one token and missing contexts") {
  const TokenModel loaded;
  AnswererOptions options;
  options.top_k = 5;
  options.no_answer = true;
  options.texts.overlap = 2;
  Answerer answerer = make(loaded.model, options);
  std::string longer;
  for (int i = 0; i < 40; ++i) longer += "good ";
  const TextInput inputs[] = {{"good", "", {}},     {"", "film", {}}, {"good", {}, {}},
                              {longer, "film", {}}, {"", "", {}},     {"film", "\xff \xe2\x82\xac", {}},
                              {"good", longer, {}}};
  const std::vector<Answered> made = answer(answerer, inputs);
  REQUIRE(made[0].answers.size() == 1);
  CHECK(made[0].answers[0].no_answer);
  CHECK(made[0].answers[0].score == 1);
  REQUIRE(made[1].answers.size() == 2);
  CHECK((made[1].answers[0].text == "film") == !made[1].answers[0].no_answer);
  CHECK(made[2].code == Code::invalid_argument);
  CHECK(made[2].answers.empty());
  CHECK(made[3].code == Code::too_long);
  CHECK(made[4].answers.size() == 1);
  CHECK(made[5].code == Code::ok);
  // In "good good ..." all spans with the same number of words are one answer.
  CHECK(made[6].windows > 1);
  for (const Found& found : made[6].answers) {
    const std::string text = found.text;
    CHECK(std::count_if(made[6].answers.begin(), made[6].answers.end(),
                        [&](const Found& other) { return other.text == text; }) == 1);
  }
  size_t visits = 0;
  CHECK(answerer
            .answer(inputs,
                    [&](size_t index, const Answers& answers) {
                      if (index == 3) {
                        CHECK(answers.report.beyond.limit == TextLimit::room);
                        CHECK(answers.report.beyond.text == 0);
                      }
                      return ++visits < 4;
                    })
            .ok());
  CHECK(visits == 4);
  options.no_answer = false;
  Answerer always = make(loaded.model, options);
  CHECK(answer(always, inputs)[0].answers.empty());
  // The context is cut.
  options.texts.on_long = OnLong::truncate;
  Answerer cuts = make(loaded.model, options);
  const Answered cut = answer(cuts, inputs)[6];
  CHECK(cut.windows == 1);
  CHECK(cut.code == Code::ok);
  for (const Found& found : cut.answers) CHECK(found.end <= 5 * 20);
  options.texts.on_long = OnLong::error;
  Answerer refuses = make(loaded.model, options);
  CHECK(answer(refuses, inputs)[6].code == Code::too_long);
}

TEST_CASE("spans with the same text in upper and lower case are one answer, but a dotted I is not i") {
  TokenModelShape shape;
  shape.kind = TokenizerKind::byte_bpe;
  const TokenModel loaded(shape);
  AnswererOptions options;
  options.max_answer_tokens = 2;
  options.top_k = 100;
  Answerer answerer = make(loaded.model, options);
  const TextInput inputs[] = {{"good", "i\u0130I\u00e9\u00c9 \u0130", {}}};
  const Answered made = answer(answerer, inputs)[0];
  const auto count = [&](std::string_view text) {
    return std::count_if(made.answers.begin(), made.answers.end(), [&](const Found& f) { return f.text == text; });
  };
  CHECK(made.windows == 1);
  CHECK(count("i") + count("I") == 1);
  CHECK(count("\u0130") == 1);
  CHECK(count("\u00e9") + count("\u00c9") == 1);
  double sum = 0;
  for (const Found& found : made.answers) sum += found.score;
  CHECK(sum <= 1 + 1e-6);
}

TEST_CASE("an answerer's call stops when its flag is set, and the next call is complete") {
  const TokenModel loaded;
  const Asked asked = random_questions(700, 30, 9);
  AnswererOptions options;
  options.texts.overlap = 2;
  Answerer answerer = make(loaded.model, options);
  const std::vector<Answered> expected = answer(answerer, asked.inputs());
  std::atomic<bool> cancel{false};
  RunControl control;
  control.cancel = &cancel;
  size_t visits = 0;
  const auto visit = [&](size_t, const Answers&) {
    if (++visits == 20) cancel = true;
    return true;
  };
  CHECK(answerer.answer(asked.inputs(), visit, control).code() == Code::cancelled);
  CHECK(visits < asked.questions.size());
  check_same(answer(answerer, asked.inputs()), expected, 0);
}

TEST_CASE("an answerer refuses unsuitable models and options with an error that names them") {
  const TokenModel loaded;
  const auto refusal = [](const std::shared_ptr<const Model>& model, auto&& change) {
    AnswererOptions options;
    change(&options);
    const Result<Answerer> made = Answerer::create(model, options);
    return made.ok() ? std::string() : std::string(made.status().message());
  };
  const auto says = [](const std::string& message, const char* part) {
    CAPTURE(message);
    CHECK(message.find(part) != std::string::npos);
  };
  const auto same = [](auto*) {};
  says(refusal(nullptr, same), "no model");
  says(refusal(loaded.model, [](auto* o) { o->top_k = 0; }), "top_k is 0");
  says(refusal(loaded.model, [](auto* o) { o->max_answer_tokens = 0; }), "max_answer_tokens is 0");
  says(refusal(loaded.model, [](auto* o) { o->head = 4; }), "head 4: the model has 4");
  says(refusal(loaded.model, [](auto* o) { o->head = 0; }), "\"head0\" does not answer questions: use a Tagger");
  says(refusal(loaded.model, [](auto* o) { o->head = 3; }), "does not answer questions");
  says(refusal(loaded.model, [](auto* o) { o->texts.max_tokens = 25; }), "max_tokens is 25");
  says(refusal(loaded.model, [](auto* o) { o->texts.overlap = 22; }), "overlap 22");
  const LoadedModel whole;
  says(refusal(whole.model, same), "no head of this model answers questions");
  // HeadInfo::spans names the head that answers questions.
  CHECK(loaded.model->head(1).spans);
  for (const int head : {0, 2, 3, 4}) CHECK_FALSE(loaded.model->head(head).spans);
}

}  // namespace
}  // namespace linformer_test::answerer_test
