// Tests the pre-tokenizers before BPE and Unigram: their results, their costs, and the errors for unsupported ones.
#include <doctest/doctest.h>

#include "base/description.h"
#include "text/bpe.h"
#include "text/golden_lines.h"
#include "text/splitter.h"
#include "text/tokenizer_factory.h"
#include "text/tokenizer_folder.h"
#include "text/word_patterns.h"

namespace linformer_test::pre_tokenizer_test {

using namespace linformer;
using convert::load_tokenizer;
using nlohmann::json;

namespace {

std::vector<std::string> words_of(SplitKind kind, const std::string& text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = word_end(kind, text, at);
    REQUIRE(end > at);
    REQUIRE(end <= text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

using Words = std::vector<std::string>;

std::vector<std::string> parts_of(const SplitStep& step, const std::string& text) {
  TokenizerRules rules;
  rules.splits.push_back(step);
  Splitter splitter;
  REQUIRE(splitter.create(rules).ok());
  std::vector<std::string> parts;
  REQUIRE(splitter.split(text, 0, text.size(), [&](size_t begin, size_t end) {
    parts.push_back(text.substr(begin, end - begin));
    return true;
  }));
  return parts;
}

json with_split(const json& pattern, const char* behavior, bool invert) {
  json document = read_json("bpe_cl100k_json/tokenizer.json");
  document["pre_tokenizer"]["pretokenizers"][0] = {
      {"type", "Split"}, {"pattern", pattern}, {"behavior", behavior}, {"invert", invert}};
  return document;
}

}  // namespace

// The expected values in this file are those of tokenizers 0.23.3. tests/tokenizers compares thousands of others.
TEST_CASE("each expression splits a text as the reference does") {
  const std::string text = "HTMLtags isn't IT'S 12345 f(x)\n\n  //\n\u00e9a\u0301B";
  CHECK(words_of(SplitKind::gpt2, text) == Words{"HTMLtags", " isn", "'t", " IT", "'", "S", " 12345", " f", "(", "x",
                                                 ")", "\n\n ", " //", "\n", "\u00e9a", "\u0301", "B"});
  CHECK(words_of(SplitKind::cl100k, text) == Words{"HTMLtags", " isn", "'t", " IT", "'S", " ", "123", "45", " f", "(x",
                                                   ")\n\n", " ", " //\n", "\u00e9a", "\u0301B"});
  CHECK(words_of(SplitKind::qwen2, text) == Words{"HTMLtags", " isn", "'t", " IT", "'S", " ", "1", "2", "3", "4", "5",
                                                  " f", "(x", ")\n\n", " ", " //\n", "\u00e9a", "\u0301B"});
  CHECK(words_of(SplitKind::qwen3_5, text) == Words{"HTMLtags", " isn", "'t", " IT", "'S", " ", "1", "2", "3", "4", "5",
                                                    " f", "(x", ")\n\n", " ", " //\n", "\u00e9a\u0301B"});
  CHECK(words_of(SplitKind::o200k, text) == Words{"HTMLtags", " isn't", " IT'S", " ", "123", "45", " f", "(x", ")\n\n",
                                                  " ", " //\n", "\u00e9a\u0301", "B"});
  CHECK(words_of(SplitKind::tekken, text) == Words{"HTMLtags", " isn", "'t", " IT", "'S", " ", "1", "2", "3", "4", "5",
                                                   " f", "(x", ")\n\n", " ", " //\n", "\u00e9a\u0301", "B"});
  // If no lower-case letter follows the capitals, the word ends after the last character that has no case, which is a
  // letter or a combining mark.
  CHECK(words_of(SplitKind::o200k, "A\u4e2dBC") == Words{"A\u4e2d", "BC"});
  CHECK(words_of(SplitKind::o200k, "\u0301ABC") == Words{"\u0301", "ABC"});
  // The long s (U+017F) is an S without regard to case, as in 's.
  CHECK(words_of(SplitKind::cl100k, "it'\u017ft") == Words{"it", "'\u017f", "t"});
}

TEST_CASE("matches are kept, removed or joined as the split's behavior says") {
  const auto digits = [](SplitBehavior behavior) { return parts_of({SplitKind::digits, behavior, {}}, "1a22b3"); };
  CHECK(digits(SplitBehavior::isolated) == Words{"1", "a", "2", "2", "b", "3"});
  CHECK(digits(SplitBehavior::removed) == Words{"a", "b"});
  CHECK(digits(SplitBehavior::merged_with_previous) == Words{"1", "a2", "2", "b3"});
  CHECK(digits(SplitBehavior::merged_with_next) == Words{"1a", "2", "2b", "3"});
  CHECK(digits(SplitBehavior::contiguous) == Words{"1", "a", "22", "b", "3"});
  CHECK(parts_of({SplitKind::text, SplitBehavior::isolated, "aa"}, "aaabaa") == Words{"aa", "ab", "aa"});
  CHECK(parts_of({SplitKind::white_space, SplitBehavior::removed, {}}, " a\u3000\tb\n") == Words{"a", "b"});
  CHECK(parts_of({SplitKind::punctuation, SplitBehavior::isolated, {}}, "a.$b") == Words{"a", ".", "$", "b"});
}

TEST_CASE("invalid splits and too many splits are refused") {
  const auto code = [](SplitStep step, size_t count = 1) {
    TokenizerRules rules;
    for (size_t i = 0; i < count; ++i) rules.splits.push_back(step);
    return Splitter().create(rules).code();
  };
  CHECK(code({SplitKind::digits, SplitBehavior::removed, {}}, max_splits) == Code::ok);
  CHECK(code({SplitKind::digits, SplitBehavior::removed, {}}, max_splits + 1) == Code::unsupported);
  CHECK(code({SplitKind::gpt2, SplitBehavior::removed, {}}) == Code::corrupt_file);
  CHECK(code({SplitKind::text, SplitBehavior::isolated, {}}) == Code::unsupported);
  CHECK(code({SplitKind::text, SplitBehavior::isolated, std::string(max_split_pattern_bytes + 1, 'a')}) ==
        Code::unsupported);
  CHECK(code({SplitKind::text, SplitBehavior::isolated, "\xFF"}) == Code::unsupported);
  CHECK(code({SplitKind{10}, SplitBehavior::isolated, {}}) == Code::unsupported);
  CHECK(code({SplitKind::digits, SplitBehavior{5}, {}}) == Code::unsupported);
}

TEST_CASE("the error for an unsupported pre-tokenizer names it and its expression") {
  TokenizerFolder folder;
  const auto error = [&](const json& document) {
    folder.write("tokenizer.json", document.dump());
    return error_of([&] { load_tokenizer(folder.path()); });
  };
  for (int kind = 0; is_word_pattern(static_cast<SplitKind>(kind)); ++kind) {
    const json regex = {{"Regex", std::string(regular_expression_of(static_cast<SplitKind>(kind)))}};
    CHECK(error(with_split(regex, "Isolated", false)) == "no error");
    CHECK(load_tokenizer(folder.path()).description.rules.splits[0].kind == static_cast<SplitKind>(kind));
    CHECK(error(with_split(regex, "Removed", true)) == "no error");
    CHECK(
        contains(error(with_split(regex, "Removed", false)),
                 "pretokenizers[0].behavior is not supported for this expression: Isolated, and Removed with invert"));
  }
  CHECK(
      contains(error(with_split({{"Regex", "\\p{Lu}+x"}}, "Isolated", false)),
               "pretokenizers[0].pattern (\"\\p{Lu}+x\") is an expression that is not supported: plain texts and those "
               "of GPT-2, cl100k (Llama 3), o200k, Qwen 2, Qwen 3.5 and Tekken are"));
  CHECK(error(with_split({{"Regex", "plain"}}, "MergedWithNext", false)) == "no error");
  CHECK(
      contains(error(with_split({{"String", ""}}, "Isolated", false)), "pattern has 0 bytes; 1 to 256 are supported"));
  CHECK(contains(error(with_split({{"String", "a"}}, "Removed", true)),
                 "invert true is not supported for a pattern that is plain text"));
  CHECK(contains(error(with_split({{"String", "a"}}, "Dropped", false)), "behavior (\"Dropped\") must be Isolated"));
  json document = read_json("bpe_cl100k_json/tokenizer.json");
  json& parts = document["pre_tokenizer"]["pretokenizers"];
  parts.push_back({{"type", "Digits"}});
  CHECK(contains(error(document), "pretokenizers[2] (\"Digits\") stands behind ByteLevel, which is not supported"));
  parts = json::array();
  for (size_t i = 0; i <= max_splits; ++i) parts.push_back({{"type", "Digits"}});
  CHECK(contains(error(document), "pretokenizers[16] is one pre-tokenizer too many: at most 16 are supported"));
  document = read_json("bpe_gemma_json/tokenizer.json");
  document["model"]["vocab"].erase("<0x07>");
  document["model"]["vocab"]["no byte"] = read_json("bpe_gemma_json/tokenizer.json")["model"]["vocab"]["<0x07>"];
  CHECK(contains(error(document),
                 "model.byte_fallback true needs the tokens <0x00> to <0xFF>, of which model.vocab "
                 "has 255: add the others or set it to false"));
}

TEST_CASE("texts that no expression splits cost no more than others") {
  constexpr size_t length = 1 << 18;
  // Each text makes an alternative of an expression read far and fail, many times.
  for (const char* unit : {"A", " ", "\n ", "\u4e2dAAAA", "\u0301A", " A", ".A", "1", "'", "'A", "/\n", "\u00a0"}) {
    std::string text;
    while (text.size() < length) text += unit;
    for (int kind = 0; is_word_pattern(static_cast<SplitKind>(kind)); ++kind) {
      CAPTURE(unit);
      CAPTURE(kind);
      size_t words = 0;
      for (size_t at = 0; at < text.size(); ++words) at = word_end(static_cast<SplitKind>(kind), text, at);
      CHECK(words <= text.size());
    }
  }
  // For Gemma a whole text is one word. The runtime splits it at the marks for spaces if no merge crosses a mark.
  for (const bool over_marks : {false, true}) {
    TokenizerFolder folder;
    json document = read_json("bpe_gemma_json/tokenizer.json");
    if (over_marks) {
      document["model"]["merges"].push_back({"a", "\u2581"});
      document["model"]["vocab"]["a\u2581"] = document["model"]["vocab"].size();
      document["added_tokens"].erase(6);  // Their ids follow the vocabulary's.
      document["added_tokens"].erase(5);
    }
    folder.write("tokenizer.json", document.dump());
    const auto files = load_tokenizer(folder.path());
    Bpe bpe;
    REQUIRE(bpe.create(files.view(), 1).ok());
    std::string text;
    while (text.size() < length) text += "\u2581the";
    const std::vector<uint32_t> origins(text.size());
    BpeWorkspace workspace;
    Pieces pieces;
    REQUIRE(bpe.tokenize(text, {0, origins.data()}, &workspace, &pieces));
    CHECK(pieces.word_starts.size() == 1);
    CHECK(workspace.steps <= 8 * text.size());
    if (!over_marks) CHECK(workspace.steps < 1000);  // The text repeats one word.
  }
}

}  // namespace linformer_test::pre_tokenizer_test
