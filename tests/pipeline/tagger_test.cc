// Compares the entities of a Tagger with those of TaggerReference.
#include "linformer/tagger.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "pipeline/created.h"
#include "pipeline/loaded_model.h"
#include "pipeline/sentences.h"
#include "pipeline/tagger_reference.h"
#include "support/case_step.h"

namespace linformer_test::tagger_test {
namespace {

using namespace linformer;

Tagger make(const std::shared_ptr<const Model>& model, const TaggerOptions& options = {}) {
  return created(Tagger::create(model, options));
}

std::vector<TaggedText> tag(Tagger& tagger, const TextList& texts) {
  std::vector<TaggedText> all;
  const Status status = tagger.tag(texts, [&](size_t index, const Tagging& made) {
    CHECK(index == all.size());
    TaggedText one{made.report.status.code(), made.report.windows, made.report.truncated(), {}};
    for (const Entity& entity : made.entities) {
      // The entity's text points into the caller's text.
      const std::string_view whole = texts[index].text;
      CHECK(entity.text.data() >= whole.data());
      CHECK(entity.text.data() + entity.text.size() <= whole.data() + whole.size());
      one.entities.push_back({std::string(entity.label), static_cast<double>(entity.score), entity.offset.begin,
                              entity.offset.end, std::string(entity.text)});
    }
    all.push_back(std::move(one));
    return true;
  });
  CHECK_MESSAGE(status.ok(), status.message());
  CHECK(all.size() == texts.size());
  return all;
}

// Checks that scores differ by at most `tolerance` and that everything else is equal.
void check_same(const std::vector<TaggedText>& made, const std::vector<TaggedText>& expected, double tolerance) {
  REQUIRE(made.size() == expected.size());
  for (size_t i = 0; i < made.size(); ++i) {
    CAPTURE(i);
    CHECK(made[i].code == expected[i].code);
    CHECK(made[i].windows == expected[i].windows);
    REQUIRE(made[i].entities.size() == expected[i].entities.size());
    for (size_t j = 0; j < made[i].entities.size(); ++j) {
      const FoundEntity &a = made[i].entities[j], &b = expected[i].entities[j];
      CHECK(a.label == b.label);
      CHECK(std::abs(a.score - b.score) <= tolerance);
      CHECK(a.begin == b.begin);
      CHECK(a.end == b.end);
      CHECK(a.text == b.text);
    }
  }
}

constexpr Aggregation aggregations[] = {Aggregation::simple, Aggregation::none, Aggregation::first,
                                        Aggregation::average, Aggregation::max};

TEST_CASE("entities are those of the pipeline for every kind of tokenizer and in windows") {
  for (const TokenizerKind kind : {TokenizerKind::wordpiece, TokenizerKind::byte_bpe, TokenizerKind::unigram}) {
    for (const bool prefix : {false, true}) {
      TokenModelShape shape;
      shape.kind = kind;
      shape.prefix = prefix;
      const TokenModel loaded(shape);
      REQUIRE(loaded.model != nullptr);
      const std::vector<std::string> texts = random_texts(40 / case_step(5), 110, 3);
      const int64_t window = prefix ? 23 : 24;
      for (const int64_t overlap : {-1, 0, 1, 7, 16}) {
        TaggerReference reference(loaded, shape.labels, window, overlap);
        for (const Aggregation aggregation : aggregations) {
          CAPTURE(static_cast<int>(kind));
          CAPTURE(overlap);
          CAPTURE(static_cast<int>(aggregation));
          std::vector<TaggedText> expected;
          for (const std::string& text : texts) expected.push_back(reference(text, aggregation));
          TaggerOptions options;
          options.aggregation = aggregation;
          options.texts.overlap = overlap;
          Tagger tagger = make(loaded.model, options);
          CHECK(tagger.max_tokens() == window);
          CHECK(tagger.head() == 0);
          const std::vector<TaggedText> made = tag(tagger, views_of(texts));
          check_same(made, expected, 1e-6);
          CHECK(std::any_of(made.begin(), made.end(), [](const TaggedText& t) { return t.windows > 2; }));
          CHECK(std::any_of(made.begin(), made.end(), [](const TaggedText& t) { return t.entities.size() > 3; }));
        }
      }
    }
  }
}

TEST_CASE("entities have the same bits with any number of threads and any batch, in the order of the texts") {
  const TokenModel loaded;
  const std::vector<std::string> texts = random_texts(400 / case_step(4), 50, 8);
  for (const Aggregation aggregation : {Aggregation::simple, Aggregation::average}) {
    TaggerOptions options;
    options.aggregation = aggregation;
    Tagger alone = make(loaded.model, options);
    std::vector<TaggedText> expected;
    for (const std::string& text : texts) {
      const std::string_view one[] = {text};
      expected.push_back(tag(alone, one)[0]);
    }
    for (const int threads : {1, 3}) {
      for (const int64_t batch : {1, 5, 64}) {
        for (const int64_t pad_to : {0, 20}) {
          CAPTURE(threads);
          CAPTURE(batch);
          options.texts.cpu.threads = threads;
          options.texts.max_batch = batch;
          options.texts.pad_to = pad_to;
          Tagger tagger = make(loaded.model, options);
          CHECK(tagger.sessions().size() == static_cast<size_t>(threads));
          check_same(tag(tagger, views_of(texts)), expected, 0);
          check_same(tag(tagger, views_of(texts)), expected, 0);
        }
      }
    }
  }
}

TEST_CASE("a tagger handles empty texts, texts of one token, cut texts and padding") {
  const TokenModel loaded;
  TaggerOptions options;
  options.aggregation = Aggregation::none;
  options.texts.on_long = OnLong::truncate;
  Tagger tagger = make(loaded.model, options);
  std::string longer;
  for (int i = 0; i < 40; ++i) longer += "good ";
  const std::vector<std::string_view> texts = {"", " ", "good", longer, "[PAD] good [PAD]"};
  const std::vector<TaggedText> made = tag(tagger, texts);
  CHECK(made[0].code == Code::ok);
  CHECK(made[0].entities.empty());
  CHECK(made[1].entities.empty());
  CHECK(made[2].entities.size() <= 1);
  CHECK(made[3].truncated);
  CHECK(made[3].entities.size() <= 22);
  CHECK(made[4].entities.size() <= 1);
  for (const FoundEntity& entity : made[4].entities) CHECK(entity.begin == 6);
  // Padding that is kept counts as tokens of the text.
  options.texts.run.padding = Padding::keep;
  options.texts.add_special_tokens = false;
  Tagger keeps = make(loaded.model, options);
  const std::vector<TaggedText> kept = tag(keeps, texts);
  CHECK(kept[0].code == Code::invalid_argument);
  CHECK(kept[2].code == Code::ok);
  CHECK(kept[4].code == Code::ok);
  options.texts.on_long = OnLong::error;
  Tagger refuses = make(loaded.model, options);
  CHECK(tag(refuses, texts)[3].code == Code::too_long);
  CHECK(tag(refuses, std::span<const std::string_view>()).empty());
}

TEST_CASE("a tagger handles labels without the usual prefixes and classes without names") {
  const std::vector<std::string> texts = random_texts(40, 30, 12);
  for (const std::vector<std::string>& labels :
       std::vector<std::vector<std::string>>{{"O", "O", "O"},
                                             {"NOUN", "VERB", "ADJ", "ADP"},
                                             {"B-", "I-", "-", "B-O", "I-O", "O-O", "O"},
                                             {"S-A-B", "B-A-B", "I-A-B", "A-B", "B"},
                                             {"only", "O"}}) {
    TokenModelShape shape;
    shape.labels = labels;
    const TokenModel loaded(shape);
    REQUIRE(loaded.model != nullptr);
    TaggerReference reference(loaded, labels, 24, -1);
    for (const Aggregation aggregation : aggregations) {
      std::vector<TaggedText> expected;
      for (const std::string& text : texts) expected.push_back(reference(text, aggregation));
      TaggerOptions options;
      options.aggregation = aggregation;
      Tagger tagger = make(loaded.model, options);
      check_same(tag(tagger, views_of(texts)), expected, 1e-6);
    }
  }
  TokenModelShape shape;
  shape.labels.clear();
  const TokenModel unnamed(shape);
  Tagger tagger = make(unnamed.model);
  CHECK(tagger.label(0) == "0");
  CHECK(tagger.label(7) == "7");
  CHECK(tagger.label(8).empty());
  CHECK(tagger.label(-1).empty());
  size_t entities = 0;
  for (const TaggedText& made : tag(tagger, views_of(texts))) {
    for (const FoundEntity& entity : made.entities) {
      ++entities;
      CHECK(entity.label.size() == 1);
      CHECK(entity.label[0] >= '0');
      CHECK(entity.label[0] <= '7');
    }
  }
  CHECK(entities > 20);
}

TEST_CASE("an error of one text is reported for this text only") {
  const TokenModel loaded;
  Tagger tagger = make(loaded.model);
  const TextInput inputs[] = {{"good film", {}, {}}, {"good", "film", {}}, {"the plot", {}, {}}};
  size_t visits = 0;
  CHECK(tagger
            .tag(inputs,
                 [&](size_t index, const Tagging& made) {
                   ++visits;
                   CHECK(made.report.status.ok() == (index != 1));
                   if (index == 1) {
                     CHECK(made.entities.empty());
                     CHECK(std::string(made.report.status.message()).find("one text") != std::string::npos);
                   }
                   return true;
                 })
            .ok());
  CHECK(visits == 3);

  SentimentModel shape;
  shape.not_finite = shape.more_heads = true;
  const LoadedModel spoiled(shape);
  Tagger other = make(spoiled.model);
  std::string longer;
  for (int i = 0; i < 30; ++i) longer += "good ";
  const std::string behind = longer + "plot", before = "plot " + longer;
  const std::vector<std::string_view> texts = {"good", "plot film", "bad film", behind, before};
  const std::vector<TaggedText> made = tag(other, texts);
  CHECK(made[0].code == Code::ok);
  CHECK(made[0].entities.size() == 1);
  CHECK(made[1].code == Code::internal);
  CHECK(made[1].entities.empty());
  CHECK(made[2].code == Code::ok);
  for (size_t i : {3, 4}) {
    CHECK(made[i].code == Code::internal);
    CHECK(made[i].entities.empty());
  }
}

TEST_CASE("a visitor that returns false and the flag stop a tagger's call, and the next call is complete") {
  const TokenModel loaded;
  const std::vector<std::string> texts = random_texts(900, 30, 5);
  for (const int threads : {1, 2}) {
    TaggerOptions options;
    options.texts.cpu.threads = threads;
    Tagger tagger = make(loaded.model, options);
    const std::vector<TaggedText> expected = tag(tagger, views_of(texts));
    for (const size_t most : {1, 300}) {
      size_t visits = 0;
      CHECK(tagger.tag(views_of(texts), [&](size_t, const Tagging&) { return ++visits < most; }).ok());
      CHECK(visits == most);
    }
    std::atomic<bool> cancel{false};
    RunControl control;
    control.cancel = &cancel;
    size_t visits = 0;
    const auto visit = [&](size_t, const Tagging&) {
      if (++visits == 20) cancel = true;
      return true;
    };
    CHECK(tagger.tag(views_of(texts), visit, control).code() == Code::cancelled);
    CHECK(visits < texts.size());
    check_same(tag(tagger, views_of(texts)), expected, 0);
  }
}

TEST_CASE("a tagger refuses unsuitable models and options with an error that names them") {
  const TokenModel loaded;
  const auto refusal = [](const std::shared_ptr<const Model>& model, auto&& change) {
    TaggerOptions options;
    change(&options);
    const Result<Tagger> made = Tagger::create(model, options);
    return made.ok() ? std::string() : std::string(made.status().message());
  };
  const auto says = [](const std::string& message, const char* part) {
    CAPTURE(message);
    CHECK(message.find(part) != std::string::npos);
  };
  const auto same = [](auto*) {};
  says(refusal(nullptr, same), "no model");
  says(refusal(loaded.model, [](auto* o) { o->aggregation = static_cast<Aggregation>(9); }), "aggregation number 9");
  says(refusal(loaded.model, [](auto* o) { o->head = 4; }), "head 4: the model has 4");
  says(refusal(loaded.model, [](auto* o) { o->head = -2; }), "head -2");
  says(refusal(loaded.model, [](auto* o) { o->head = 1; }), "Answerer");
  says(refusal(loaded.model, [](auto* o) { o->head = 2; }), "\"head2\" does not give each token a label");
  says(refusal(loaded.model, [](auto* o) { o->head = 3; }), "session's logits");
  says(refusal(loaded.model, [](auto* o) { o->texts.max_tokens = 2; }), "no room");
  says(refusal(loaded.model, [](auto* o) { o->texts.overlap = 22; }), "overlap 22");
  says(refusal(loaded.model, [](auto* o) { o->texts.cpu.threads = 0; }), "threads is 0");
  TokenModelShape shape;
  shape.labels_tokens = false;
  says(refusal(TokenModel(shape).model, same), "no head of this model gives each token a label: use an Answerer");
  shape.answers = false;
  says(refusal(TokenModel(shape).model, same), "use a Classifier");
  const LoadedModel whole;
  says(refusal(whole.model, same), "no head of this model gives each token a label");
  SentimentModel vectors;
  vectors.vectors = vectors.more_heads = true;
  says(refusal(LoadedModel(vectors).model, same), "reads vectors");
}

}  // namespace
}  // namespace linformer_test::tagger_test
