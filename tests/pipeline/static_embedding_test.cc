// Tests models without layers (static embeddings), and prompts before texts.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "linformer/embedder.h"
#include "linformer/session.h"
#include "linformer/text_reader.h"
#include "pipeline/loaded_model.h"
#include "pipeline/sentences.h"

namespace linformer_test::static_embedding_test {
namespace {

using namespace linformer;

std::vector<float> embedded(const std::shared_ptr<const Model>& model, const EmbedderOptions& options,
                            const std::vector<std::string>& texts) {
  Result<Embedder> made = Embedder::create(model, options);
  REQUIRE_MESSAGE(made.ok(), made.status().message());
  std::vector<float> vectors(texts.size() * static_cast<size_t>(made->width()));
  const Status status = made->embed(views_of(texts), vectors);
  REQUIRE_MESSAGE(status.ok(), status.message());
  return vectors;
}

SentimentModel static_rows() {
  SentimentModel shape;
  shape.static_rows = true;
  shape.heads = false;
  return shape;
}

TEST_CASE("a static embedding is the mean of the rows of the known tokens") {
  const LoadedModel f(static_rows());
  CHECK(f.model->info().layers == 0);
  CHECK(f.model->encoder().width == sentiment_width);
  const std::vector<float> vectors =
      embedded(f.model, {}, {"good", "good good bad", "good unheard-of bad", "unheard", "", "film good"});
  const auto at = [&](size_t text, size_t i) { return vectors[text * sentiment_width + i]; };
  CHECK(at(0, 0) == 1);
  CHECK(at(1, 0) == static_cast<float>(2.0 / 3));
  CHECK(at(1, 1) == static_cast<float>(1.0 / 3));
  CHECK(at(2, 0) == 0.5f);
  CHECK(at(2, 1) == 0.5f);
  for (size_t i = 0; i < sentiment_width; ++i) {
    CHECK(at(3, i) == 0);
    CHECK(at(4, i) == 0);
  }
  CHECK(at(5, 0) == 0.5f);
  CHECK(at(5, 2 + 7 % 8) == 0.25f);
}

TEST_CASE("static embeddings have the same bits in any batch, thread count and weight type") {
  const std::vector<std::string> texts = random_sentences(300, 30, 2);
  for (const ElementType type : {ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::int8}) {
    SentimentModel shape = static_rows();
    shape.type = type;
    shape.max_tokens = 100;
    const LoadedModel f(shape);
    const std::vector<float> own = embedded(f.model, {}, texts);
    EmbedderOptions options;
    options.texts.cpu.threads = 2;
    options.texts.max_batch = 3;
    CHECK(embedded(f.model, options, texts) == own);
    for (size_t i = 0; i < texts.size(); i += 37) {
      const std::vector<float> alone = embedded(f.model, {}, {texts[i]});
      CHECK(std::equal(alone.begin(), alone.end(), own.begin() + static_cast<std::ptrdiff_t>(i * sentiment_width)));
    }
  }
}

TEST_CASE("static embeddings support other poolings and hidden states, and have no buffer of rows") {
  const LoadedModel f(static_rows());
  EmbedderOptions options;
  for (const Pooling pooling : {Pooling::first_token, Pooling::last_token, Pooling::max, Pooling::weighted_mean,
                                Pooling::mean_over_max_tokens}) {
    options.pooling = pooling;
    const std::vector<float> vectors = embedded(f.model, options, {"good bad", ""});
    const float expected[] = {pooling == Pooling::first_token || pooling == Pooling::max ? 1.f
                              : pooling == Pooling::last_token                           ? 0.f
                              : pooling == Pooling::weighted_mean                        ? static_cast<float>(1.0 / 3)
                                                                  : static_cast<float>(1.0 / 12)};
    CHECK(vectors[0] == expected[0]);
    CHECK(vectors[sentiment_width] == 0);
  }
  SessionOptions session_options;
  session_options.memory.max_batch = 2;
  Result<Session> session = Session::create(f.model, session_options);
  REQUIRE_MESSAGE(session.ok(), session.status().message());
  const int32_t ids[] = {5, 1, 6}, none[] = {1};
  const Input inputs[] = {{.tokens = ids}, {.tokens = none}};
  for (const int layer : {-1, 0}) {
    std::vector<float> hidden(4 * sentiment_width, 9.f);
    const Output outputs[] = {Output::hidden(hidden, layer)};
    const Status status = session->run(inputs, outputs);
    REQUIRE_MESSAGE(status.ok(), status.message());
    CHECK(hidden[0] == 1);
    CHECK(hidden[1] == 0);
    CHECK(hidden[sentiment_width + 1] == 1);
    // Rows of tokens that were left out are zeros at the end.
    for (size_t i = 2 * sentiment_width; i < hidden.size(); ++i) CHECK(hidden[i] == 0);
  }
  // The plan has no buffer of rows for the tokens.
  const Plan plan = session->plan();
  for (int i = 0; i < plan.buffer_count; ++i) {
    if (std::string_view(plan.buffers[i].name) == "rows") CHECK(plan.buffers[i].bytes == 0);
  }
}

TEST_CASE("static embeddings cut a text by its characters before they cut it by its tokens") {
  SentimentModel shape = static_rows();
  shape.max_tokens = 3;
  shape.characters_per_token = 4;  // A text has at most 12 characters.
  const LoadedModel f(shape);
  Result<Embedder> made = Embedder::create(f.model, {});
  REQUIRE(made.ok());
  // "good bad goo" has two known tokens. An umlaut counts as one character.
  const std::vector<std::string> texts = {"good bad good", "bad bad bad bad", "\u00fc\u00fc\u00fc\u00fc good bad"};
  std::vector<TextReport> reports;
  std::vector<float> firsts;
  const Status status = made->embed(views_of(texts), [&](size_t, const TextReport& report, std::span<const float> v) {
    reports.push_back(report);
    firsts.push_back(v[0]);
    return true;
  });
  REQUIRE(status.ok());
  CHECK(firsts[0] == 0.5f);
  CHECK(reports[0].tokens == 3);
  CHECK(reports[0].truncated());
  CHECK(firsts[1] == 0);
  CHECK(reports[1].truncated());
  CHECK(firsts[2] == 1);  // "ba" is not in the vocabulary.
  EmbedderOptions whole;
  whole.texts.on_long = OnLong::error;
  CHECK(embedded(f.model, whole, {"good bad good"})[0] == static_cast<float>(2.0 / 3));
}

TEST_CASE("a prompt is chosen by name, by default or not at all") {
  for (const bool is_static : {false, true}) {
    SentimentModel shape;
    shape.embedding = true;
    shape.static_rows = is_static;
    shape.heads = !is_static;
    shape.prompts = {{"query", "good "}, {"passage", "bad film "}, {"document", ""}};
    const LoadedModel plain(shape);
    CHECK(plain.model->sentence_embedding().prompts == 3);
    CHECK(plain.model->prompt(1).name == "passage");
    CHECK(plain.model->prompt(1).text == "bad film ");
    CHECK(plain.model->prompt(3).name.empty());
    shape.default_prompt = 1;
    const LoadedModel f(shape);
    const std::vector<std::string> texts = {"film", "a plot", "good"},
                                   queries = {"good film", "good a plot", "good good"},
                                   passages = {"bad film film", "bad film a plot", "bad film good"};
    const auto with = [&](std::optional<std::string_view> prompt) {
      EmbedderOptions options;
      options.prompt = prompt;
      return embedded(f.model, options, texts);
    };
    CHECK(embedded(plain.model, {}, texts) == with(""));
    CHECK(embedded(plain.model, {}, queries) == with("query"));
    CHECK(embedded(plain.model, {}, passages) == with("passage"));
    CHECK(with("document") == with(""));
    CHECK(with(std::nullopt) == with("passage"));
    CHECK(with("query") != with(""));
    EmbedderOptions options;
    options.prompt = "nobody";
    const Status refused = Embedder::create(f.model, options).status();
    CHECK(refused.code() == Code::invalid_argument);
    CHECK(std::string(refused.message()) ==
          "this model has no prompt called 'nobody': it has query, passage, document");
  }
}

TEST_CASE("a model without prompts refuses a prompt, and one that excludes prompts accepts only an empty one") {
  SentimentModel shape;
  shape.embedding = true;
  const LoadedModel none(shape);
  EmbedderOptions options;
  options.prompt = "query";
  CHECK(std::string(Embedder::create(none.model, options).status().message()) ==
        "this model has no prompts, so none is called 'query'");
  shape.prompts = {{"query", "good "}, {"document", ""}};
  shape.excludes_prompt = true;
  const LoadedModel excluding(shape);
  const Status refused = Embedder::create(excluding.model, options).status();
  CHECK(refused.code() == Code::unsupported);
  CHECK(std::string(refused.message()).find("include_prompt") != std::string::npos);
  options.prompt = "document";  // This prompt is empty.
  CHECK(embedded(excluding.model, options, {"film"}) == embedded(none.model, {}, {"film"}));
}

TEST_CASE("a reader puts its prompt before the first of two texts, and once before the text of each window") {
  const LoadedModel f;
  TextReaderOptions options;
  options.prompt = "good bad ";
  options.texts.on_long = OnLong::window;
  Result<TextReader> reader = TextReader::create(f.model, options);
  REQUIRE(reader.ok());
  TextReport report;
  REQUIRE(reader->read({"film", "plot", {}}, &report).ok());
  const Result<TextSequence> pair = reader->sequence(0);
  REQUIRE(pair.ok());
  const std::vector<int32_t> ids(pair->ids.begin(), pair->ids.end());
  CHECK(ids == std::vector<int32_t>{2, 5, 6, 7, 3, 12, 3});
  std::string text;
  for (int i = 0; i < 30; ++i) text += "film ";
  REQUIRE(reader->read({text, {}, {}}, &report).ok());
  CHECK(report.tokens == 34);
  REQUIRE(reader->sequences() > 1);
  CHECK(reader->sequence(0)->ids[1] == 5);
  CHECK(reader->sequence(1)->ids[1] == 7);
  Result<TextReader> other = reader->another();
  REQUIRE(other.ok());
  REQUIRE(other->read({"film", {}, {}}, &report).ok());
  CHECK(report.tokens == 5);
}

}  // namespace
}  // namespace linformer_test::static_embedding_test
