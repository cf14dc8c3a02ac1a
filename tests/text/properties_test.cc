// Tests properties that must hold for every text, on random texts.
#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <random>

#include "base/description.h"
#include "support/shared_data.h"
#include "text/bpe.h"
#include "text/golden_lines.h"
#include "text/unicode.h"
#include "text/word_patterns.h"

namespace linformer_test::properties_test {

using namespace linformer;

namespace {

std::string random_text(std::mt19937& random) {
  std::string text;
  for (uint32_t left = random() % 60; left > 0; --left) {
    uint32_t code_point = 0;
    switch (random() % 6) {
      case 0:
        code_point = " \n\t'.,-"[random() % 7];
        break;
      case 1:
      case 2:
        code_point = 'a' + random() % 26;
        break;
      case 3:
        code_point = random() % 0x250;
        break;
      case 4:
        code_point = 0x300 + random() % 0x2F00;
        break;
      default:
        code_point = 0x10000 + random() % 0x10000;
    }
    char bytes[4];
    text.append(bytes, encode_code_point(code_point, bytes));
  }
  return text;
}

EncodeOptions plain() {
  EncodeOptions options;
  options.add_special_tokens = false;
  options.match_special_tokens = false;
  return options;
}

convert::OwnedTokenizer load(const char* name) {
  return convert::load_tokenizer(test_data_path(std::string("tokenizers/") + name));
}

}  // namespace

TEST_CASE("tokens of byte-level BPE are the text's bytes in order, and their offsets cover the text in order") {
  auto files = load("bpe");
  files.description.trim_offsets = false;
  const LoadedTokenizer loaded(std::move(files));
  std::mt19937 random(21);
  Encoding encoding;
  TextBuffer decoded;
  DecodeOptions raw;
  raw.raw_bytes = true;
  size_t tokens = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::string text = random_text(random);
    REQUIRE(loaded.tokenizer.encode(text, plain(), &encoding).ok());
    REQUIRE(loaded.tokenizer.decode(encoding.ids(), raw, &decoded).ok());
    REQUIRE(decoded.view() == text);
    uint32_t begin = 0, end = 0;
    for (const Offset& offset : encoding.offsets()) {
      REQUIRE(offset.begin >= begin);
      REQUIRE(offset.begin <= end);  // There is no gap.
      REQUIRE(offset.end > offset.begin);
      REQUIRE(offset.end >= end);
      begin = offset.begin;
      end = offset.end;
    }
    REQUIRE(end == count_code_points(text));
    tokens += encoding.ids().size();
  }
  CHECK(tokens > 50000);
}

TEST_CASE("byte-level BPE encodes a text as it encodes its words one by one") {
  const LoadedTokenizer loaded(load("bpe"));
  std::mt19937 random(22);
  Encoding encoding, word;
  for (int round = 0; round < 1000; ++round) {
    const std::string text = random_text(random);
    std::vector<int32_t> joined;
    for (size_t at = 0; at < text.size();) {
      const size_t end = word_end(SplitKind::gpt2, text, at);
      REQUIRE(end > at);
      REQUIRE(end <= text.size());
      REQUIRE(loaded.tokenizer.encode(std::string_view(text).substr(at, end - at), plain(), &word).ok());
      // A word of spaces that precedes another word is split in the same way if it is a text of its own.
      joined.insert(joined.end(), word.ids().begin(), word.ids().end());
      at = end;
    }
    REQUIRE(loaded.tokenizer.encode(text, plain(), &encoding).ok());
    REQUIRE(ids_of(encoding) == joined);
  }
}

TEST_CASE("byte-level BPE merges long and short words as its definition says") {
  const auto files = load("bpe");
  const TokenizerDescription description = files.view();
  Bpe bpe;
  REQUIRE(bpe.create(description, 1).ok());
  std::mt19937 random(23);
  const auto bytes_of = [&](uint32_t token) {
    return std::string(description.token_bytes.begin() + description.token_offsets[token],
                       description.token_bytes.begin() + description.token_offsets[token + 1]);
  };
  BpeWorkspace workspace;
  for (int round = 0; round < 300; ++round) {
    std::string word;
    const size_t length = 1 + random() % (round % 3 == 0 ? 300 : 60);
    while (word.size() < length) word += "aeinrstwh"[random() % 9];
    // By definition, the neighbours with the merge of the lowest rank are merged, the leftmost first, until no merge
    // applies.
    std::vector<std::string> parts;
    for (char c : word) parts.emplace_back(1, c);
    for (bool merged = true; merged;) {
      merged = false;
      for (size_t rank = 0; rank < description.merges.size() / 3 && !merged; ++rank) {
        for (size_t i = 0; i + 1 < parts.size(); ++i) {
          if (parts[i] == bytes_of(description.merges[3 * rank]) &&
              parts[i + 1] == bytes_of(description.merges[3 * rank + 1])) {
            parts[i] += parts[i + 1];
            parts.erase(parts.begin() + static_cast<long>(i) + 1);
            merged = true;
            break;
          }
        }
      }
    }
    Pieces pieces;
    REQUIRE(bpe.tokenize(word, {}, &workspace, &pieces));
    REQUIRE(pieces.pieces.size() == parts.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      REQUIRE(bytes_of(static_cast<uint32_t>(pieces.pieces[i].token)) == parts[i]);
    }
  }
}

TEST_CASE("offsets of WordPiece are in order and inside the text, and spaces between texts do not matter") {
  const LoadedTokenizer loaded(load("wordpiece"));
  std::mt19937 random(24);
  Encoding encoding, other;
  for (int round = 0; round < 3000; ++round) {
    const std::string text = random_text(random);
    REQUIRE(loaded.tokenizer.encode(text, plain(), &encoding).ok());
    uint32_t begin = 0;
    for (const Offset& offset : encoding.offsets()) {
      REQUIRE(offset.begin >= begin);
      REQUIRE(offset.end > offset.begin);
      REQUIRE(offset.end <= count_code_points(text));
      begin = offset.begin;
    }
    const auto first = ids_of(encoding);
    const std::string second = random_text(random);
    REQUIRE(loaded.tokenizer.encode(second, plain(), &other).ok());
    auto joined = first;
    joined.insert(joined.end(), other.ids().begin(), other.ids().end());
    REQUIRE(loaded.tokenizer.encode(text + " \n" + second, plain(), &encoding).ok());
    REQUIRE(ids_of(encoding) == joined);
  }
}

TEST_CASE("with Unigram no other split of a word has a better sum of scores") {
  auto files = load("unigram_text_json");
  files.description.rules.steps.clear();
  const LoadedTokenizer loaded(std::move(files));
  const TokenizerDescription& description = loaded.description;
  std::map<std::string, double> score_of;
  double unknown = 0;
  const auto score = [&](size_t i) {
    return description.rules.exact_scores.empty() ? description.scores[i] : description.rules.exact_scores[i];
  };
  for (size_t i = 0; i + 1 < description.token_offsets.size(); ++i) {
    score_of[std::string(description.token_bytes.begin() + description.token_offsets[i],
                         description.token_bytes.begin() + description.token_offsets[i + 1])] = score(i);
    unknown = std::min(unknown, score(i) - 10);
  }
  // Tries all splits, as the definition says. "z" and "q" are not in the vocabulary.
  const std::function<double(std::string_view)> best = [&](std::string_view word) -> double {
    if (word.empty()) return 0;
    double most = -1e9;
    for (size_t length = 1; length <= word.size(); ++length) {
      const auto found = score_of.find(std::string(word.substr(0, length)));
      if (found == score_of.end() && length > 1) continue;
      most = std::max(most, (found == score_of.end() ? unknown : found->second) + best(word.substr(length)));
    }
    return most;
  };
  std::mt19937 random(26);
  Encoding encoding;
  EncodeOptions options = plain();
  options.token_strings = true;
  options.match_special_tokens = true;
  int unknowns = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string word;
    for (size_t length = 1 + random() % 12; word.size() < length;) word += "aeinrsthwzq"[random() % 11];
    REQUIRE(loaded.tokenizer.encode(word, options, &encoding).ok());
    double sum = 0;
    std::string joined;
    for (size_t i = 0; i < encoding.ids().size(); ++i) {
      const std::string name(encoding.token(i));
      const bool known = encoding.ids()[i] != description.unk;
      unknowns += !known;
      sum += known ? score_of.at(name) : unknown * static_cast<double>(name.size());
      joined += name;
    }
    CHECK(joined == word);
    CHECK(sum == doctest::Approx(best(word)).epsilon(1e-12));
  }
  CHECK(unknowns > 100);
}

TEST_CASE("offsets of Unigram are in order, those of SentencePiece without gaps, and decoding restores clean text") {
  for (const char* name :
       {"unigram_json", "unigram_steps_json", "unigram_text_json", "sentencepiece", "sentencepiece_bytes"}) {
    const LoadedTokenizer loaded(load(name));
    const bool sentencepiece = loaded.description.rules.sentencepiece;
    std::mt19937 random(27);
    Encoding encoding;
    for (int round = 0; round < 1000; ++round) {
      const std::string text = random_text(random);
      REQUIRE(loaded.tokenizer.encode(text, plain(), &encoding).ok());
      uint32_t begin = 0, end = 0;
      for (const Offset& offset : encoding.offsets()) {
        REQUIRE(offset.begin >= begin);
        REQUIRE(offset.end >= std::max(end, offset.begin));
        if (sentencepiece && begin != end) REQUIRE(offset.begin <= end);
        begin = offset.begin;
        end = offset.end;
      }
      REQUIRE(end <= count_code_points(text));
    }
    TextBuffer decoded;
    const std::string clean = "the keeper's river was wide";
    REQUIRE(loaded.tokenizer.encode(clean, plain(), &encoding).ok());
    REQUIRE(loaded.tokenizer.decode(encoding.ids(), {}, &decoded).ok());
    if (!loaded.description.rules.steps.empty() && name != std::string("unigram_json")) continue;  // It changes texts.
    CHECK(decoded.view() == clean);
  }
}

TEST_CASE("repairing UTF-8 is idempotent and leaves valid text unchanged") {
  std::mt19937 random(25);
  for (int round = 0; round < 3000; ++round) {
    std::string text = random_text(random);
    CHECK(valid_utf8_prefix(text) == text.size());
    for (uint32_t hits = random() % 5; hits > 0 && !text.empty(); --hits) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    Array<char> repaired;
    REQUIRE(append_repaired_utf8(text, &repaired));
    const std::string_view view(repaired.data(), repaired.size());
    REQUIRE(valid_utf8_prefix(view) == view.size());
    if (valid_utf8_prefix(text) == text.size()) REQUIRE(view == text);
  }
}

}  // namespace linformer_test::properties_test
