// Tests the contract of encode() besides the ids: truncation, windows, masks, reuse of an Encoding, errors and threads.
#include <doctest/doctest.h>

#include <numeric>
#include <random>
#include <thread>

#include "base/description.h"
#include "support/shared_data.h"
#include "text/golden_lines.h"
#include "text/legacy_truncation.h"
#include "text/tokenizer_factory.h"

namespace linformer_test::encoding_test {

using namespace linformer;

namespace {

const LoadedTokenizer& bpe() {
  static const LoadedTokenizer loaded(convert::load_tokenizer(test_data_path("tokenizers/bpe")));
  return loaded;
}
const LoadedTokenizer& wordpiece() {
  static const LoadedTokenizer loaded(convert::load_tokenizer(test_data_path("tokenizers/wordpiece_json")));
  return loaded;
}

std::vector<int32_t> text_ids(const Encoding& encoding, int sequence) {
  std::vector<int32_t> ids;
  for (size_t i = 0; i < encoding.ids().size(); ++i) {
    if (encoding.sequence_ids()[i] == sequence) ids.push_back(encoding.ids()[i]);
  }
  return ids;
}

std::string words(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += i == 0 ? "the" : " the";
  return text;
}

}  // namespace

TEST_CASE("truncation keeps the tokens that its rule names, from the head or the tail") {
  std::mt19937 random(5);
  Encoding cut, whole;
  for (int round = 0; round < 400; ++round) {
    const LoadedTokenizer& loaded = round % 2 == 0 ? bpe() : wordpiece();
    const std::string first = words(static_cast<int>(random() % 12));
    const std::string second = words(static_cast<int>(random() % 12));
    EncodeOptions options;
    REQUIRE(loaded.tokenizer.encode(first, second, options, &whole).ok());
    const auto a = text_ids(whole, 0), b = text_ids(whole, 1);
    const int64_t added = loaded.tokenizer.template_tokens(true);
    options.truncation = static_cast<Truncation>(random() % 4);
    options.keep = random() % 2 == 0 ? Keep::head : Keep::tail;
    const int64_t room = static_cast<int64_t>(random() % 20);
    options.max_length = added + room;
    const Status status = loaded.tokenizer.encode(first, second, options, &cut);
    const auto total = static_cast<int64_t>(a.size() + b.size());
    const bool fits = total <= room || options.truncation == Truncation::none;
    if (options.truncation == Truncation::only_first || options.truncation == Truncation::only_second) {
      const auto other = static_cast<int64_t>(options.truncation == Truncation::only_first ? b.size() : a.size());
      if (!fits && room > 0 && other >= room) {
        CHECK(status.code() == Code::invalid_argument);
        continue;
      }
    }
    REQUIRE_MESSAGE(status.ok(), status.message());
    CHECK(cut.truncated() == !fits);
    CHECK(cut.total_tokens() == added + total);
    const auto cut_a = text_ids(cut, 0), cut_b = text_ids(cut, 1);
    CHECK(static_cast<int64_t>(cut.ids().size()) == added + (fits ? total : room));
    const auto kept_of = [&](const std::vector<int32_t>& all, size_t kept) {
      return options.keep == Keep::head ? std::vector<int32_t>(all.begin(), all.begin() + static_cast<long>(kept))
                                        : std::vector<int32_t>(all.end() - static_cast<long>(kept), all.end());
    };
    CHECK(cut_a == kept_of(a, cut_a.size()));
    CHECK(cut_b == kept_of(b, cut_b.size()));
    if (options.truncation == Truncation::only_first && room > 0) CHECK(cut_b == b);
    if (options.truncation == Truncation::only_second && room > 0) CHECK(cut_a == a);
    if (options.truncation == Truncation::longest_first && !fits) {
      // A text is cut only to the length of the other text, give or take one token.
      if (cut_a.size() < a.size()) CHECK(cut_a.size() + 1 >= cut_b.size());
      if (cut_b.size() < b.size()) CHECK(cut_b.size() + 1 >= cut_a.size());
    }
  }
}

TEST_CASE("if two texts are both cut, the longer one keeps the odd token") {
  // The expected values are those of tokenizers 0.23.3. It compares the lengths before truncation, and if they are
  // equal, the second text keeps the odd token.
  Encoding encoding;
  EncodeOptions options;
  options.add_special_tokens = false;
  options.max_length = 5;
  for (const LoadedTokenizer* loaded : {&bpe(), &wordpiece()}) {
    for (const auto& [first, second, kept] : {std::tuple{20, 30, 2}, {30, 20, 3}, {20, 20, 2}}) {
      for (const Keep keep : {Keep::head, Keep::tail}) {
        options.keep = keep;
        REQUIRE(loaded->tokenizer.encode(words(first), words(second), options, &encoding).ok());
        CHECK(text_ids(encoding, 0).size() == static_cast<size_t>(kept));
        CHECK(text_ids(encoding, 1).size() == static_cast<size_t>(5 - kept));
      }
    }
  }
}

TEST_CASE("windows cover a long text completely") {
  Encoding whole, window;
  const std::string text = words(40) + " keeper's 1024 \u6771\u4eac";
  EncodeOptions options;
  options.token_strings = true;
  for (const LoadedTokenizer* loaded : {&bpe(), &wordpiece()}) {
    REQUIRE(loaded->tokenizer.encode(text, options, &whole).ok());
    const auto all = text_ids(whole, 0);
    for (int64_t room : {1, 3, 7, 16, 500}) {
      options.max_length = loaded->tokenizer.template_tokens(false) + room;
      std::vector<int32_t> joined;
      for (int64_t first = 0;; first += room) {
        REQUIRE(loaded->tokenizer.encode_window(text, options, first, &window).ok());
        if (window.ids().empty()) break;
        CHECK(window.ids().front() == loaded->description.bos);
        CHECK(window.ids().back() == loaded->description.eos);
        CHECK(window.truncated() == (room < static_cast<int64_t>(all.size())));
        const auto part = text_ids(window, 0);
        const auto at = static_cast<size_t>(first) + 1;
        for (size_t i = 0; i < part.size(); ++i) {
          CHECK(window.offsets()[i + 1].begin == whole.offsets()[at + i].begin);
          CHECK(window.token(i + 1) == whole.token(at + i));
        }
        joined.insert(joined.end(), part.begin(), part.end());
      }
      CHECK(joined == all);
      options.max_length = 0;
    }
    options.max_length = 2;
    const Status full = loaded->tokenizer.encode_window(text, options, 0, &window);
    CHECK(full.code() == Code::invalid_argument);
    CHECK(std::string(full.message()) ==
          "max_length is 2, which leaves no room for text beside 2 special tokens: give more");
    options.max_length = 9;
    const Status before = loaded->tokenizer.encode_window(text, options, -1, &window);
    CHECK(before.code() == Code::invalid_argument);
    CHECK(std::string(before.message()) == "the window begins at token -1: give 0 or more");
    options.max_length = 0;
  }
}

TEST_CASE("if max_length is below the template's own tokens, LegacyTruncation::encode() keeps whole words") {
  const std::string first = "unbelievable, the of", second = "of the unbelievable";
  Encoding whole, cut;
  for (const LoadedTokenizer* loaded : {&bpe(), &wordpiece()}) {
    REQUIRE(loaded->tokenizer.encode(first, second, {}, &whole).ok());
    for (int64_t max_length = 1; max_length < loaded->tokenizer.template_tokens(true); ++max_length) {
      for (const Keep keep : {Keep::head, Keep::tail}) {
        EncodeOptions options;
        options.max_length = max_length;
        options.keep = keep;
        CHECK(loaded->tokenizer.encode(first, second, options, &cut).code() == Code::invalid_argument);
        const std::string_view texts[] = {first, second};
        REQUIRE(LegacyTruncation::encode(loaded->tokenizer, texts, options, &cut).ok());
        CHECK(cut.truncated());
        for (int sequence = 0; sequence < 2; ++sequence) {
          const auto all = text_ids(whole, sequence), kept = text_ids(cut, sequence);
          REQUIRE(static_cast<int64_t>(kept.size()) >= max_length);
          REQUIRE(kept.size() <= all.size());
          CHECK((keep == Keep::head ? std::equal(kept.begin(), kept.end(), all.begin())
                                    : std::equal(kept.rbegin(), kept.rend(), all.rbegin())));
          // Words are taken from the end that is kept until they have max_length tokens. The long word is kept whole
          // if it is at that end. Otherwise the short words suffice, and the long word is left out.
          const bool long_word_first = (sequence == 0) == (keep == Keep::head);
          if (!long_word_first) CHECK(static_cast<int64_t>(kept.size()) <= max_length + 1);
          if (long_word_first) CHECK(kept.size() > 4);
        }
      }
    }
  }
}

TEST_CASE("an empty text is encoded as its template, and errors name the invalid value") {
  Encoding encoding;
  CHECK(encoding.ids().empty());
  CHECK(encoding.total_tokens() == 0);
  for (const LoadedTokenizer* loaded : {&bpe(), &wordpiece()}) {
    REQUIRE(loaded->tokenizer.encode("", {}, &encoding).ok());
    CHECK(ids_of(encoding) == std::vector<int32_t>{loaded->description.bos, loaded->description.eos});
    EncodeOptions options;
    options.add_special_tokens = false;
    REQUIRE(loaded->tokenizer.encode("", options, &encoding).ok());
    CHECK(encoding.ids().empty());
    options.add_special_tokens = true;
    options.max_length = 1;
    Status status = loaded->tokenizer.encode("the", options, &encoding);
    CHECK(status.code() == Code::invalid_argument);
    CHECK(std::string(status.message()) == "max_length is 1, but the special tokens alone are 2: give more");
    options.max_length = -3;
    CHECK(loaded->tokenizer.encode("the", options, &encoding).code() == Code::invalid_argument);
    options.max_length = 3;
    options.truncation = Truncation::only_second;
    CHECK(loaded->tokenizer.encode("the the the", options, &encoding).code() == Code::invalid_argument);
    REQUIRE(loaded->tokenizer.encode("the", {}, &encoding).ok());  // The Encoding can be used after an error.

    TextBuffer text;
    const int32_t beyond[] = {loaded->description.bos, 70000};
    status = loaded->tokenizer.decode(beyond, {}, &text);
    CHECK(status.code() == Code::invalid_argument);
    CHECK(std::string(status.message()) == "id 70000 at position 1 has no token in this vocabulary");
    const int32_t negative[] = {-1};
    CHECK(loaded->tokenizer.decode(negative, {}, &text).code() == Code::invalid_argument);
  }
  TokenizerDescription none;
  CHECK(TokenizerFactory::create(none).status().code() == Code::unsupported);
  none.kind = TokenizerKind::unigram;
  CHECK(TokenizerFactory::create(none).status().code() == Code::corrupt_file);  // It has no vocabulary.
  none.kind = TokenizerKind{5};
  CHECK(TokenizerFactory::create(none).status().code() == Code::unsupported);
}

TEST_CASE("a text above the limit is refused without being read") {
  Encoding encoding;
  // encode() may look only at the size, because the view points to one byte.
  const std::string_view huge("x", max_text_bytes + 1);
  CHECK(bpe().tokenizer.encode(huge, {}, &encoding).code() == Code::too_long);
}

TEST_CASE("one tokenizer can be used by several threads at once, and a used Encoding works like a new one") {
  std::vector<std::string> texts;
  std::mt19937 random(9);
  for (int i = 0; i < 300; ++i) {
    std::string text;
    for (uint32_t k = random() % 30; k > 0; --k) {
      const char* pieces[] = {"keeper", " ", "the", "\u00e9", "12", "'s", "<mask>", "\u6771", "wait", "\n"};
      text += pieces[random() % std::size(pieces)];
    }
    texts.push_back(text);
  }
  for (const LoadedTokenizer* loaded : {&bpe(), &wordpiece()}) {
    std::vector<std::vector<int32_t>> expected;
    for (const std::string& text : texts) {
      Encoding fresh;
      REQUIRE(loaded->tokenizer.encode(text, {}, &fresh).ok());
      expected.push_back(ids_of(fresh));
    }
    std::vector<int> differences(4, 0);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        Encoding reused;
        for (size_t i = 0; i < 2 * texts.size(); ++i) {
          const size_t at = (i + static_cast<size_t>(t) * 71) % texts.size();
          differences[static_cast<size_t>(t)] +=
              !loaded->tokenizer.encode(texts[at], {}, &reused).ok() || ids_of(reused) != expected[at];
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(std::accumulate(differences.begin(), differences.end(), 0) == 0);
  }
}

TEST_CASE("an Encoding can be used with different tokenizers") {
  Encoding shared;
  for (int i = 0; i < 4; ++i) {
    const LoadedTokenizer& loaded = i % 2 == 0 ? bpe() : wordpiece();
    Encoding fresh;
    REQUIRE(loaded.tokenizer.encode("the keeper waits", {}, &fresh).ok());
    REQUIRE(loaded.tokenizer.encode("the keeper waits", {}, &shared).ok());
    CHECK(ids_of(fresh) == ids_of(shared));
  }
}

}  // namespace linformer_test::encoding_test
