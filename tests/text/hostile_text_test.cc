// Texts made to hurt: bounded work (counted, not timed), no crash, sane answers.
#include <doctest/doctest.h>

#include <sstream>

#include "support/shared_data.h"
#include "text/added_tokens.h"
#include "text/byte_bpe.h"
#include "text/golden_lines.h"
#include "text/wordpiece.h"

using namespace linformer;
using namespace linformer_test;

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
  const LoadedTokenizer bpe(convert::load_tokenizer(test_data("tokenizers/bpe")));
  const LoadedTokenizer prefixed(convert::load_tokenizer(test_data("tokenizers/bpe_json")));
  const LoadedTokenizer wordpiece(convert::load_tokenizer(test_data("tokenizers/wordpiece_json")));
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
  const auto files = convert::load_tokenizer(test_data("tokenizers/bpe"));
  const TokenizerDescription description = files.view();
  ByteBpe bpe;
  REQUIRE(bpe.create(description, 1).ok());
  for (const char* unit : {"a", "the", "waiting", "in", "\u00e9"}) {
    uint64_t steps_before = 0;
    for (size_t bytes : {megabyte / 4, megabyte / 2, megabyte}) {
      BpeWorkspace workspace;
      Pieces pieces;
      REQUIRE(bpe.tokenize(repeated(unit, bytes), 0, &workspace, &pieces));
      // One look at each byte, one queue entry for it and at most two for each of at most n - 1 merges.
      CHECK(workspace.steps <= 4 * (bytes + 8));
      if (steps_before != 0) CHECK(workspace.steps <= 2 * steps_before + 64);
      steps_before = workspace.steps;
    }
  }
}

TEST_CASE("WordPiece looks up at most max_word_characters pieces for each character") {
  const auto files = convert::load_tokenizer(test_data("tokenizers/wordpiece"));
  const TokenizerDescription description = files.view();
  WordPiece wordpiece;
  BertNormalizer normalizer;
  normalizer.create(description);
  REQUIRE(wordpiece.create(description, 1).ok());
  // Words just below the limit, each different so that the cache does not help, and one word far above it.
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

TEST_CASE("every single byte and every pair of bytes is a text") {
  const LoadedTokenizer bpe(convert::load_tokenizer(test_data("tokenizers/bpe")));
  const LoadedTokenizer wordpiece(convert::load_tokenizer(test_data("tokenizers/wordpiece")));
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

TEST_CASE("added tokens: leftmost and longest, words only where asked, spaces taken once") {
  AddedTokens tokens;
  const auto add = [&](const char* content, int32_t id, bool word, bool left, bool right, bool special) {
    AddedToken token;
    token.content = content;
    token.id = id;
    token.single_word = word;
    token.strip_left = left;
    token.strip_right = right;
    token.special = special;
    REQUIRE(tokens.add(token, token.content).ok());
  };
  add("ab", 1, false, false, false, false);
  add("abc", 2, false, false, false, true);
  add("word", 3, true, false, false, false);
  add("<<", 4, false, true, true, false);
  const auto find_all = [&](std::string_view text, bool special) {
    std::ostringstream found;
    size_t from = 0, done = 0;
    AddedTokens::Match match;
    while (tokens.find(text, done, special, &from, &match)) {
      found << match.token->id << '[' << match.begin << ',' << match.end << ')';
      CHECK(match.begin >= done);
      done = match.end;
    }
    return found.str();
  };
  CHECK(find_all("abcab", true) == "2[0,3)1[3,5)");
  CHECK(find_all("abcab", false) == "1[3,5)");  // the longest match is used up though it is passed over
  CHECK(find_all("word swords word, w\u00f6rd", true) == "3[0,4)3[12,16)");
  CHECK(find_all("\u00e9word word\u00e9 (word)", true) == "3[15,19)");
  CHECK(find_all("a \u3000<<  << b", true) == "4[1,9)4[9,12)");
  CHECK(find_all("", true).empty());

  AddedToken token;
  token.content = std::string(max_added_token_bytes + 1, 'x');
  CHECK(tokens.add(token, token.content).code() == Code::unsupported);
  token.content = std::string(1, static_cast<char>(0xFF));
  CHECK(tokens.add(token, token.content).code() == Code::corrupt_file);
}
