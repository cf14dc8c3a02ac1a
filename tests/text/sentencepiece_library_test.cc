// Compares SentencePiece models with SentencePiece's library on random texts.
#include <doctest/doctest.h>
#include <sentencepiece_processor.h>

#include <filesystem>
#include <random>

#include "support/shared_data.h"
#include "text/golden_lines.h"
#include "text/unicode.h"

namespace linformer_test::sentencepiece_library_test {

using namespace linformer;

namespace {

std::string random_text(std::mt19937& random) {
  static const char* const pieces[] = {"the ",   "river",   "keeper", " ",      "  ",     "ing", "''",
                                       "\u00e9", "e\u0301", "\ufb01", "\u6771", "\u2581", "12",  "\t",
                                       "\u00ad", ".",       "...",    "\u0130", "\u3099", "a"};
  std::string text;
  for (uint32_t left = random() % 40; left > 0; --left) {
    if (random() % 4 != 0) {
      text += pieces[random() % std::size(pieces)];
      continue;
    }
    uint32_t code_point = 1 + random() % (random() % 2 == 0 ? 0x250 : 0x1F000);
    if (code_point >= 0xD800 && code_point < 0xE000) code_point = 'x';
    char bytes[4];
    text.append(bytes, encode_code_point(code_point, bytes));
  }
  return text;
}

void compare(const std::string& path, int rounds) {
  sentencepiece::SentencePieceProcessor library;
  REQUIRE(library.Load(path).ok());
  const LoadedTokenizer ours(convert::load_tokenizer(path));
  std::mt19937 random(41);
  Encoding encoding;
  EncodeOptions options;
  options.token_strings = true;
  for (int round = 0; round < rounds; ++round) {
    const std::string text = random_text(random);
    CAPTURE(text);
    std::vector<int> ids;
    std::vector<std::string> pieces;
    REQUIRE(library.Encode(text, &ids).ok());
    REQUIRE(library.Encode(text, &pieces).ok());
    REQUIRE(ours.tokenizer.encode(text, options, &encoding).ok());
    REQUIRE(ids_of(encoding) == ids);
    REQUIRE(token_strings(encoding) == pieces);
  }
}

}  // namespace

TEST_CASE("the small models of tests/data equal the library") {
  compare(test_data_path("tokenizers/sentencepiece/spiece.model"), 5000);
  compare(test_data_path("tokenizers/sentencepiece_bytes/spiece.model"), 5000);
}

TEST_CASE("published models equal the library" * doctest::test_suite("shared")) {
  const auto folder = shared_path("data/tokenizers");
  if (!folder) return;
  for (const char* name : {"sentencepiece/test_model.model", "sentencepiece/test_ja_model.model",
                           "sentencepiece/spm_example.model", "t5/t5_tokenizer_base.model"}) {
    compare(*folder + "/" + name, 2000);
  }
}

}  // namespace linformer_test::sentencepiece_library_test
