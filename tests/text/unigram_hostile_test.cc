// Tests Unigram with vocabularies, rules and texts that are made to cause much work or a crash.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/description.h"
#include "converter/readers/error.h"
#include "converter/tokenizers/unigram_files.h"
#include "support/files.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "text/charsmap.h"
#include "text/golden_lines.h"
#include "text/token_trie.h"
#include "text/tokenizer_factory.h"
#include "text/unigram.h"

namespace linformer_test::unigram_hostile_test {

using namespace linformer;

namespace {

constexpr size_t megabyte = 1 << 20;

std::string repeated(std::string_view unit, size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += unit;
  return text;
}

convert::OwnedTokenizer pieces(const std::vector<convert::ScoredPiece>& list) {
  convert::OwnedTokenizer tokenizer;
  tokenizer.description.kind = TokenizerKind::unigram;
  tokenizer.description.unk = 0;
  convert::store_pieces(list, &tokenizer);
  return tokenizer;
}

// Returns compiled rules with one rule, which replaces `from` by `to`. The double array is made by hand.
std::vector<uint8_t> one_rule(uint8_t from, const std::string& to, uint32_t value = 0) {
  std::vector<uint32_t> units(513, 0x7F);
  units[0] = 256u << 10;                                             // The children of the root are at 256 ^ byte.
  units[256u ^ from] = (256u ^ from ^ 512u) << 10 | 1u << 8 | from;  // This unit has a leaf at 512.
  units[512] = 1u << 31 | value;
  std::vector<uint8_t> bytes;
  const auto push = [&](uint32_t word) {
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<uint8_t>(word >> shift));
  };
  push(static_cast<uint32_t>(4 * units.size()));
  for (uint32_t unit : units) push(unit);
  bytes.insert(bytes.end(), to.begin(), to.end());
  bytes.push_back(0);
  return bytes;
}

void with_rule(std::vector<uint8_t> rule, bool sentencepiece, convert::OwnedTokenizer* tokenizer) {
  tokenizer->charsmap = std::move(rule);
  tokenizer->description.rules.sentencepiece = sentencepiece;
  if (!sentencepiece) tokenizer->description.rules.steps.push_back({NormalizerKind::charsmap, {}, {}});
}

}  // namespace

TEST_CASE("Unigram reads for each byte of a long word at most as many bytes as the longest token has") {
  const auto files = pieces({{"<unk>", 0}, {"a", -1}, {std::string(max_unigram_token_bytes, 'a'), -2}});
  const TokenizerDescription description = files.view();
  for (bool sentencepiece : {false, true}) {
    TokenizerDescription chosen = description;
    chosen.rules.sentencepiece = sentencepiece;
    Unigram unigram;
    REQUIRE(unigram.create(chosen).ok());
    UnigramWorkspace workspace;
    Pieces result;
    const std::string text = repeated("a", megabyte / 8);
    REQUIRE(unigram.normalize(text, 0, &workspace.normalized));
    REQUIRE(unigram.tokenize(0, text.size(), true, &workspace, &result));
    CHECK(workspace.steps <= text.size() * max_unigram_token_bytes);
    CHECK(result.pieces.size() == text.size() / max_unigram_token_bytes);
  }
  const auto longer = pieces({{"<unk>", 0}, {std::string(max_unigram_token_bytes + 1, 'a'), -2}});
  CHECK(TokenizerFactory::create(longer.view()).status().code() == Code::unsupported);
}

TEST_CASE("long texts without spaces are encoded and decoded by Unigram") {
  Encoding encoding;
  TextBuffer decoded;
  for (const char* name :
       {"unigram_json", "unigram_steps_json", "unigram_text_json", "sentencepiece", "sentencepiece_bytes"}) {
    const LoadedTokenizer loaded(convert::load_tokenizer(test_data_path(std::string("tokenizers/") + name)));
    for (const char* unit : {"a", "the", " ", "''", "\u6771", "e\u0301", "\u0301\u0323", "\ufb01", "\u2581", "\xFF",
                             "<mask> ", "\u0130", "\r\n", "  \u0301"}) {
      const std::string text = repeated(unit, megabyte / 4);
      REQUIRE(loaded.tokenizer.encode(text, {}, &encoding).ok());
      REQUIRE(loaded.tokenizer.decode(encoding.ids(), {}, &decoded).ok());
      size_t outside = 0;
      for (const Offset& offset : encoding.offsets()) outside += offset.begin > offset.end || offset.end > text.size();
      CHECK(outside == 0);
    }
  }
}

TEST_CASE("a text that a rule makes too long is refused") {
  Encoding encoding;
  for (bool sentencepiece : {false, true}) {
    auto files = pieces({{"<unk>", 0}, {"b", -1}});
    with_rule(one_rule('a', repeated("b", 100)), sentencepiece, &files);
    const LoadedTokenizer loaded(std::move(files));
    EncodeOptions options;
    options.add_special_tokens = false;
    REQUIRE(loaded.tokenizer.encode("xa", options, &encoding).ok());
    CHECK(encoding.ids().size() == 101);
    CHECK(encoding.offsets()[100].begin == 1);
    const Status status = loaded.tokenizer.encode(repeated("a", megabyte), options, &encoding);
    CHECK(status.code() == Code::too_long);
    REQUIRE(loaded.tokenizer.encode("xa", options, &encoding).ok());  // The tokenizer can be used after an error.
  }
  auto files = pieces({{"<unk>", 0}, {"b", -1}});
  with_rule(one_rule('a', repeated("b", max_replacement_bytes + 1)), false, &files);
  CHECK(TokenizerFactory::create(files.view()).status().code() == Code::unsupported);
}

TEST_CASE("a normalised text has at most 64 times the length of the original, however short that is") {
  Encoding encoding;
  EncodeOptions options;
  options.add_special_tokens = false;
  const auto steps = [&](NormalizerKind kind, const char* pattern, const std::string& content, size_t count) {
    auto files = pieces({{"<unk>", 0}, {"b", -1}});
    for (size_t i = 0; i < count; ++i) files.description.rules.steps.push_back({kind, pattern, content});
    return LoadedTokenizer(std::move(files));
  };
  const auto length = [&](const LoadedTokenizer& loaded, const std::string& text) {
    const Status status = loaded.tokenizer.encode(text, options, &encoding);
    if (!status.ok()) CHECK(status.code() == Code::too_long);
    return status.ok() ? encoding.ids().size() : 0;
  };
  const std::string pairs = "bb";
  CHECK(length(steps(NormalizerKind::prepend, "", repeated("b", 21), 3), "b") == 64);
  CHECK(length(steps(NormalizerKind::prepend, "", repeated("b", 16), 4), "b") == 0);
  CHECK(length(steps(NormalizerKind::prepend, "", repeated("b", 16), 4), "") == 0);
  CHECK(length(steps(NormalizerKind::prepend, "", repeated("b", max_replacement_bytes), 32), "bbb") == 0);
  CHECK(length(steps(NormalizerKind::prepend, "", repeated("b", 63), 2), pairs) == 128);
  CHECK(length(steps(NormalizerKind::replace, "b", pairs, 6), "b") == 64);
  CHECK(length(steps(NormalizerKind::replace, "b", pairs, 7), "b") == 0);
  for (bool sentencepiece : {false, true}) {
    for (const size_t count : {64u, 65u}) {
      auto files = pieces({{"<unk>", 0}, {"b", -1}});
      with_rule(one_rule('a', repeated("b", count)), sentencepiece, &files);
      CHECK(length(LoadedTokenizer(std::move(files)), "a") == (count == 64 ? 64 : 0));
    }
  }
}

TEST_CASE("damaged character maps are refused or find nothing") {
  const auto refused = [](std::vector<uint8_t> bytes) {
    Charsmap map;
    return map.create(bytes).code() == Code::corrupt_file;
  };
  CHECK(refused({1}));
  CHECK(refused({0, 0, 0, 0}));
  CHECK(refused({4, 0, 0, 0}));
  CHECK(refused({5, 0, 0, 0, 1, 2, 3, 4, 5}));
  CHECK(refused({0xFC, 0xFF, 0xFF, 0xFF, 1, 2, 3, 4}));
  CHECK(refused({4, 0, 0, 0, 1, 2, 3, 4, 0xFF, 0}));  // The replacement isn't UTF-8.

  const auto find = [](const std::vector<uint8_t>& bytes, std::string_view text) -> std::string {
    Charsmap map;
    REQUIRE(map.create(bytes).ok());
    size_t length = 0;
    std::string_view replacement;
    if (!map.find_longest(text, &length, &replacement)) return "none";
    return std::to_string(length) + ":" + std::string(replacement);
  };
  const std::string accent = "\u00e9y";
  CHECK(find(one_rule('a', accent), "ab") == "1:" + accent);
  CHECK(find(one_rule('a', accent), "b") == "none");
  CHECK(find(one_rule('a', accent), "") == "none");
  CHECK(find(one_rule('a', accent, 2), "a") == "1:y");
  CHECK(find(one_rule('a', accent, 1), "a") == "none");  // The value points inside a character.
  CHECK(find(one_rule('a', accent, 999), "a") == "none");
  auto cut = one_rule('a', accent);
  cut[1] = 1;  // With a shorter array the leaf is outside, and the replacements aren't text.
  CHECK(refused(cut));
  // Some bytes of the array are replaced, one at a time, by every value.
  std::vector<uint8_t> original = one_rule('a', accent);
  for (size_t at : {4u, 5u, 7u, 4u + 4 * 353, 5u + 4 * 353, 7u + 4 * 353, 4u + 4 * 512, 7u + 4 * 512}) {
    for (int value = 0; value < 256; ++value) {
      std::vector<uint8_t> damaged = original;
      damaged[at] = static_cast<uint8_t>(value);
      find(damaged, "aaaa");
    }
  }
}

TEST_CASE("a trie finds the same tokens as a search in a list") {
  Array<TokenTrie::Entry> entries;
  std::vector<std::string> names = {"b", "ab", "a", "", "abc", "\xFF\x01", "\xFF", "ab"};
  for (int c = 1; c < 256; ++c) names.push_back(std::string("x") + static_cast<char>(c));
  for (size_t i = 0; i < names.size(); ++i) REQUIRE(entries.try_push({names[i], static_cast<int32_t>(i)}));
  TokenTrie trie;
  REQUIRE(trie.create(&entries).ok());
  for (size_t i = 0; i < names.size(); ++i) {
    const int32_t expected = i == 1 ? 7 : names[i].empty() ? -1 : static_cast<int32_t>(i);
    CHECK(trie.find(names[i]) == expected);
  }
  CHECK(trie.find("x") == -1);
  CHECK(trie.find("abcd") == -1);
  CHECK(trie.find("c") == -1);
  Array<TokenTrie::Entry> nothing;
  TokenTrie empty;
  REQUIRE(empty.create(&nothing).ok());
  CHECK(empty.find("a") == -1);
}

TEST_CASE("special tokens are not matched in a text if the caller turns matching off") {
  for (const char* name : {"unigram_json", "unigram_steps_json", "unigram_text_json", "sentencepiece"}) {
    const LoadedTokenizer loaded(convert::load_tokenizer(test_data_path(std::string("tokenizers/") + name)));
    Encoding encoding;
    EncodeOptions options;
    options.add_special_tokens = false;
    options.match_special_tokens = false;
    REQUIRE(loaded.tokenizer.encode("a</s>b <s> \uff1c/s\uff1e", options, &encoding).ok());
    for (int32_t id : encoding.ids()) {
      CHECK(id != loaded.description.eos);
      CHECK(id != loaded.description.bos);
    }
  }
}

TEST_CASE("a SentencePiece model cut at any byte is refused or is another valid model") {
  namespace fs = std::filesystem;
  const std::string whole = read_file(test_data_path("tokenizers/sentencepiece/spiece.model"));
  REQUIRE(whole.size() > 1000);
  const TemporaryFolder folder;
  const fs::path path = folder.path("spiece.model");
  int refused = 0;
  for (size_t length = 0; length < whole.size(); ++length) {
    fs::remove(path);
    std::ofstream(path, std::ios::binary) << whole.substr(0, length);
    try {
      const auto owned = convert::load_tokenizer(path.string());
      REQUIRE(TokenizerFactory::create(owned.view()).ok());
    } catch (const convert::Error& error) {
      REQUIRE(error.what()[0] != '\0');
      ++refused;
    }
  }
  CHECK(refused > static_cast<int>(whole.size()) * 9 / 10);
}

}  // namespace linformer_test::unigram_hostile_test
