// Tests texts and vocabularies that are made to cause much work or a crash. The work is counted, not timed.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "base/description.h"
#include "support/shared_data.h"
#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/golden_lines.h"
#include "text/wordpiece.h"

namespace linformer_test::hostile_text_test {

using namespace linformer;

namespace {

constexpr size_t megabyte = 1 << 20;

std::string repeated(std::string_view unit, size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += unit;
  return text;
}

std::vector<std::string> long_texts() {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  return {repeated("a", megabyte),
          repeated("ab", megabyte),
          repeated("the", megabyte),
          repeated(" ", megabyte),
          repeated(std::string_view("\0", 1), megabyte),
          repeated("'", megabyte),
          repeated("\u0301\u0323", megabyte / 4),
          repeated("\u6771", megabyte),
          repeated("\U0001f600", megabyte),
          repeated("\xFF", megabyte / 2),
          repeated("\xF0\x9F\x98", megabyte / 2),
          repeated(bytes, megabyte / 2),
          repeated("<mask> ", megabyte / 2),
          repeated(" <mask", megabyte / 2),
          repeated("<", megabyte)};
}

}  // namespace

TEST_CASE("long hostile texts are encoded and decoded") {
  const LoadedTokenizer bpe(convert::load_tokenizer(test_data_path("tokenizers/bpe")));
  const LoadedTokenizer prefixed(convert::load_tokenizer(test_data_path("tokenizers/bpe_json")));
  const LoadedTokenizer wordpiece(convert::load_tokenizer(test_data_path("tokenizers/wordpiece_json")));
  Encoding encoding;
  TextBuffer decoded;
  EncodeOptions options;
  options.add_special_tokens = false;
  for (const std::string& text : long_texts()) {
    for (const LoadedTokenizer* loaded : {&bpe, &prefixed, &wordpiece}) {
      REQUIRE(loaded->tokenizer.encode(text, options, &encoding).ok());
      REQUIRE(loaded->tokenizer.decode(encoding.ids(), {}, &decoded).ok());
      size_t outside = 0;
      for (const Offset& offset : encoding.offsets()) outside += offset.begin > offset.end || offset.end > text.size();
      CHECK(outside == 0);
    }
  }
}

TEST_CASE("byte-level BPE does at most n log n steps on one long word") {
  const auto files = convert::load_tokenizer(test_data_path("tokenizers/bpe"));
  const TokenizerDescription description = files.view();
  Bpe bpe;
  REQUIRE(bpe.create(description, 1).ok());
  for (const char* unit : {"a", "the", "waiting", "in", "\u00e9"}) {
    uint64_t steps_before = 0;
    for (size_t bytes : {megabyte / 4, megabyte / 2, megabyte}) {
      BpeWorkspace workspace;
      Pieces pieces;
      REQUIRE(bpe.tokenize(repeated(unit, bytes), {}, &workspace, &pieces));
      // Each byte costs one step and one queue entry, and each of at most n - 1 merges costs at most two queue entries.
      CHECK(workspace.steps <= 4 * (bytes + 8));
      if (steps_before != 0) CHECK(workspace.steps <= 2 * steps_before + 64);
      steps_before = workspace.steps;
    }
  }
}

TEST_CASE("WordPiece looks up at most max_word_characters pieces for each character") {
  const auto files = convert::load_tokenizer(test_data_path("tokenizers/wordpiece"));
  const TokenizerDescription description = files.view();
  WordPiece wordpiece;
  BertNormalizer normalizer;
  normalizer.create(description);
  REQUIRE(wordpiece.create(description, 1).ok());
  // The words are just below the limit, and most differ, so that the cache doesn't help. One word is far above the
  // limit.
  std::string text;
  for (int i = 0; text.size() < megabyte; ++i) {
    text.append(95, 't');
    text += std::to_string(i % 10000);
    text += ' ';
  }
  for (const std::string& chosen : {text, repeated("t", megabyte), repeated("th\u00e9", megabyte)}) {
    WordPieceWorkspace workspace;
    Pieces pieces;
    REQUIRE(normalizer.normalize(chosen, 0, &workspace.normalized));
    REQUIRE(wordpiece.tokenize(workspace.normalized, 0, workspace.normalized.bytes.size(), &workspace, &pieces));
    CHECK(workspace.steps <= chosen.size() * description.max_word_characters);
  }
  TokenizerDescription unbounded = description;
  unbounded.max_word_characters = UINT32_MAX;
  CHECK(WordPiece().create(unbounded, 1).code() == Code::unsupported);
}

TEST_CASE("merges that collide in an unseeded hash cost no more than others") {
  // Token i is 'a' repeated i + 1 times, so any two tokens can be merged. The merges are the pairs whose product with
  // the golden ratio has the smallest low bits.
  constexpr uint32_t tokens = 1500, count = 20000, capacity = 65536;
  std::vector<char> bytes;
  std::vector<uint32_t> offsets = {0};
  for (uint32_t i = 0; i < tokens; ++i) {
    bytes.insert(bytes.end(), i + 1, 'a');
    offsets.push_back(static_cast<uint32_t>(bytes.size()));
  }
  std::vector<std::pair<uint32_t, uint64_t>> pairs;
  for (uint64_t left = 0; left < tokens; ++left) {
    for (uint64_t right = 0; left + right + 1 < tokens; ++right) {
      const uint64_t mixed = (left << 32 | right) * 0x9E3779B97F4A7C15u;
      pairs.push_back({static_cast<uint32_t>(mixed ^ mixed >> 32) & (capacity - 1), left << 32 | right});
    }
  }
  std::sort(pairs.begin(), pairs.end());
  std::vector<uint32_t> merges;
  for (uint32_t i = 0; i < count; ++i) {
    const auto left = static_cast<uint32_t>(pairs[i].second >> 32), right = static_cast<uint32_t>(pairs[i].second);
    merges.insert(merges.end(), {left, right, left + right + 1});
  }
  TokenizerDescription description;
  description.kind = TokenizerKind::byte_bpe;
  description.token_bytes = bytes;
  description.token_offsets = offsets;
  description.merges = merges;
  Bpe bpe;
  REQUIRE(bpe.create(description, 1).ok());
  std::printf("%u merges: %llu slots looked at\n", count, static_cast<unsigned long long>(bpe.hash_probes()));
  CHECK(bpe.hash_probes() <= 4 * count);

  // The same two long tokens are merged by several rules. Each time all of their bytes would be compared.
  const std::string joined(4 * (max_merged_bytes / 2 + 1), 'a');
  const std::vector<uint32_t> ends = {0, max_merged_bytes / 2 + 1, max_merged_bytes + 2, 2 * max_merged_bytes + 4};
  const std::vector<uint32_t> again = {0, 1, 2, 0, 1, 2};
  description.token_bytes = joined;
  description.token_offsets = ends;
  description.merges = again;
  CHECK(Bpe().create(description, 1).code() == Code::unsupported);
}

TEST_CASE("tokens that collide in an unseeded hash cost no more than others") {
  constexpr uint32_t candidates = 1000000, count = 20000, capacity = 65536;
  std::vector<std::pair<uint32_t, uint32_t>> chosen;
  for (uint32_t i = 0; i < candidates; ++i) {
    uint64_t hash = 0xCBF29CE484222325u;  // The FNV-1a hash.
    for (const char byte : std::to_string(i)) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001B3u;
    hash = (hash ^ hash >> 31) * 0x9E3779B97F4A7C15u >> 32;
    chosen.push_back({static_cast<uint32_t>(hash) & (capacity - 1), i});
  }
  std::sort(chosen.begin(), chosen.end());
  std::string bytes;
  std::vector<uint32_t> offsets = {0};
  for (uint32_t i = 0; i < count; ++i) {
    bytes += std::to_string(chosen[i].second);
    offsets.push_back(static_cast<uint32_t>(bytes.size()));
  }
  TokenizerDescription description;
  description.kind = TokenizerKind::wordpiece;
  description.token_bytes = bytes;
  description.token_offsets = offsets;
  description.unk = 0;
  WordPiece wordpiece;
  REQUIRE(wordpiece.create(description, 1).ok());
  std::printf("%u tokens: %llu slots looked at\n", count, static_cast<unsigned long long>(wordpiece.hash_probes()));
  CHECK(wordpiece.hash_probes() <= 4 * count);
}

TEST_CASE("every single byte and every pair of bytes can be encoded and decoded") {
  const LoadedTokenizer bpe(convert::load_tokenizer(test_data_path("tokenizers/bpe")));
  const LoadedTokenizer wordpiece(convert::load_tokenizer(test_data_path("tokenizers/wordpiece")));
  Encoding encoding;
  TextBuffer decoded;
  EncodeOptions options;
  options.add_special_tokens = false;
  for (int first = 0; first < 256; ++first) {
    for (int second = -1; second < 256; ++second) {
      std::string text(1, static_cast<char>(first));
      if (second >= 0) text.push_back(static_cast<char>(second));
      REQUIRE(bpe.tokenizer.encode(text, options, &encoding).ok());
      REQUIRE(bpe.tokenizer.decode(encoding.ids(), {}, &decoded).ok());
      if (first < 128 && second < 128) REQUIRE(decoded.view() == text);
      REQUIRE(!encoding.ids().empty());
      REQUIRE(wordpiece.tokenizer.encode(text, options, &encoding).ok());
    }
  }
}

TEST_CASE("added tokens match leftmost and longest, as words if they say so, and take each space once") {
  AddedTokens tokens;
  const auto add = [&](const char* content, int32_t id, bool word, bool left, bool right, bool special) {
    AddedToken token;
    token.content = content;
    token.id = id;
    token.single_word = word;
    token.strip_left = left;
    token.strip_right = right;
    token.special = special;
    REQUIRE(tokens.add(token, token.content, token.special).ok());
  };
  add("ab", 1, false, false, false, false);
  add("abc", 2, false, false, false, true);
  add("word", 3, true, false, false, false);
  add("<<", 4, false, true, true, false);
  add("abc", 2, false, false, false, false);  // Of two equal tokens the first counts.
  REQUIRE(tokens.finish().ok());
  const auto find_all = [&](std::string_view text, bool special) {
    std::ostringstream found;
    size_t done = 0;
    FoundTokens places;
    REQUIRE(tokens.find(text, &places));
    AddedTokens::Match match;
    while (tokens.next(text, done, special, &places, &match)) {
      found << match.token->id << '[' << match.begin << ',' << match.end << ')';
      CHECK(match.begin >= done);
      done = match.end;
    }
    return found.str();
  };
  CHECK(find_all("abcab", true) == "2[0,3)1[3,5)");
  CHECK(find_all("abcab", false) == "1[3,5)");  // The longest match is skipped, and its text isn't matched again.
  CHECK(find_all("word swords word, w\u00f6rd", true) == "3[0,4)3[12,16)");
  CHECK(find_all("\u00e9word word\u00e9 (word)", true) == "3[15,19)");
  CHECK(find_all("a \u3000<<  << b", true) == "4[1,9)4[9,12)");
  CHECK(find_all("", true).empty());

  AddedToken token;
  token.content = std::string(max_added_token_bytes + 1, 'x');
  CHECK(tokens.add(token, token.content, token.special).code() == Code::unsupported);
  token.content = " \u3000";
  token.strip_right = true;
  CHECK(tokens.add(token, token.content, token.special).code() == Code::unsupported);
  token.content = std::string(1, static_cast<char>(0xFF));
  CHECK(tokens.add(token, token.content, token.special).code() == Code::corrupt_file);
}

TEST_CASE("two added tokens with the same text and different ids are refused") {
  AddedTokens tokens;
  AddedToken token;
  for (const auto& [content, id] : {std::pair("abc", 1), {"ab", 2}, {"abc", 3}}) {
    token.content = content;
    token.id = id;
    REQUIRE(tokens.add(token, token.content, token.special).ok());
  }
  const Status status = tokens.finish();
  CHECK(status.code() == Code::unsupported);
  CHECK(std::string(status.message()).find("with ids 1 and 3 are the same text") != std::string::npos);
}

TEST_CASE("added tokens cost two steps for each byte of a text") {
  // The text has every prefix of a long token but never the whole token. In the second round a short token matches
  // everywhere.
  for (const bool with_short : {false, true}) {
    AddedTokens tokens;
    const auto add = [&](const std::string& content) {
      AddedToken token;
      token.content = content;
      REQUIRE(tokens.add(token, token.content, token.special).ok());
    };
    add(std::string(max_added_token_bytes - 1, 'a') + 'b');
    add('b' + std::string(max_added_token_bytes - 1, 'a'));
    if (with_short) add("a");
    REQUIRE(tokens.finish().ok());
    FoundTokens found;
    const std::string text(megabyte, 'a');
    REQUIRE(tokens.find(text, &found));
    CHECK(found.steps <= 2 * text.size());
    CHECK(found.places.size() == (with_short ? text.size() : 0));
  }
}

TEST_CASE("added tokens are found as by a search that tries each token at each place") {
  uint32_t state = 1;
  const auto pick = [&](uint32_t count) { return ((state = state * 1664525 + 1013904223) >> 16) % count; };
  for (int round = 0; round < 300; ++round) {
    const auto word = [&](uint32_t longest) {
      std::string made;
      for (uint32_t left = 1 + pick(longest); left > 0; --left) made.push_back("abc"[pick(round % 2 == 0 ? 2 : 3)]);
      return made;
    };
    std::vector<std::string> names;
    AddedTokens tokens;
    for (uint32_t left = 1 + pick(8); left > 0; --left) {
      AddedToken token;
      const std::string name = word(6);
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      names.push_back(name);
      token.content = names.back();
      token.id = static_cast<int32_t>(names.size());
      REQUIRE(tokens.add(token, token.content, token.special).ok());
    }
    REQUIRE(tokens.finish().ok());
    const std::string text = word(60);
    std::ostringstream expected, actual;
    for (size_t at = 0; at < text.size();) {
      size_t longest = names.size();
      for (size_t i = names.size(); i-- > 0;) {
        const bool here = text.compare(at, names[i].size(), names[i]) == 0;
        if (here && (longest == names.size() || names[i].size() >= names[longest].size())) longest = i;
      }
      if (longest == names.size()) {
        ++at;
        continue;
      }
      expected << longest + 1 << '@' << at << ' ';
      at += names[longest].size();
    }
    FoundTokens found;
    REQUIRE(tokens.find(text, &found));
    AddedTokens::Match match;
    for (size_t done = 0; tokens.next(text, done, true, &found, &match); done = match.end) {
      actual << match.token->id << '@' << match.begin << ' ';
    }
    CHECK(actual.str() == expected.str());
  }
}

}  // namespace linformer_test::hostile_text_test
