// Compares WordPiece with reference tokenizations.
#include <doctest/doctest.h>

#include "support/shared_data.h"
#include "text/golden_lines.h"

namespace linformer_test::wordpiece_goldens_test {

using namespace linformer;
using nlohmann::json;

namespace {

const std::string goldens = "data/tokenizer_goldens/";

convert::OwnedTokenizer load(const std::string& file) {
  return convert::load_tokenizer(std::string(LINFORMER_SHARED_DIR) + "/data/tokenizers/" + file);
}

EncodeOptions options(bool special) {
  EncodeOptions chosen;
  chosen.add_special_tokens = special;
  chosen.token_strings = true;
  return chosen;
}

}  // namespace

TEST_CASE("WordPiece equals the reference on every text, from tokenizer.json and from vocab.txt") {
  const auto path = shared_path(goldens + "wordpiece.jsonl");
  if (!path) return;
  const LoadedTokenizer from_json(load("bert-base-uncased/tokenizer.json"));
  const LoadedTokenizer from_vocabulary(load("bert-base-uncased/vocab.txt"));
  CHECK(from_vocabulary.description.lowercase);
  Encoding encoding;
  const int count = for_each_line(*path, [&](const json& line) {
    for (const LoadedTokenizer* bert : {&from_json, &from_vocabulary}) {
      REQUIRE(bert->tokenizer.encode(line["text"].get<std::string>(), options(false), &encoding).ok());
      check_equal(encoding, line);
    }
  });
  CHECK(count > 0);
}

TEST_CASE("if the references disagree, WordPiece follows Hugging Face") {
  const auto path = shared_path(goldens + "wordpiece_disagreements.jsonl");
  if (!path) return;
  const LoadedTokenizer bert(load("bert-base-uncased"));
  Encoding encoding;
  CHECK(for_each_line(*path, [&](const json& line) {
          REQUIRE(bert.tokenizer.encode(line["text"].get<std::string>(), options(false), &encoding).ok());
          check_equal(encoding, {{"ids", line["ids_hf_rust"]},
                                 {"tokens", line["tokens_hf_rust"]},
                                 {"offsets", line["offsets_hf_rust"]},
                                 {"text", line["text"]}});
        }) > 0);
}

TEST_CASE("WordPiece decodes as the reference does") {
  const auto path = shared_path(goldens + "wordpiece_decode.jsonl");
  if (!path) return;
  const LoadedTokenizer bert(load("bert-base-uncased"));
  TextBuffer text;
  DecodeOptions skip;
  skip.skip_special_tokens = true;
  CHECK(for_each_line(*path, [&](const json& line) {
          const std::vector<int32_t> ids = line["ids"];
          REQUIRE(bert.tokenizer.decode(ids, skip, &text).ok());
          CHECK(text.view() == line["text_hf_rust_decode"].get<std::string>());
        }) > 0);
}

TEST_CASE("WordPiece pairs, special tokens in the text and truncation equal the reference") {
  const auto path = shared_path(goldens + "wordpiece_pairs.jsonl");
  if (!path) return;
  const LoadedTokenizer bert(load("bert-base-uncased"));
  Encoding encoding;
  CHECK(for_each_line(*path, [&](const json& line) {
          REQUIRE(bert.tokenizer
                      .encode(line["a"].get<std::string>(), line["b"].get<std::string>(), options(true), &encoding)
                      .ok());
          check_equal(encoding, line);
        }) > 0);
  CHECK(for_each_line(*shared_path(goldens + "wordpiece_special_tokens.jsonl"), [&](const json& line) {
          REQUIRE(bert.tokenizer.encode(line["text"].get<std::string>(), options(true), &encoding).ok());
          check_equal(encoding, line);
        }) > 0);
  CHECK(for_each_line(*shared_path(goldens + "wordpiece_truncation.jsonl"),
                      [&](const json& line) { check_truncation(bert.tokenizer, line, &encoding); }) > 0);
}

}  // namespace linformer_test::wordpiece_goldens_test
