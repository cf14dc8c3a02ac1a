// Tests which tokenizer file is read, and the errors for invalid files.
#include <doctest/doctest.h>

#include "base/description.h"
#include "text/golden_lines.h"
#include "text/tokenizer_folder.h"

namespace linformer_test::tokenizer_files_test {

using namespace linformer;
using convert::load_tokenizer;
namespace fs = std::filesystem;

TEST_CASE("of several files the one with the most information is read, and the notes name it") {
  TokenizerFolder folder;
  folder.copy("wordpiece");
  CHECK(contains(notes_of(load_tokenizer(folder.path())), "WordPiece from " + folder.path("vocab.txt")));
  folder.copy("bpe");
  auto loaded = load_tokenizer(folder.path());
  CHECK(contains(notes_of(loaded), "byte-level BPE from " + folder.path("vocab.json")));
  CHECK(contains(notes_of(loaded), folder.path("vocab.txt") + " is not used"));
  folder.copy("bpe_json");
  loaded = load_tokenizer(folder.path());
  CHECK(contains(notes_of(loaded), "byte-level BPE from " + folder.path("tokenizer.json")));
  CHECK(contains(notes_of(loaded), folder.path("vocab.json") + " is not used"));
  CHECK(load_tokenizer(folder.path("vocab.txt")).description.kind == TokenizerKind::wordpiece);
  fs::remove(folder.path("cases.jsonl"));
  fs::copy(test_data_path("tokenizers/fairseq/dict.txt"), folder.path("dict.txt"));
  CHECK(contains(notes_of(load_tokenizer(folder.path())), folder.path("dict.txt") + " is not used"));
}

TEST_CASE("vocab.json and merges.txt in RoBERTa's layout put special tokens around texts, those in GPT-2's do not") {
  const auto roberta = load_tokenizer(test_data_path("tokenizers/bpe"));
  const auto& description = roberta.description;
  CHECK(description.single_template == std::vector<int32_t>{0, template_first, 2});
  CHECK(description.pair_template == std::vector<int32_t>{0, template_first, 2, 2, template_second, 2});
  CHECK(description.pair_types.empty());
  CHECK(description.unk == 3);
  CHECK(description.pad == 1);
  CHECK(roberta.token_ids.empty());
  REQUIRE(description.added_tokens.size() == 1);
  CHECK(description.added_tokens[0].content == "<mask>");
  CHECK(description.added_tokens[0].strip_left);
  TokenizerFolder folder;
  folder.copy("fairseq");
  fs::remove(folder.path("dict.txt"));
  const auto gpt2 = load_tokenizer(folder.path());
  CHECK(gpt2.description.single_template.empty());
  CHECK(gpt2.description.unk == -1);
  CHECK(contains(notes_of(gpt2), "nothing is put around texts"));
  // With fairseq's dictionary special tokens are put around texts, and the notes say this.
  folder.copy("fairseq");
  const auto renumbered = load_tokenizer(folder.path());
  CHECK(renumbered.description.single_template == std::vector<int32_t>{0, template_first, 2});
  CHECK(contains(notes_of(renumbered), "texts become <s> text </s>"));
  CHECK_FALSE(contains(notes_of(renumbered), "nothing is put around texts"));
  folder.write("tokenizer_config.json", R"({"add_prefix_space": true})");
  CHECK(load_tokenizer(folder.path()).description.add_prefix_space);
}

TEST_CASE("tokenizer_config.json beside vocab.txt names the special tokens, and MPNet puts RoBERTa's around texts") {
  TokenizerFolder folder;
  folder.write("vocab.txt", "<s>\n<pad>\n</s>\n<unk>\n[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n<mask>\n");
  const auto bert = load_tokenizer(folder.path());
  CHECK(bert.description.single_template == std::vector<int32_t>{6, template_first, 7});
  CHECK(bert.description.pad == 4);
  for (const char* config : {R"({"tokenizer_class": "MPNetTokenizer"})",
                             R"({"tokenizer_class": "MPNetTokenizerFast", "cls_token": {"content": "<s>"},
                                 "sep_token": "</s>", "pad_token": "<pad>", "unk_token": "[UNK]",
                                 "mask_token": {"content": "<mask>", "lstrip": true}})"}) {
    folder.write("tokenizer_config.json", config);
    const auto mpnet = load_tokenizer(folder.path());
    const TokenizerDescription& description = mpnet.description;
    CHECK(description.single_template == std::vector<int32_t>{0, template_first, 2});
    CHECK(description.pair_template == std::vector<int32_t>{0, template_first, 2, 2, template_second, 2});
    CHECK(description.pair_types.empty());
    CHECK(description.pad == 1);
    CHECK(description.unk == 5);
    CHECK(description.mask == 11);
    REQUIRE(description.added_tokens.size() == 5);
    CHECK(description.added_tokens[4].content == "<mask>");
    CHECK(description.added_tokens[4].strip_left);
  }
  folder.write("tokenizer_config.json", R"({"cls_token": "<cls>"})");
  CHECK(contains(error_of([&] { load_tokenizer(folder.path()); }),
                 "has no token <cls>, which " + folder.path("tokenizer_config.json") + " names"));
}

TEST_CASE("the case of vocab.txt is given, configured or inferred, and the notes name it") {
  TokenizerFolder folder;
  folder.copy("wordpiece");
  const auto lower = load_tokenizer(folder.path());
  CHECK(lower.description.lowercase);
  CHECK(lower.description.strip_accents);
  CHECK(contains(notes_of(lower), "lowercased, because the vocabulary has no capital letters"));
  convert::TokenizerFileOptions options;
  options.lowercase = false;
  const auto cased = load_tokenizer(folder.path(), options);
  CHECK(!cased.description.lowercase);
  CHECK(!cased.description.strip_accents);
  CHECK(contains(notes_of(cased), "as asked"));
  folder.write("tokenizer_config.json", R"({"do_lower_case": false, "strip_accents": true})");
  const auto configured = load_tokenizer(folder.path());
  CHECK(!configured.description.lowercase);
  CHECK(configured.description.strip_accents);
  fs::remove(folder.path("tokenizer_config.json"));
  folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\r\n[SEP]\n[unused1]\n\u00c9t\u00e9\n##s");
  const auto inferred = load_tokenizer(folder.path());
  CHECK(!inferred.description.lowercase);
  CHECK(inferred.description.bos == 2);
  CHECK(inferred.token_offsets.size() == 8);
  folder.write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\nb\na\n");
  const auto repeated = load_tokenizer(folder.path());
  CHECK(contains(notes_of(repeated), "lists 1 tokens more than once"));
  const LoadedTokenizer usable(repeated);
  Encoding encoding;
  REQUIRE(usable.tokenizer.encode("a b", {}, &encoding).ok());
  CHECK(ids_of(encoding) == std::vector<int32_t>{1, 5, 4, 2});
}

TEST_CASE("the error for an invalid vocabulary, merge list or dictionary names the line or byte") {
  TokenizerFolder folder;
  const auto load = [&] { load_tokenizer(folder.path()); };
  CHECK(contains(error_of(load), folder.path() + " has no tokenizer files: give a folder with"));
  CHECK(contains(error_of([&] { load_tokenizer(folder.path("absent")); }), "is neither a folder nor a file"));
  folder.write("vocab.json", R"({"a":0,"b":1,"ab":2})");
  CHECK(contains(error_of([&] { load_tokenizer(folder.path("vocab.json")); }), "needs vocab.json and merges.txt"));
  folder.write("merges.txt", "#version: 0.2\na b\n");
  CHECK(error_of(load) == "no error");
  CHECK(contains(notes_of(load_tokenizer(folder.path())), "254 of the 256 byte values have no token"));
  folder.write("merges.txt", "#version: 0.2\na b\nb\n");
  CHECK(contains(error_of(load), "merges.txt line 3 is not two tokens"));
  folder.write("merges.txt", "a b\nb a\n");
  CHECK(contains(error_of(load),
                 "joins \"b\" and \"a\" (merge 1, counted from 0), but token \"ba\" is not in the vocabulary"));
  folder.write("merges.txt", "a b\n");
  folder.write("vocab.json", "{\"a\":0,\"b\":1,");
  CHECK(contains(error_of(load), "vocab.json is not valid JSON at byte 14"));
  folder.write("vocab.json", "{\"\xFF\":0}");
  CHECK(contains(error_of(load), "vocab.json is not valid JSON at byte"));
  folder.write("vocab.json", "[1]");
  CHECK(contains(error_of(load), "vocab.json is not a JSON object"));
  folder.write("vocab.json", "{}");
  CHECK(contains(error_of(load), "vocab.json has no tokens"));
  for (const char* id : {"-1", "1.5", "\"1\"", "16777216", "18446744073709551616", "null"}) {
    folder.write("vocab.json", std::string("{\"a\":0,\"b\":1,\"ab\":") + id + "}");
    CHECK(contains(error_of(load), "gives token \"ab\" an id that is not a number from 0 to 16777215"));
  }
  folder.write("vocab.json", R"({"a":0,"b":1,"ab":1})");
  CHECK(contains(error_of(load), "gives the id 1 to \"ab\" and to \"b\""));
  folder.write("vocab.json", R"({"a":0,"b":7,"ab":9})");
  CHECK(load_tokenizer(folder.path()).token_ids == std::vector<int32_t>{0, 7, 9});

  folder.write("dict.txt", "7 10\n9 9\nword 1\n");
  const auto renumbered = load_tokenizer(folder.path());
  CHECK(renumbered.token_ids == std::vector<int32_t>{-1, 4, 5});
  CHECK(renumbered.description.mask == 7);
  folder.write("dict.txt", "7 10\n7 9\n");
  CHECK(contains(error_of(load), "dict.txt line 2 names \"7\" a second time: remove the line"));
  folder.write("dict.txt", "<pad> 1\n7 10\n");
  CHECK(contains(error_of(load), "dict.txt line 1 names \"<pad>\", which fairseq adds itself: remove the line"));
  folder.write("dict.txt", "7 10\n0 2\n7 9 #fairseq:overwrite\n<mask> 0\n");
  CHECK(load_tokenizer(folder.path()).token_ids == std::vector<int32_t>{5, 6, -1});
  CHECK(load_tokenizer(folder.path()).description.mask == 7);
  folder.write("dict.txt", "7 10\n7\n");
  CHECK(contains(error_of(load), "dict.txt line 2 is not a word and its count"));
  folder.write("dict.txt", "7 ten\n");
  CHECK(contains(error_of(load), "dict.txt line 1 is not a word and its count"));
  folder.write("dict.txt", "08 1\nx 3\n");
  CHECK(contains(error_of(load), "names none of the vocabulary's 3 ids"));
  convert::TokenizerFileOptions options;
  options.dictionary = folder.path("dict.txt");
  CHECK(contains(error_of([&] { load_tokenizer(test_data_path("tokenizers/wordpiece"), options); }),
                 "has another tokenizer"));
  CHECK(contains(error_of([&] { load_tokenizer(test_data_path("tokenizers/bpe"), options); }),
                 "model's numbering already"));
}

TEST_CASE("vocab.txt without BERT's special tokens or with invalid text is refused") {
  TokenizerFolder folder;
  const auto load = [&] { load_tokenizer(folder.path()); };
  folder.write("vocab.txt", "[UNK]\n[CLS]\na\n");
  CHECK(contains(error_of(load), "vocab.txt has no token [SEP]"));
  folder.write("vocab.txt", "[UNK]\n\xC3\n");
  CHECK(contains(error_of(load), "vocab.txt line 2 is not valid UTF-8"));
  folder.write("vocab.txt", "");
  CHECK(contains(error_of(load), "vocab.txt has no tokens"));
}

}  // namespace linformer_test::tokenizer_files_test
