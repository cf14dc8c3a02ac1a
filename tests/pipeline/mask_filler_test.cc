// Compares a MaskFiller with sessions that run one text in each call.
#include "linformer/mask_filler.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "linformer/masked_lm.h"
#include "pipeline/created.h"
#include "pipeline/loaded_model.h"
#include "pipeline/sentences.h"

namespace linformer_test::mask_filler_test {
namespace {

using namespace linformer;

MaskFiller make(const LoadedModel& loaded, const MaskFillerOptions& options = {}) {
  return created(MaskFiller::create(loaded.model, options));
}

struct Mask {
  size_t token;
  int text;
  uint32_t begin, end;
  std::vector<int32_t> ids;
  std::vector<float> probabilities;
  friend bool operator==(const Mask&, const Mask&) = default;
};

struct Filled {
  Code code;
  bool without_mask;
  std::vector<int32_t> ids;
  std::vector<Mask> masks;
  friend bool operator==(const Filled&, const Filled&) = default;
};

std::vector<Filled> fill(MaskFiller& filler, const TextList& texts) {
  std::vector<Filled> all;
  const Status status = filler.fill(texts, [&](size_t index, const MaskFilling& made) {
    CHECK(index == all.size());
    Filled one{made.report.status.code(), made.report.without_mask, {made.ids.begin(), made.ids.end()}, {}};
    for (const MaskedToken& mask : made.masks) {
      one.masks.push_back({mask.token, mask.text, mask.offset.begin, mask.offset.end, {}, {}});
      for (const MaskCandidate& candidate : mask.candidates) {
        one.masks.back().ids.push_back(candidate.id);
        one.masks.back().probabilities.push_back(candidate.probability);
      }
    }
    all.push_back(std::move(one));
    return true;
  });
  CHECK_MESSAGE(status.ok(), status.message());
  CHECK(all.size() == texts.size());
  return all;
}

// Returns random sentences, some of which have masks.
std::vector<std::string> masked_sentences(size_t count, size_t most) {
  std::vector<std::string> sentences = random_sentences(count, most, 21);
  std::mt19937 random(4);
  for (std::string& sentence : sentences) {
    for (size_t i = random() % 4; i > 0; --i) sentence = "[MASK] " + sentence + (i % 2 == 0 ? "[MASK]" : "");
  }
  return sentences;
}

// Fills the masks with a session, one text and one mask in each call.
Filled session_result(const LoadedModel& loaded, std::string_view text, size_t top_k) {
  const Tokenizer tokenizer = std::move(*Tokenizer::create(loaded.model));
  Session session = std::move(*Session::create(loaded.model, {}));
  EncodeOptions options;
  options.max_length = 12;
  Encoding encoding;
  REQUIRE(tokenizer.encode(text, options, &encoding).ok());
  Filled filled{Code::ok, false, {}, {}};
  const std::span<const int32_t> ids = encoding.ids();
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != 4) continue;
    std::vector<float> logits(sentiment_words.size(), NAN);
    const MaskPosition position{0, static_cast<int64_t>(i)};
    const Tokens texts[] = {ids};
    REQUIRE(session.run(texts, Output::masked_lm(logits, {&position, 1})).ok());
    std::vector<int32_t> order(logits.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
    });
    order.resize(top_k);
    Mask mask{i, 0, encoding.offsets()[i].begin, encoding.offsets()[i].end, order, {}};
    for (const int32_t id : order) {
      const double logit = static_cast<double>(logits[static_cast<size_t>(id)]);
      mask.probabilities.push_back(static_cast<float>(std::exp(logit - log_sum_exp(logits))));
    }
    filled.masks.push_back(mask);
  }
  if (filled.masks.empty()) return {Code::invalid_argument, true, {}, {}};
  filled.ids.assign(ids.begin(), ids.end());
  return filled;
}

TEST_CASE("filled masks have a session's bits, with any threads and batches, in the order of the texts") {
  const LoadedModel loaded;
  const std::vector<std::string> sentences = masked_sentences(150, 14);
  std::vector<Filled> expected;
  for (const std::string& sentence : sentences) expected.push_back(session_result(loaded, sentence, 4));
  CHECK(std::any_of(expected.begin(), expected.end(), [](const Filled& f) { return f.masks.size() > 3; }));
  CHECK(std::any_of(expected.begin(), expected.end(), [](const Filled& f) { return f.without_mask; }));
  for (const int threads : {1, 3}) {
    for (const int64_t batch : {1, 5, 64}) {
      for (const int64_t rows : {0, 13}) {
        CAPTURE(threads);
        CAPTURE(batch);
        MaskFillerOptions options;
        options.top_k = 4;
        options.texts.cpu.threads = threads;
        options.texts.max_batch = batch;
        options.texts.max_rows = rows;
        MaskFiller filler = make(loaded, options);
        CHECK(fill(filler, views_of(sentences)) == expected);
        CHECK(fill(filler, views_of(sentences)) == expected);
      }
    }
  }
}

TEST_CASE("masks of pairs have offsets in their own text, and top_k may exceed the vocabulary") {
  const LoadedModel loaded;
  MaskFillerOptions options;
  options.top_k = 1000;
  MaskFiller filler = make(loaded, options);
  CHECK(filler.mask() == "[MASK]");
  CHECK(filler.max_tokens() == 12);
  CHECK(filler.sessions().size() == 1);
  const TextInput inputs[] = {{"good [MASK]", "bad , [MASK] film", {}}};
  const std::vector<Filled> filled = fill(filler, inputs);
  REQUIRE(filled[0].masks.size() == 2);
  const Mask &first = filled[0].masks[0], &second = filled[0].masks[1];
  CHECK(first.token == 2);
  CHECK(first.text == 0);
  CHECK(first.begin == 5);
  CHECK(first.end == 11);
  CHECK(second.token == 6);
  CHECK(second.text == 1);
  CHECK(second.begin == 6);
  CHECK(first.ids.size() == sentiment_words.size());
  CHECK(std::is_sorted(first.probabilities.rbegin(), first.probabilities.rend()));
  double sum = 0;
  for (const float probability : first.probabilities) sum += static_cast<double>(probability);
  CHECK(sum == doctest::Approx(1).epsilon(1e-6));
}

TEST_CASE("padding before masks is stripped, or kept and listed") {
  const LoadedModel loaded;
  const std::string_view texts[] = {"good [PAD] [MASK]"};
  MaskFillerOptions options;
  options.texts.pad_to = 9;
  MaskFiller strips = make(loaded, options);
  const Filled stripped = fill(strips, texts)[0];
  CHECK(stripped.ids == std::vector<int32_t>{2, 5, 4, 3});
  CHECK(stripped.masks[0].token == 2);
  CHECK(stripped.masks[0].begin == 11);
  options.texts.run.padding = Padding::keep;
  MaskFiller keeps = make(loaded, options);
  const Filled kept = fill(keeps, texts)[0];
  CHECK(kept.ids == std::vector<int32_t>{2, 5, 0, 4, 3, 0, 0, 0, 0});
  CHECK(kept.masks[0].token == 3);
}

TEST_CASE("masks are matched even if other special tokens aren't") {
  const LoadedModel loaded;
  const std::string_view texts[] = {"[PAD][MASK] good", "[SEP]"};
  MaskFillerOptions options;
  options.texts.match_special_tokens = false;
  options.texts.max_tokens = 12;
  MaskFiller filler = make(loaded, options);
  const std::vector<Filled> filled = fill(filler, texts);
  REQUIRE(filled[0].masks.size() == 1);
  CHECK(filled[0].masks[0].begin == 5);
  CHECK(filled[0].ids == std::vector<int32_t>{2, 1, 1, 1, 4, 5, 3});  // "[PAD]" is three words.
  CHECK(filled[1].without_mask);
}

TEST_CASE("an error of a text without a mask or above the limit is reported for this text only") {
  const LoadedModel loaded;
  MaskFillerOptions options;
  options.texts.on_long = OnLong::error;
  MaskFiller filler = make(loaded, options);
  std::string longer = "[MASK] ";
  for (int i = 0; i < 20; ++i) longer += "film ";
  const std::vector<std::string_view> texts = {"good", "[MASK]", longer, "", "bad [MASK]"};
  const std::vector<Filled> filled = fill(filler, texts);
  CHECK(filled[0].without_mask);
  CHECK(filled[0].code == Code::invalid_argument);
  CHECK(filled[1].masks.size() == 1);
  CHECK_FALSE(filled[1].without_mask);
  CHECK(filled[2].code == Code::too_long);
  CHECK_FALSE(filled[2].without_mask);
  CHECK(filled[2].masks.empty());
  CHECK(filled[3].without_mask);
  CHECK(filled[4].masks.size() == 1);
  // If the mask was cut off, the report says that the text has no mask and that it was cut.
  std::string behind = longer.substr(7) + "[MASK]";
  MaskFiller cuts = make(loaded);
  const std::string_view one[] = {behind};
  CHECK(cuts.fill(one,
                  [](size_t, const MaskFilling& made) {
                    CHECK(made.report.without_mask);
                    CHECK(made.report.truncated());
                    const std::string message = made.report.status.message();
                    CHECK(message.find("left after cutting it: write [MASK] where") != std::string::npos);
                    return true;
                  })
            .ok());
  CHECK(fill(cuts, std::span<const std::string_view>()).empty());
}

TEST_CASE("non-finite numbers are an error of their own text only") {
  SentimentModel shape;
  shape.not_finite = true;
  const LoadedModel loaded(shape);
  MaskFiller filler = make(loaded);
  const std::string_view texts[] = {"good [MASK]", "plot [MASK] [MASK]", "bad [MASK]"};
  const std::vector<Filled> filled = fill(filler, texts);
  CHECK(filled[0].masks.size() == 1);
  CHECK(filled[1].code == Code::internal);
  CHECK(filled[1].masks.empty());
  CHECK(filled[2].masks.size() == 1);
}

TEST_CASE("a visitor that returns false and the flag stop a mask filler's call, and the next call is complete") {
  const LoadedModel loaded;
  const std::vector<std::string> sentences = masked_sentences(200, 9);
  MaskFillerOptions options;
  options.texts.max_batch = 4;
  MaskFiller filler = make(loaded, options);
  const std::vector<Filled> expected = fill(filler, views_of(sentences));
  for (const size_t most : {1, 5, 6}) {
    size_t visits = 0;
    CHECK(filler.fill(views_of(sentences), [&](size_t, const MaskFilling&) { return ++visits < most; }).ok());
    CHECK(visits == most);
    CHECK(fill(filler, views_of(sentences)) == expected);
  }
  std::atomic<bool> cancel{false};
  struct Seen {
    double last = 0;
    bool grows = true;
  } seen;
  RunControl control;
  control.cancel = &cancel;
  control.context = &seen;
  control.progress = [](void* context, double share) {
    Seen& s = *static_cast<Seen*>(context);
    s.grows = s.grows && share > s.last;
    s.last = share;
  };
  size_t visits = 0;
  const auto visit = [&](size_t, const MaskFilling&) {
    if (++visits == 20) cancel = true;
    return true;
  };
  CHECK(filler.fill(views_of(sentences), visit, control).code() == Code::cancelled);
  CHECK(seen.last < 1);
  CHECK(visits < 40);
  cancel = false;
  visits = 100;
  seen = {};
  CHECK(filler.fill(views_of(sentences), visit, control).ok());
  CHECK(seen.grows);
  CHECK(seen.last == 1);
  CHECK(fill(filler, views_of(sentences)) == expected);
}

TEST_CASE("a mask filler refuses unsuitable models and options with an error that names them") {
  const LoadedModel loaded;
  const auto refusal = [](const LoadedModel& of, auto&& change) {
    MaskFillerOptions options;
    change(&options);
    const Result<MaskFiller> made = MaskFiller::create(of.model, options);
    return made.ok() ? std::string() : std::string(made.status().message());
  };
  const auto says = [](const std::string& message, const char* part) {
    CAPTURE(message);
    CHECK(message.find(part) != std::string::npos);
  };
  says(refusal(loaded, [](auto* o) { o->top_k = 0; }), "top_k is 0");
  says(refusal(loaded, [](auto* o) { o->texts.on_long = OnLong::window; }), "one window");
  says(refusal(loaded, [](auto* o) { o->texts.on_long = static_cast<OnLong>(7); }), "on_long");
  says(refusal(loaded, [](auto* o) { o->texts.max_tokens = 13; }), "max_tokens is 13");
  says(refusal(loaded, [](auto* o) { o->texts.max_tokens = 2; }), "no room");
  says(refusal(loaded, [](auto* o) { o->texts.max_batch = 0; }), "max_batch is 0");
  says(refusal(loaded, [](auto* o) { o->texts.pad_to = 13; }), "pad_to is 13");
  says(refusal(loaded, [](auto* o) { o->texts.pad_to = -1; }), "pad_to is -1");
  says(refusal(loaded, [](auto* o) { o->texts.cpu.threads = 0; }), "threads is 0");
  const auto nothing = [](auto*) {};
  SentimentModel shape;
  shape.mask_token = false;
  says(refusal(LoadedModel(shape), nothing), "no mask token");
  shape = {};
  shape.tokenizer = false;
  says(refusal(LoadedModel(shape), nothing), "no tokenizer");
  shape.vectors = true;
  says(refusal(LoadedModel(shape), nothing), "no masked-LM head");
  CHECK(MaskFiller::create(nullptr).status().code() == Code::invalid_argument);
  CHECK(refusal(loaded, [](auto* o) { o->top_k = INT64_MAX; }).empty());
}

}  // namespace
}  // namespace linformer_test::mask_filler_test
