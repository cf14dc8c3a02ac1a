// Tests TextReader, which turns texts into the sequences that a model reads.
#include "linformer/text_reader.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "pipeline/sentences.h"

namespace linformer_test::text_reader_test {
namespace {

using namespace linformer;

std::shared_ptr<const Model> load(const CliFixture& f) { return *Model::load(f.model().c_str()); }

TextReader reader_of(const std::shared_ptr<const Model>& model, const TextReaderOptions& options = {}) {
  Result<TextReader> made = TextReader::create(model, options);
  REQUIRE_MESSAGE(made.ok(), made.status().message());
  return std::move(*made);
}

template <class T>
std::vector<T> listed(std::span<const T> values) {
  return {values.begin(), values.end()};
}

struct Shown {
  std::vector<int32_t> ids;
  std::vector<int8_t> texts;
  std::array<int64_t, 2> first;
  friend bool operator==(const Shown&, const Shown&) = default;
};

Shown shown(TextReader& reader, int64_t i) {
  const Result<TextSequence> sequence = reader.sequence(i);
  REQUIRE_MESSAGE(sequence.ok(), sequence.status().message());
  CHECK(sequence->types.size() == sequence->ids.size());
  CHECK(sequence->offsets.size() == sequence->ids.size());
  return {listed(sequence->ids), listed(sequence->texts), sequence->first};
}

TEST_CASE("a reader returns the ids of a text, the text of each id, and their positions") {
  const CliFixture f;
  TextReader reader = reader_of(load(f));
  CHECK(reader.max_tokens() == 12);
  CHECK(reader.sequences() == 0);
  CHECK(reader.sequence(0).status().code() == Code::invalid_argument);
  TextReport report;
  REQUIRE(reader.read({"good [MASK] .", "bad film", {}}, &report).ok());
  CHECK(report.tokens == 8);
  CHECK(report.windows == 1);
  CHECK(reader.sequences() == 1);
  const Shown all = shown(reader, 0);
  CHECK(all.ids == std::vector<int32_t>{2, 5, 4, 10, 3, 6, 7, 3});
  CHECK(all.texts == std::vector<int8_t>{-1, 0, 0, 0, -1, 1, 1, -1});
  CHECK(all.first == std::array<int64_t, 2>{0, 0});
  const TextSequence sequence = *reader.sequence(0);
  CHECK(sequence.offsets[2].begin == 5);
  CHECK(sequence.offsets[2].end == 11);
  CHECK(sequence.offsets[6].begin == 4);
  CHECK(sequence.offsets[0].end == 0);
  for (const int64_t i : {int64_t{-1}, int64_t{1}, INT64_MIN, INT64_MAX}) {
    CHECK(reader.sequence(i).status().code() == Code::invalid_argument);
  }
}

TEST_CASE("windows contain each token, and can be requested in any order") {
  const CliFixture f;
  const std::shared_ptr<const Model> model = load(f);
  TextReaderOptions options;
  options.texts.on_long = OnLong::window;
  options.texts.overlap = 3;
  TextReader reader = reader_of(model, options);
  for (const bool pair : {false, true}) {
    CAPTURE(pair);
    std::string text;
    for (int i = 0; i < 27; ++i) text += sentiment_words[5 + static_cast<size_t>(i * 7 % 8)] + " ";
    TextInput input{text, {}, {}};
    if (pair) input.pair = "good film";
    TextReport report;
    REQUIRE(reader.read(input, &report).ok());
    REQUIRE(report.windows == reader.sequences());
    REQUIRE(report.windows > 3);
    std::vector<Shown> windows;
    std::vector<int32_t> seen;
    for (int64_t i = 0; i < report.windows; ++i) {
      windows.push_back(shown(reader, i));
      const Shown& window = windows.back();
      CHECK(window.ids.size() <= 12);
      int64_t next = window.first[0];
      CHECK(next <= static_cast<int64_t>(seen.size()));
      for (size_t t = 0; t < window.ids.size(); ++t) {
        if (window.texts[t] != 0) continue;
        if (next == static_cast<int64_t>(seen.size())) seen.push_back(window.ids[t]);
        CHECK(seen[static_cast<size_t>(next++)] == window.ids[t]);
      }
    }
    CHECK(seen.size() == 27);
    // Another reader returns the windows in reverse order.
    Result<TextReader> other = reader.another();
    REQUIRE(other.ok());
    REQUIRE(other->read(input, &report).ok());
    for (int64_t i = report.windows; i-- > 0;) CHECK(shown(*other, i) == windows[static_cast<size_t>(i)]);
    CHECK(shown(*other, 2) == windows[2]);
  }
}

TEST_CASE("each token is nearest to the middle of one window, and the last window may be short") {
  const CliFixture f;
  const std::shared_ptr<const Model> model = load(f);
  std::string text;
  for (int i = 0; i < 31; ++i) text += "film ";
  for (const bool pair : {false, true}) {
    for (const bool is_short : {false, true}) {
      for (const int64_t overlap : {0, 1, 2, 5, 6}) {
        CAPTURE(pair);
        CAPTURE(is_short);
        CAPTURE(overlap);
        TextReaderOptions options;
        options.texts.on_long = OnLong::window;
        options.texts.overlap = overlap;
        options.texts.truncation = Truncation::only_second;
        options.short_last_window = is_short;
        TextReader reader = reader_of(model, options);
        const TextInput input = pair ? TextInput{"good bad", text, {}} : TextInput{text, {}, {}};
        const int64_t room = pair ? 7 : 10;
        TextReport report;
        REQUIRE(reader.read(input, &report).ok());
        std::vector<int64_t> firsts, owners(31, -1);
        for (int64_t i = 0; i < report.windows; ++i) {
          const TextSequence sequence = *reader.sequence(i);
          firsts.push_back(sequence.first[pair ? 1 : 0]);
          CHECK(static_cast<int64_t>(sequence.ids.size()) == std::min(room, 31 - firsts.back()) + (pair ? 5 : 2));
          for (int64_t t = std::max<int64_t>(sequence.nearest[0], 0); t < std::min<int64_t>(sequence.nearest[1], 31);
               ++t) {
            CHECK(owners[static_cast<size_t>(t)] == -1);
            owners[static_cast<size_t>(t)] = i;
          }
        }
        const int64_t step = room - overlap;
        CHECK(firsts.back() == (is_short ? (report.windows - 1) * step : 31 - room));
        CHECK(firsts.back() + room >= 31);
        CHECK(firsts[firsts.size() - 2] + room < 31);
        for (int64_t t = 0; t < 31; ++t) {
          const auto distance = [&](int64_t i) {
            return std::min(t - firsts[static_cast<size_t>(i)], firsts[static_cast<size_t>(i)] + room - 1 - t);
          };
          const int64_t owner = owners[static_cast<size_t>(t)];
          REQUIRE(owner >= 0);
          for (int64_t i = 0; i < report.windows; ++i) {
            CHECK((i < owner ? distance(i) < distance(owner) : distance(i) <= distance(owner)));
          }
        }
      }
    }
  }
  TextReader reader = reader_of(model);
  TextReport report;
  REQUIRE(reader.read({"film", {}, {}}, &report).ok());
  CHECK(reader.sequence(0)->nearest == std::array<int64_t, 2>{0, INT64_MAX});
}

TEST_CASE("a report describes its own text only, and a text with an error has no sequences") {
  const CliFixture f;
  TextReaderOptions options;
  options.texts.on_long = OnLong::error;
  TextReader reader = reader_of(load(f), options);
  std::string text;
  for (int i = 0; i < 30; ++i) text += "film ";
  TextReport report;
  CHECK(reader.read({text, {}, {}}, &report).code() == Code::too_long);
  CHECK(report.status.code() == Code::too_long);
  CHECK(report.beyond.limit == TextLimit::tokens);
  CHECK(report.beyond.tokens == 32);
  CHECK(reader.sequences() == 0);
  REQUIRE(reader.read({"film", {}, {}}, &report).ok());
  CHECK(report.status.ok());
  CHECK(report.beyond.limit == TextLimit::none);
  CHECK(report.tokens == 3);
  CHECK(report.total_tokens == 3);
  CHECK(reader.sequences() == 1);
  CHECK(reader.read({"[PAD]", {}, {}}, &report).ok());  // The tokens of the template remain.
}

TEST_CASE("two texts are read apart for a head that compares them") {
  const CliFixture f;
  TextReaderOptions options;
  options.apart = true;
  options.texts.on_long = OnLong::window;
  TextReader reader = reader_of(load(f), options);
  TextReport report;
  REQUIRE(reader.read({"good", "bad film", {}}, &report).ok());
  CHECK(reader.sequences() == 2);
  CHECK(report.tokens == 7);
  CHECK(shown(reader, 0).ids == std::vector<int32_t>{2, 5, 3});
  CHECK(shown(reader, 1).ids == std::vector<int32_t>{2, 6, 7, 3});
  CHECK(reader.read({"good", {}, {}}, &report).code() == Code::invalid_argument);
  std::string text;
  for (int i = 0; i < 30; ++i) text += "film ";
  CHECK(reader.read({"good", text, {}}, &report).code() == Code::too_long);
  CHECK(report.beyond.text == 1);
}

TEST_CASE("the options of a session follow from the options of texts") {
  const CliFixture f;
  const std::shared_ptr<const Model> model = load(f);
  TextOptions texts;
  texts.max_batch = 3;
  texts.cpu.threads = 2;
  texts.run.padding = Padding::keep;
  texts.profile = true;
  const Result<SessionOptions> whole = session_options(*model, texts);
  REQUIRE(whole.ok());
  CHECK(whole->memory.max_tokens == model->info().max_tokens);
  CHECK(whole->memory.max_batch == 3);
  CHECK(whole->memory.max_rows == TextOptions::default_rows);
  CHECK(whole->cpu.threads == 2);
  CHECK(whole->run.padding == Padding::keep);
  CHECK(whole->profile);
  texts.max_tokens = 6;
  texts.max_rows = 9;
  CHECK(session_options(*model, texts)->memory.max_tokens == 6);
  CHECK(session_options(*model, texts)->memory.max_rows == 9);
  CHECK(Session::create(model, *session_options(*model, texts)).ok());
  texts.pad_to = 7;
  const Result<SessionOptions> refused = session_options(*model, texts);
  CHECK(refused.status().code() == Code::invalid_argument);
  CHECK(std::string(refused.status().message()).find("pad_to is 7") != std::string::npos);
}

TEST_CASE("the limits of a reader are those of the options or of a session") {
  const CliFixture f;
  const std::shared_ptr<const Model> model = load(f);
  TextReaderOptions options;
  options.texts.max_tokens = 6;
  TextReader reader = reader_of(model, options);
  CHECK(reader.max_tokens() == 6);
  TextReport report;
  REQUIRE(reader.read({"good film . bad film .", {}, {}}, &report).ok());
  CHECK(report.tokens == 6);
  CHECK(report.truncated());
  CHECK(report.total_tokens == 8);
  SessionOptions planned;
  planned.memory.max_tokens = 5;
  const Session session = std::move(*Session::create(model, planned));
  options.session = &session;
  CHECK(reader_of(model, options).max_tokens() == 5);
  options.session = nullptr;
  const auto refusal = [&](auto&& change) {
    TextReaderOptions changed;
    change(&changed.texts);
    const Result<TextReader> made = TextReader::create(model, changed);
    return made.ok() ? std::string() : std::string(made.status().message());
  };
  CHECK(refusal([](TextOptions* o) { o->max_tokens = 2; }).find("no room") != std::string::npos);
  CHECK(refusal([](TextOptions* o) { o->max_tokens = 13; }).find("max_tokens is 13") != std::string::npos);
  CHECK(refusal([](TextOptions* o) { o->max_tokens = -1; }).find("max_tokens is -1") != std::string::npos);
  CHECK(refusal([](TextOptions* o) { o->overlap = 10; }).find("overlap 10") != std::string::npos);
  CHECK(refusal([](TextOptions* o) { o->on_long = static_cast<OnLong>(9); }).find("on_long") != std::string::npos);
  CHECK(TextReader::create(nullptr).status().code() == Code::invalid_argument);
  SentimentModel bare;
  bare.tokenizer = false;
  const CliFixture without(bare);
  CHECK(TextReader::create(load(without)).status().code() == Code::unsupported);
}

}  // namespace
}  // namespace linformer_test::text_reader_test
