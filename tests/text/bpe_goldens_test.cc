// Compares byte-level BPE with reference tokenizations.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "support/shared_data.h"
#include "text/golden_lines.h"

namespace linformer_test::bpe_goldens_test {

using namespace linformer;
using nlohmann::json;

namespace {

const std::string goldens = "data/tokenizer_goldens/";
const std::string tokenizers = "data/tokenizers/";

convert::OwnedTokenizer load(const std::string& folder, const convert::TokenizerFileOptions& options = {}) {
  return convert::load_tokenizer(std::string(LINFORMER_SHARED_DIR) + "/" + tokenizers + folder, options);
}

EncodeOptions plain() {
  EncodeOptions options;
  options.add_special_tokens = false;
  options.token_strings = true;
  return options;
}

EncodeOptions with_template() {
  EncodeOptions options;
  options.token_strings = true;
  return options;
}

}  // namespace

TEST_CASE("byte-level BPE equals the reference on every text, in three numberings and with both kinds of offsets") {
  const auto path = shared_path(goldens + "bpe.jsonl");
  if (!path) return;
  const LoadedTokenizer roberta(load("roberta-base"));
  const LoadedTokenizer roberta_files(load("roberta-base/vocab.json"));
  const LoadedTokenizer gpt2(load("gpt2"));
  convert::TokenizerFileOptions dictionary;
  dictionary.dictionary = std::string(LINFORMER_SHARED_DIR) + "/" + tokenizers + "fairseq/dict.txt";
  const LoadedTokenizer fairseq(load("gpt2", dictionary));
  auto untrimmed_files = load("roberta-base");
  untrimmed_files.description.trim_offsets = false;
  const LoadedTokenizer untrimmed(std::move(untrimmed_files));
  Encoding encoding;
  const int count = for_each_line(*path, [&](const json& line) {
    const std::string text = line["text"];
    REQUIRE(roberta.tokenizer.encode(text, plain(), &encoding).ok());
    check_equal(encoding, line);
    REQUIRE(roberta_files.tokenizer.encode(text, plain(), &encoding).ok());
    check_equal(encoding, line);
    REQUIRE(untrimmed.tokenizer.encode(text, plain(), &encoding).ok());
    CHECK(offsets_of(encoding) == line["offsets_untrimmed"]);
    REQUIRE(fairseq.tokenizer.encode(text, plain(), &encoding).ok());
    CHECK(json(ids_of(encoding)) == line["ids"]);
    CHECK(offsets_of(encoding) == line["offsets"]);
    REQUIRE(gpt2.tokenizer.encode(text, plain(), &encoding).ok());
    CHECK(json(ids_of(encoding)) == line["gpt2_ids"]);
    CHECK(offsets_of(encoding) == line["offsets_untrimmed"]);
  });
  CHECK(count > 0);
}

TEST_CASE("byte-level BPE decodes as the reference does") {
  const auto path = shared_path(goldens + "bpe_decode.jsonl");
  if (!path) return;
  const LoadedTokenizer roberta(load("roberta-base"));
  const LoadedTokenizer gpt2(load("gpt2"));
  TextBuffer text;
  DecodeOptions raw;
  raw.raw_bytes = true;
  const int count = for_each_line(*path, [&](const json& line) {
    const std::vector<int32_t> ids = line["ids"];
    const std::vector<int32_t> gpt2_ids = line["gpt2_ids"];
    REQUIRE(roberta.tokenizer.decode(ids, {}, &text).ok());
    CHECK(text.view() == line["text"].get<std::string>());
    REQUIRE(roberta.tokenizer.decode(ids, raw, &text).ok());
    CHECK(text.view() == bytes_of_hex(line["bytes_hex"]));
    REQUIRE(gpt2.tokenizer.decode(gpt2_ids, raw, &text).ok());
    CHECK(text.view() == bytes_of_hex(line["bytes_hex"]));
  });
  CHECK(count > 0);
}

TEST_CASE("pairs, special tokens in the text and truncation equal the reference") {
  const auto path = shared_path(goldens + "bpe_pairs.jsonl");
  if (!path) return;
  const LoadedTokenizer roberta(load("roberta-base"));
  Encoding encoding;
  CHECK(for_each_line(*path, [&](const json& line) {
          REQUIRE(roberta.tokenizer
                      .encode(line["a"].get<std::string>(), line["b"].get<std::string>(), with_template(), &encoding)
                      .ok());
          check_equal(encoding, line);
        }) > 0);
  CHECK(for_each_line(*shared_path(goldens + "bpe_special_tokens.jsonl"), [&](const json& line) {
          REQUIRE(roberta.tokenizer.encode(line["text"].get<std::string>(), with_template(), &encoding).ok());
          check_equal(encoding, line);
        }) > 0);
  CHECK(for_each_line(*shared_path(goldens + "bpe_truncation.jsonl"),
                      [&](const json& line) { check_truncation(roberta.tokenizer, line, &encoding); }) > 0);
}

TEST_CASE("invalid UTF-8 is replaced as the reference replaces it") {
  const auto path = shared_path(goldens + "invalid_utf8.jsonl");
  if (!path) return;
  const LoadedTokenizer roberta(load("roberta-base"));
  const LoadedTokenizer bert(load("bert-base-uncased"));
  Encoding encoding, replaced;
  const int count = for_each_line(*path, [&](const json& line) {
    const std::string bytes = bytes_of_hex(line["bytes_hex"]);
    const std::string text = line["replaced_text"];
    REQUIRE(roberta.tokenizer.encode(bytes, plain(), &encoding).ok());
    CHECK(json(ids_of(encoding)) == line["bpe_ids_of_replaced"]);
    REQUIRE(roberta.tokenizer.encode(text, plain(), &replaced).ok());
    CHECK(offsets_of(encoding) == offsets_of(replaced));
    TextBuffer decoded;
    REQUIRE(roberta.tokenizer.decode(encoding.ids(), {}, &decoded).ok());
    CHECK(decoded.view() == text);
    REQUIRE(bert.tokenizer.encode(bytes, plain(), &encoding).ok());
    CHECK(json(ids_of(encoding)) == line["wordpiece_ids_of_replaced"]);
  });
  CHECK(count > 0);
}

}  // namespace linformer_test::bpe_goldens_test
