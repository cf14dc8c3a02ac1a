// Tests that entities and answers are the same in C as in C++.
#include <doctest/doctest.h>
#include <linformer.h>

#include <cstring>
#include <string>
#include <vector>

#include "c_api/hostile.h"
#include "c_api/ok.h"
#include "linformer/answerer.h"
#include "linformer/tagger.h"
#include "pipeline/token_model.h"

namespace linformer_test::spans_test {
namespace {

using namespace linformer;

struct Found {
  std::string label, text;
  uint32_t begin, end;
  float score;
  bool operator==(const Found&) const = default;
};

struct Said {
  lnf_code code;
  std::vector<Found> found;
  bool operator==(const Said&) const = default;
};

struct Pointers {
  explicit Pointers(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      begins.push_back(text.data());
      sizes.push_back(text.size());
    }
  }
  std::vector<const char*> begins;
  std::vector<size_t> sizes;
};

TEST_CASE("entities are the same in C as in C++") {
  const TokenModel loaded;
  lnf_status status = {};
  lnf_model* model = nullptr;
  OK(lnf_model_load(loaded.file.c_str(), nullptr, &model, &status));
  const std::vector<std::string> texts = random_texts(50, 60, 6);
  const Pointers given(texts);
  for (const int32_t aggregation :
       {LNF_AGGREGATE_SIMPLE, LNF_AGGREGATE_NONE, LNF_AGGREGATE_FIRST, LNF_AGGREGATE_AVERAGE, LNF_AGGREGATE_MAX}) {
    for (const bool error : {false, true}) {
      lnf_text_options options;
      lnf_text_options_init(&options);
      options.on_long = LNF_LONG_ERROR;
      lnf_tagger* tagger = nullptr;
      OK(lnf_tagger_create(model, aggregation, -1, error ? &options : nullptr, &tagger, &status));
      CHECK(lnf_tagger_head(tagger) == 0);
      std::vector<Said> made, expected;
      const lnf_tag_visit visit = [](void* context, const lnf_tagging* tagging) {
        std::vector<Said>& all = *static_cast<std::vector<Said>*>(context);
        CHECK(tagging->size == sizeof *tagging);
        CHECK(tagging->report->index == all.size());
        CHECK(tagging->report->values == nullptr);
        all.push_back({tagging->report->code, {}});
        for (size_t i = 0; i < tagging->entity_count; ++i) {
          const lnf_entity& entity = tagging->entities[i];
          CHECK(entity.size == sizeof entity);
          all.back().found.push_back(
              {entity.label, std::string(entity.text, entity.bytes), entity.offset[0], entity.offset[1], entity.score});
        }
        return all.size() < 49 ? 1 : 0;
      };
      OK(lnf_tag(tagger, given.begins.data(), given.sizes.data(), 50, visit, &made, nullptr, &status));
      TaggerOptions own;
      own.aggregation = static_cast<Aggregation>(aggregation);
      if (error) own.texts.on_long = OnLong::error;
      Tagger other = std::move(*Tagger::create(loaded.model, own));
      const std::vector<std::string_view> views(texts.begin(), texts.end());
      CHECK(other
                .tag(views,
                     [&](size_t, const Tagging& tagging) {
                       expected.push_back({static_cast<lnf_code>(tagging.report.status.code()), {}});
                       for (const Entity& entity : tagging.entities) {
                         expected.back().found.push_back({std::string(entity.label), std::string(entity.text),
                                                          entity.offset.begin, entity.offset.end, entity.score});
                       }
                       return expected.size() < 49;
                     })
                .ok());
      CHECK(made.size() == 49);
      CHECK(made == expected);
      lnf_tagger_free(tagger);
    }
  }
  lnf_model_free(model);
}

TEST_CASE("classes without labels are named by null-terminated numbers") {
  TokenModelShape shape;
  shape.labels.clear();
  const TokenModel loaded(shape);
  lnf_status status = {};
  lnf_model* model = nullptr;
  OK(lnf_model_load(loaded.file.c_str(), nullptr, &model, &status));
  lnf_tagger* tagger = nullptr;
  OK(lnf_tagger_create(model, LNF_AGGREGATE_SIMPLE, 0, nullptr, &tagger, &status));
  const lnf_tag_visit visit = [](void*, const lnf_tagging* tagging) {
    CHECK(tagging->entity_count > 0);
    for (size_t i = 0; i < tagging->entity_count; ++i) CHECK(std::strlen(tagging->entities[i].label) == 1);
    return 1;
  };
  const char* texts[] = {"good film of the plot", "a"};
  OK(lnf_tag(tagger, texts, nullptr, 2, visit, nullptr, nullptr, &status));
  lnf_tagger_free(tagger);
  lnf_model_free(model);
}

TEST_CASE("answers are the same in C as in C++") {
  TokenModelShape shape;
  shape.n = 48;
  const TokenModel loaded(shape);
  lnf_status status = {};
  lnf_model* model = nullptr;
  OK(lnf_model_load(loaded.file.c_str(), nullptr, &model, &status));
  auto head = lnf_head_info();
  head.size = sizeof head;
  OK(lnf_model_get_head(model, 1, &head, &status));
  CHECK(head.spans == 1);
  const std::vector<std::string> questions = random_texts(40, 8, 1), contexts = random_texts(40, 90, 2);
  const Pointers asked(questions), given(contexts);
  lnf_text_options options;
  lnf_text_options_init(&options);
  options.on_long = LNF_LONG_WINDOW;
  options.overlap = 5;
  lnf_answerer* answerer = nullptr;
  OK(lnf_answerer_create(model, 4, 6, 1, -1, &options, &answerer, &status));
  CHECK(lnf_answerer_head(answerer) == 1);
  std::vector<Said> made, expected;
  const lnf_answer_visit visit = [](void* context, const lnf_answers* answers) {
    std::vector<Said>& all = *static_cast<std::vector<Said>*>(context);
    CHECK(answers->size == sizeof *answers);
    CHECK(answers->report->index == all.size());
    all.push_back({answers->report->code, {}});
    for (size_t i = 0; i < answers->answer_count; ++i) {
      const lnf_answer_span& answer = answers->answers[i];
      CHECK(answer.size == sizeof answer);
      CHECK(answer.text != nullptr);
      all.back().found.push_back({answer.no_answer != 0 ? "none" : "", std::string(answer.text, answer.bytes),
                                  answer.offset[0], answer.offset[1], answer.score});
    }
    return all.size() < 39 ? 1 : 0;
  };
  OK(lnf_answer(answerer, asked.begins.data(), asked.sizes.data(), given.begins.data(), given.sizes.data(), 40, visit,
                &made, nullptr, &status));
  AnswererOptions own;
  own.max_answer_tokens = 4;
  own.top_k = 6;
  own.no_answer = true;
  own.texts.overlap = 5;
  Answerer other = std::move(*Answerer::create(loaded.model, own));
  std::vector<TextInput> inputs;
  for (size_t i = 0; i < questions.size(); ++i) inputs.push_back({questions[i], contexts[i], {}});
  CHECK(other
            .answer(inputs,
                    [&](size_t, const Answers& answers) {
                      expected.push_back({static_cast<lnf_code>(answers.report.status.code()), {}});
                      for (const Answer& answer : answers.answers) {
                        expected.back().found.push_back({answer.no_answer ? "none" : "", std::string(answer.text),
                                                         answer.offset.begin, answer.offset.end, answer.score});
                      }
                      return expected.size() < 39;
                    })
            .ok());
  CHECK(made.size() == 39);
  CHECK(made == expected);
  lnf_answerer_free(answerer);
  // The pointer NULL and the numbers 0 stand for the default options.
  OK(lnf_answerer_create(model, 0, 0, 0, 1, nullptr, &answerer, &status));
  const lnf_answer_visit one = [](void*, const lnf_answers* answers) {
    CHECK(answers->answer_count == 1);
    CHECK(answers->answers[0].no_answer == 0);
    return 1;
  };
  const char* question = "good film";
  const char* context = "the plot of a film";
  OK(lnf_answer(answerer, &question, nullptr, &context, nullptr, 1, one, nullptr, nullptr, &status));
  lnf_answerer_free(answerer);
  lnf_model_free(model);
}

TEST_CASE("invalid arguments of taggers and answerers are refused") {
  Hostile f;
  const TokenModel loaded;
  lnf_model* model = nullptr;
  REQUIRE(lnf_model_load(loaded.file.c_str(), nullptr, &model, nullptr) == LNF_OK);
  lnf_tagger *tagger = nullptr, *made_tagger = nullptr;
  lnf_answerer *answerer = nullptr, *made_answerer = nullptr;
  REQUIRE(lnf_tagger_create(model, LNF_AGGREGATE_SIMPLE, -1, nullptr, &tagger, nullptr) == LNF_OK);
  REQUIRE(lnf_answerer_create(model, 0, 0, 0, -1, nullptr, &answerer, nullptr) == LNF_OK);
  const lnf_tag_visit tag_visit = [](void*, const lnf_tagging*) { return 1; };
  const lnf_answer_visit answer_visit = [](void*, const lnf_answers*) { return 1; };
  const char* texts[] = {"good"};
  const char* none[] = {nullptr};
  f.refused([&](lnf_status* s) { return lnf_tagger_create(nullptr, 0, -1, nullptr, &made_tagger, s); });
  f.refused([&](lnf_status* s) { return lnf_tagger_create(model, 0, -1, nullptr, nullptr, s); });
  for (const int32_t aggregation : {-1, 5, INT32_MAX, INT32_MIN}) {
    f.refused([&](lnf_status* s) { return lnf_tagger_create(model, aggregation, -1, nullptr, &made_tagger, s); });
  }
  for (const int32_t head : {-2, 1, 2, 3, 4, INT32_MAX, INT32_MIN}) {
    f.refused([&](lnf_status* s) { return lnf_tagger_create(model, 0, head, nullptr, &made_tagger, s); });
  }
  for (const int32_t head : {-2, 0, 2, 3, 4, INT32_MAX, INT32_MIN}) {
    f.refused([&](lnf_status* s) { return lnf_answerer_create(model, 0, 0, 0, head, nullptr, &made_answerer, s); });
  }
  lnf_text_options options;
  lnf_text_options_init(&options);
  options.on_long = 9;
  f.refused([&](lnf_status* s) { return lnf_tagger_create(model, 0, -1, &options, &made_tagger, s); });
  f.refused([&](lnf_status* s) { return lnf_answerer_create(model, 0, 0, 0, -1, &options, &made_answerer, s); });
  f.refused([&](lnf_status* s) { return lnf_answerer_create(nullptr, 0, 0, 0, -1, nullptr, &made_answerer, s); });
  f.refused([&](lnf_status* s) { return lnf_answerer_create(model, 0, 0, 0, -1, nullptr, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_answerer_create(model, -1, 0, 0, -1, nullptr, &made_answerer, s); });
  f.refused([&](lnf_status* s) { return lnf_answerer_create(model, 0, -1, 0, -1, nullptr, &made_answerer, s); });
  f.refused([&](lnf_status* s) { return lnf_answerer_create(f.model, 0, 0, 0, -1, nullptr, &made_answerer, s); });
  CHECK(made_tagger == nullptr);
  CHECK(made_answerer == nullptr);
  f.refused([&](lnf_status* s) { return lnf_tag(nullptr, texts, nullptr, 1, tag_visit, nullptr, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_tag(tagger, nullptr, nullptr, 1, tag_visit, nullptr, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_tag(tagger, none, nullptr, 1, tag_visit, nullptr, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_tag(tagger, texts, nullptr, 1, nullptr, nullptr, nullptr, s); });
  f.refused([&](lnf_status* s) {
    return lnf_answer(nullptr, texts, nullptr, texts, nullptr, 1, answer_visit, nullptr, nullptr, s);
  });
  f.refused([&](lnf_status* s) {
    return lnf_answer(answerer, nullptr, nullptr, texts, nullptr, 1, answer_visit, nullptr, nullptr, s);
  });
  f.refused([&](lnf_status* s) {
    return lnf_answer(answerer, texts, nullptr, nullptr, nullptr, 1, answer_visit, nullptr, nullptr, s);
  });
  f.refused([&](lnf_status* s) {
    return lnf_answer(answerer, texts, nullptr, none, nullptr, 1, answer_visit, nullptr, nullptr, s);
  });
  f.refused([&](lnf_status* s) {
    return lnf_answer(answerer, texts, nullptr, texts, nullptr, 1, nullptr, nullptr, nullptr, s);
  });
  CHECK(lnf_tagger_head(nullptr) == -1);
  CHECK(lnf_answerer_head(nullptr) == -1);
  CHECK(lnf_tag(tagger, nullptr, nullptr, 0, tag_visit, nullptr, nullptr, nullptr) == LNF_OK);
  CHECK(lnf_answer(answerer, nullptr, nullptr, nullptr, nullptr, 0, answer_visit, nullptr, nullptr, nullptr) == LNF_OK);
  lnf_tagger_free(tagger);
  lnf_tagger_free(nullptr);
  lnf_answerer_free(answerer);
  lnf_answerer_free(nullptr);
  lnf_model_free(model);
}

}  // namespace
}  // namespace linformer_test::spans_test
