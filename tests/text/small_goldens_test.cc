// Compares encodings with the small vocabularies of tests/data with reference encodings
// (tests/data/tokenizers/make_tokenizers.py).
#include <doctest/doctest.h>

#include "base/description.h"
#include "support/shared_data.h"
#include "text/golden_lines.h"

namespace linformer_test::small_goldens_test {

using namespace linformer;
using nlohmann::json;

namespace {

LoadedTokenizer load(const std::string& name) {
  return LoadedTokenizer(convert::load_tokenizer(test_data_path("tokenizers/" + name)));
}

void check_cases(const std::string& folder, int expected = 220) {
  const LoadedTokenizer loaded = load(folder + "/tokenizer.json");
  Encoding encoding;
  TextBuffer decoded;
  DecodeOptions skip;
  skip.skip_special_tokens = true;
  const int count = for_each_line(test_data_path("tokenizers/" + folder + "/cases.jsonl"), [&](const json& line) {
    EncodeOptions options;
    options.token_strings = true;
    options.add_special_tokens = line["special"];
    options.max_length = line.value("max_length", 0);
    options.keep = line.value("direction", "right") == "left" ? Keep::tail : Keep::head;
    const std::string text = line["a"];
    const Status status = line["b"].is_null()
                              ? loaded.tokenizer.encode(text, options, &encoding)
                              : loaded.tokenizer.encode(text, line["b"].get<std::string>(), options, &encoding);
    REQUIRE_MESSAGE(status.ok(), status.message());
    check_equal(encoding, line);
    REQUIRE(loaded.tokenizer.decode(encoding.ids(), skip, &decoded).ok());
    CHECK(decoded.view() == line["decoded"].get<std::string>());
  });
  CHECK(count == expected);
}

}  // namespace

TEST_CASE("a small byte-level BPE with a prefix space and added tokens equals the reference") {
  check_cases("bpe_json");
}

TEST_CASE("a small byte-level BPE after Unicode normalisation equals the reference") {
  check_cases("bpe_nfc_json", 120);
  // Only added_tokens has the mask token.
  const LoadedTokenizer loaded = load("bpe_nfc_json/tokenizer.json");
  CHECK(loaded.description.mask == static_cast<int32_t>(loaded.description.token_offsets.size()) - 1 + 7);
}

TEST_CASE("small byte-level BPEs with other splitting expressions equal the reference") {
  check_cases("bpe_cl100k_json", 100);  // Like Llama 3's: words in the vocabulary aren't split by merges.
  check_cases("bpe_o200k_json", 100);   // It splits digits first, and then by GPT-4o's expression.
}

TEST_CASE("small BPEs of characters with byte fallback equal the reference") {
  check_cases("bpe_gemma_json", 120);  // It has marks for spaces, and a text is one word.
  check_cases("bpe_llama_json", 100);  // It also puts a mark before the text.
  CHECK(load("bpe_gemma_json").description.kind == TokenizerKind::bpe);
}

TEST_CASE("a small WordPiece with added tokens equals the reference") { check_cases("wordpiece_json"); }

TEST_CASE("small Unigrams with Hugging Face's normalizers equal the reference") {
  check_cases("unigram_json", 120);        // Like T5's: it has rules, and words with a mark before each.
  check_cases("unigram_steps_json", 120);  // It has many steps, byte fallback and scores beyond float's range.
  check_cases("unigram_text_json", 120);   // A text is one word.
}

TEST_CASE("small SentencePiece models equal the reference") {
  for (const char* folder : {"sentencepiece", "sentencepiece_bytes"}) {
    const LoadedTokenizer loaded = load(folder);
    Encoding encoding;
    TextBuffer decoded;
    EncodeOptions options;
    options.token_strings = true;
    const std::string cases = test_data_path(std::string("tokenizers/") + folder + "/cases.jsonl");
    const int count = for_each_line(cases, [&](const json& line) {
      REQUIRE(loaded.tokenizer.encode(line["text"].get<std::string>(), options, &encoding).ok());
      check_equal(encoding, line);
      REQUIRE(loaded.tokenizer.decode(encoding.ids(), {}, &decoded).ok());
      CHECK(decoded.view() == line["decoded"].get<std::string>());
    });
    CHECK(count == 120);
  }
}

TEST_CASE("fairseq's dictionary renumbers the tokens, and tokens that it lacks become <unk>") {
  const LoadedTokenizer fairseq = load("fairseq");
  const LoadedTokenizer plain = load("fairseq/encoder.json");  // The dict.txt in the file's folder counts too.
  CHECK(fairseq.description.token_ids.size() == plain.description.token_ids.size());
  const LoadedTokenizer roberta = load("bpe");  // It has the same merges with other ids.
  const TokenizerDescription& description = fairseq.description;
  CHECK(description.bos == 0);
  CHECK(description.pad == 1);
  CHECK(description.eos == 2);
  CHECK(description.unk == 3);
  const auto tokens = static_cast<int32_t>(description.token_ids.size());
  CHECK(description.mask == 4 + tokens - 5 + 4);  // 4 special ids, all tokens except 5, and 4 filler lines.
  int missing = 0;
  for (int32_t id : description.token_ids) missing += id < 0;
  CHECK(missing == 5);

  EncodeOptions options;
  options.token_strings = true;
  Encoding ours, theirs;
  int unknown = 0, compared = 0;
  for (const char* text : {"the keeper's daughter waits for the river", "9 nets, 99 barrels", "na\u00efve caf\u00e9",
                           "what a waste <mask> it is</s>", " a\nb ", "always equal to all"}) {
    REQUIRE(fairseq.tokenizer.encode(text, options, &ours).ok());
    REQUIRE(roberta.tokenizer.encode(text, options, &theirs).ok());
    REQUIRE(ours.ids().size() == theirs.ids().size());
    CHECK(offsets_of(ours) == offsets_of(theirs));
    CHECK(ours.ids().front() == 0);
    CHECK(ours.ids().back() == 2);
    for (size_t i = 0; i < ours.ids().size(); ++i) {
      if (ours.ids()[i] == description.unk) {
        ++unknown;
        CHECK(ours.token(i) == "<unk>");
      } else {
        ++compared;
        CHECK(ours.token(i) == theirs.token(i));
      }
    }
  }
  CHECK(unknown > 0);
  CHECK(compared > 50);
}

TEST_CASE("special tokens inside a text are plain characters if the caller turns matching off") {
  const LoadedTokenizer loaded = load("bpe_json");
  Encoding encoding;
  EncodeOptions options;
  options.add_special_tokens = false;
  REQUIRE(loaded.tokenizer.encode("</s>", options, &encoding).ok());
  CHECK(ids_of(encoding) == std::vector<int32_t>{2});
  options.match_special_tokens = false;
  REQUIRE(loaded.tokenizer.encode("</s>", options, &encoding).ok());
  for (int32_t id : encoding.ids()) CHECK(id > 4);
  CHECK(encoding.ids().size() > 1);
  REQUIRE(loaded.tokenizer.encode("x->y", options, &encoding).ok());  // "->" is added but not special.
  CHECK(encoding.ids().size() == 5);                                  // Each part has a prefix space, which is a token.
}

}  // namespace linformer_test::small_goldens_test
