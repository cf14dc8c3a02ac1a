// Compares Unigram with reference tokenizations by Hugging Face's tokenizers and by SentencePiece.
#include <doctest/doctest.h>

#include "support/shared_data.h"
#include "text/golden_lines.h"

namespace linformer_test::unigram_goldens_test {

using namespace linformer;
using nlohmann::json;

namespace {

const std::string goldens = "data/tokenizer_goldens/";

LoadedTokenizer load(const std::string& file) {
  return LoadedTokenizer(convert::load_tokenizer(std::string(LINFORMER_SHARED_DIR) + "/data/tokenizers/" + file));
}

EncodeOptions with_names() {
  EncodeOptions options;
  options.token_strings = true;
  return options;
}

// Appends </s> to ids, because the references end with it and SentencePiece's library doesn't add it.
json with_end(std::vector<int32_t> ids, int32_t end) {
  ids.push_back(end);
  return ids;
}

}  // namespace

TEST_CASE("Unigram equals both references on every text that they agree on") {
  const auto path = shared_path(goldens + "unigram_t5.jsonl");
  if (!path) return;
  const LoadedTokenizer json_file = load("t5");
  const LoadedTokenizer model_file = load("t5/t5_tokenizer_base.model");
  Encoding encoding;
  const int count = for_each_line(*path, [&](const json& line) {
    const std::string text = line["text"];
    REQUIRE(json_file.tokenizer.encode(text, with_names(), &encoding).ok());
    check_equal(encoding, line);
    // Only the ids are compared. The token strings are those of Hugging Face, whose normaliser drops unknown characters
    // that SentencePiece keeps.
    REQUIRE(model_file.tokenizer.encode(text, with_names(), &encoding).ok());
    const std::string label = line.dump(-1, ' ', true).substr(0, 300);
    CAPTURE(label);
    CHECK(with_end(ids_of(encoding), model_file.description.eos) == line["ids"]);
  });
  CHECK(count == 2661);
}

TEST_CASE("if the references differ, tokenizer.json follows Hugging Face and the .model file follows SentencePiece") {
  const auto path = shared_path(goldens + "unigram_t5_disagreements.jsonl");
  if (!path) return;
  const LoadedTokenizer json_file = load("t5");
  const LoadedTokenizer model_file = load("t5/t5_tokenizer_base.model");
  Encoding encoding;
  const int count = for_each_line(*path, [&](const json& line) {
    const std::string label = line.dump(-1, ' ', true).substr(0, 300);
    CAPTURE(label);
    const std::string text = line["text"];
    REQUIRE(json_file.tokenizer.encode(text, with_names(), &encoding).ok());
    CHECK(json(ids_of(encoding)) == line["ids_hf_rust"]);
    CHECK(json(token_strings(encoding)) == line["tokens_hf_rust"]);
    REQUIRE(model_file.tokenizer.encode(text, with_names(), &encoding).ok());
    CHECK(with_end(ids_of(encoding), model_file.description.eos) == line["ids_spm"]);
  });
  CHECK(count == 31);
}

TEST_CASE("a SentencePiece model encodes and decodes as its library does") {
  const auto path = shared_path(goldens + "spm_test_model.jsonl");
  if (!path) return;
  const LoadedTokenizer loaded = load("sentencepiece/test_model.model");
  Encoding encoding;
  TextBuffer decoded;
  const int count = for_each_line(*path, [&](const json& line) {
    const std::string label = line.dump(-1, ' ', true).substr(0, 300);
    CAPTURE(label);
    REQUIRE(loaded.tokenizer.encode(line["text"].get<std::string>(), with_names(), &encoding).ok());
    CHECK(json(ids_of(encoding)) == line["ids"]);
    CHECK(json(token_strings(encoding)) == line["pieces"]);
    REQUIRE(loaded.tokenizer.decode(encoding.ids(), {}, &decoded).ok());
    CHECK(decoded.view() == line["decoded"].get<std::string>());
  });
  CHECK(count == 2460);
}

}  // namespace linformer_test::unigram_goldens_test
