// Reading tokenizer files: what is chosen, and one clear sentence for each thing that is wrong.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "base/description.h"
#include "converter/readers/error.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "text/golden_lines.h"
#include "text/tokenizer_factory.h"

using namespace linformer;
using namespace linformer_test;
using convert::load_tokenizer;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

class Folder : public TemporaryFolder {
 public:
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
  }
  void copy(const std::string& from) const {
    for (const auto& file : fs::directory_iterator(test_data("tokenizers/" + from))) {
      fs::copy(file.path(), path(file.path().filename()), fs::copy_options::overwrite_existing);
    }
  }
};

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const convert::Error& error) {
    return error.what();
  }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string notes_of(const convert::OwnedTokenizer& tokenizer) {
  std::string notes;
  for (const std::string& note : tokenizer.notes) notes += note + "\n";
  return notes;
}

json read_json(const std::string& name) {
  std::ifstream file(test_data("tokenizers/" + name));
  return json::parse(file);
}

}  // namespace

TEST_CASE("of several files the most telling one is read, and the notes say so") {
  Folder folder;
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
  fs::copy(test_data("tokenizers/fairseq/dict.txt"), folder.path("dict.txt"));
  CHECK(contains(notes_of(load_tokenizer(folder.path())), folder.path("dict.txt") + " is not used"));
}

TEST_CASE("vocab.json and merges.txt in RoBERTa's layout surround texts, in GPT-2's they do not") {
  const auto roberta = load_tokenizer(test_data("tokenizers/bpe"));
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
  Folder folder;
  folder.copy("fairseq");
  fs::remove(folder.path("dict.txt"));
  const auto gpt2 = load_tokenizer(folder.path());
  CHECK(gpt2.description.single_template.empty());
  CHECK(gpt2.description.unk == -1);
  CHECK(contains(notes_of(gpt2), "nothing is put around texts"));
  // With fairseq's dictionary they are surrounded, and the notes don't say otherwise.
  folder.copy("fairseq");
  const auto renumbered = load_tokenizer(folder.path());
  CHECK(renumbered.description.single_template == std::vector<int32_t>{0, template_first, 2});
  CHECK(contains(notes_of(renumbered), "texts become <s> text </s>"));
  CHECK_FALSE(contains(notes_of(renumbered), "nothing is put around texts"));
  folder.write("tokenizer_config.json", R"({"add_prefix_space": true})");
  CHECK(load_tokenizer(folder.path()).description.add_prefix_space);
}

TEST_CASE("the case of vocab.txt is asked for, configured or inferred, and reported") {
  Folder folder;
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

TEST_CASE("a broken vocabulary, merge list or dictionary is named with its line or byte") {
  Folder folder;
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
  CHECK(contains(error_of(load), "joins \"b\" and \"a\" (merge 1), but token \"ba\" is not in the vocabulary"));
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
  CHECK(contains(error_of(load), "dict.txt line 2 names \"7\" a second time"));
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
  CHECK(
      contains(error_of([&] { load_tokenizer(test_data("tokenizers/wordpiece"), options); }), "has another tokenizer"));
  CHECK(contains(error_of([&] { load_tokenizer(test_data("tokenizers/bpe"), options); }), "model's numbering already"));
}

TEST_CASE("vocab.txt without what BERT needs, or with broken text, is refused") {
  Folder folder;
  const auto load = [&] { load_tokenizer(folder.path()); };
  folder.write("vocab.txt", "[UNK]\n[CLS]\na\n");
  CHECK(contains(error_of(load), "vocab.txt has no token [SEP]"));
  folder.write("vocab.txt", "[UNK]\n\xC3\n");
  CHECK(contains(error_of(load), "vocab.txt line 2 is not valid UTF-8"));
  folder.write("vocab.txt", "");
  CHECK(contains(error_of(load), "vocab.txt has no tokens"));
}

TEST_CASE("each part of tokenizer.json that is not supported is named") {
  const json bpe = read_json("bpe_json/tokenizer.json");
  const json wordpiece = read_json("wordpiece_json/tokenizer.json");
  Folder folder;
  const auto error_with = [&](json document, const std::string& pointer, const char* value) {
    document[json::json_pointer(pointer)] = json::parse(value);
    folder.write("tokenizer.json", document.dump());
    return error_of([&] { load_tokenizer(folder.path()); });
  };
  CHECK(error_with(bpe, "/version", "\"1.0\"") == "no error");
  CHECK(error_with(wordpiece, "/version", "\"1.0\"") == "no error");
  struct Wrong {
    const char* pointer;
    const char* value;
    const char* sentence;
  };
  const Wrong bpe_errors[] = {
      {"/normalizer", R"({"type":"Strip"})", "normalizer (Strip) is not supported before byte-level BPE"},
      {"/normalizer", R"({"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Lowercase"}]})",
       "normalizer (Sequence) is not supported before byte-level BPE: NFC, NFD, NFKC and NFKD are"},
      {"/normalizer", R"({"type":"BertNormalizer"})", "is not supported before Unigram or BPE"},
      {"/normalizer", R"({"type":7})", "normalizer.type must be a string"},
      {"/pre_tokenizer", "null", "pre_tokenizer (none) is not supported"},
      {"/pre_tokenizer", R"({"type":"Metaspace"})", "pre_tokenizer (Metaspace) is not supported"},
      {"/pre_tokenizer/use_regex", "false", "pre_tokenizer.use_regex false is not supported"},
      {"/pre_tokenizer/add_prefix_space", "1", "pre_tokenizer.add_prefix_space must be true or false"},
      {"/model/type", R"("Unigram")", "pre_tokenizer (\"ByteLevel\") is not supported before Unigram"},
      {"/model/type", R"("WordLevel")", "model (WordLevel) is not supported"},
      {"/model/type", "null", "no error"},
      {"/model/dropout", "0.1", "model.dropout is not supported"},
      {"/model/byte_fallback", "true", "model.byte_fallback true is not supported"},
      {"/model/ignore_merges", "true", "model.ignore_merges true is not supported"},
      {"/model/end_of_word_suffix", R"("</w>")", "model.end_of_word_suffix (\"</w>\") is not supported"},
      {"/model/continuing_subword_prefix", R"("@@")", "model.continuing_subword_prefix (\"@@\") is not supported"},
      {"/model/unk_token", R"("<none>")", "model.unk_token (\"<none>\") is not in the vocabulary"},
      {"/model/vocab", "[]", "model.vocab must be an object"},
      {"/model/merges", "{}", "model.merges must be an array"},
      {"/model/merges/0", R"("a b c")", "model.merges[0] must be two tokens"},
      {"/model/merges/0", R"(["a",3])", "model.merges[0] must be two tokens"},
      {"/model/merges/0", R"(["q","q"])", "but token \"qq\" is not in the vocabulary"},
      {"/post_processor", R"({"type":"Mystery"})", "post_processor (\"Mystery\") is not supported"},
      {"/post_processor/sep", R"(["</s>"])", "post_processor.sep must be a token and its id"},
      {"/post_processor/cls/1", "-4", "post_processor.cls[1] must be an id"},
      {"/added_tokens", R"("none")", "added_tokens must be an array"},
      {"/added_tokens/0/id", "16777216", "added_tokens[0].id must be an id from 0 to 16777215"},
      {"/added_tokens/0/id", "9", "another id than model.vocab does"},
      {"/added_tokens/0/content", "null", "added_tokens[0].content must be a string"},
      {"/added_tokens/0/lstrip", R"("yes")", "added_tokens[0].lstrip must be true or false"},
      {"/model", R"("BPE")", "model must be an object"},
  };
  for (const auto& wrong : bpe_errors) {
    const std::string sentence = wrong.sentence;
    CAPTURE(sentence);
    CHECK(contains(error_with(bpe, wrong.pointer, wrong.value), sentence));
  }
  const Wrong wordpiece_errors[] = {
      {"/normalizer", R"({"type":"Lowercase"})", "normalizer (Lowercase) is not supported"},
      {"/pre_tokenizer", R"({"type":"Whitespace"})", "pre_tokenizer (Whitespace) is not supported"},
      {"/model/unk_token", R"("[NONE]")", "model.unk_token (\"[NONE]\") is not in the vocabulary"},
      {"/model/max_input_chars_per_word", "-1", "model.max_input_chars_per_word must be an id"},
      {"/post_processor/single", "[]", "post_processor.single must name A once and B never"},
      {"/post_processor/pair/1/Sequence/id", R"("B")", "post_processor.pair must name A once and B once"},
      {"/post_processor/pair/1/Sequence/id", R"("C")", "post_processor.pair[1].Sequence.id must be A or B"},
      {"/post_processor/pair/1", "4", "post_processor.pair[1] must be a SpecialToken or a Sequence"},
      {"/post_processor/pair/3/Sequence/type_id", "2", "post_processor.pair[3].Sequence.type_id must be 0 or 1"},
      {"/post_processor/single/0/SpecialToken/type_id", "1", "type_id other than 0"},
      {"/post_processor/single/0/SpecialToken/id", R"("[X]")", "(\"[X]\") is not among special_tokens"},
  };
  for (const auto& wrong : wordpiece_errors) {
    const std::string sentence = wrong.sentence;
    CAPTURE(sentence);
    CHECK(contains(error_with(wordpiece, wrong.pointer, wrong.value), sentence));
  }
}

TEST_CASE("post-processors in a sequence, and BERT's own, give the same templates") {
  Folder folder;
  json document = read_json("wordpiece_json/tokenizer.json");
  folder.write("tokenizer.json", document.dump());
  const auto from_template = load_tokenizer(folder.path()).description;
  document["post_processor"] = {
      {"type", "BertProcessing"}, {"sep", {"[SEP]", from_template.eos}}, {"cls", {"[CLS]", from_template.bos}}};
  folder.write("tokenizer.json", document.dump());
  const auto bert = load_tokenizer(folder.path()).description;
  CHECK(bert.single_template == from_template.single_template);
  CHECK(bert.pair_template == from_template.pair_template);
  CHECK(bert.pair_types == from_template.pair_types);
  json bpe = read_json("bpe_json/tokenizer.json");
  bpe["post_processor"] = {
      {"type", "Sequence"},
      {"processors", {{{"type", "ByteLevel"}, {"trim_offsets", false}}, document["post_processor"]}}};
  folder.write("tokenizer.json", bpe.dump());
  const auto sequence = load_tokenizer(folder.path()).description;
  CHECK(!sequence.trim_offsets);
  CHECK(sequence.pair_types == bert.pair_types);
}

TEST_CASE("a second template in a sequence of post-processors is refused by name") {
  Folder folder;
  const json wordpiece = read_json("wordpiece_json/tokenizer.json");
  const json bert = {{"type", "BertProcessing"}, {"sep", {"[SEP]", 3}}, {"cls", {"[CLS]", 2}}};
  const json roberta = {{"type", "RobertaProcessing"}, {"sep", {"[SEP]", 3}}, {"cls", {"[CLS]", 2}}};
  const json& processing = wordpiece["post_processor"];
  REQUIRE(processing["type"] == "TemplateProcessing");
  for (const json& first : {bert, roberta, processing}) {
    for (const json& second : {bert, roberta, processing}) {
      json document = wordpiece;
      document["post_processor"] = {{"type", "Sequence"}, {"processors", {first, second}}};
      folder.write("tokenizer.json", document.dump());
      const std::string sentence = error_of([&] { load_tokenizer(folder.path()); });
      CAPTURE(sentence);
      CHECK(contains(sentence, "post_processor.processors[1]"));
      CHECK(contains(sentence, second["type"].get<std::string>()));
      CHECK(contains(sentence, "second template"));
    }
  }
}

TEST_CASE("an added token that normalises to nothing is refused by its id") {
  Folder folder;
  json document = read_json("wordpiece_json/tokenizer.json");
  const auto add = [&](const char* content, bool normalized) {
    json changed = document;
    changed["added_tokens"].push_back({{"id", 302}, {"content", content}, {"normalized", normalized}});
    changed["added_tokens"].back().update({{"special", false}, {"single_word", false}});
    folder.write("tokenizer.json", changed.dump());
    const auto loaded = load_tokenizer(folder.path());
    return TokenizerFactory::create(loaded.view()).status();
  };
  const Status status = add("\u0301", true);
  CHECK(status.code() == Code::unsupported);
  CHECK(contains(status.message(), "the added token with id 302 normalises to nothing"));
  CHECK(add("\u0301", false).ok());
  CHECK(add("a\u0301", true).ok());
  CHECK(add("", true).ok());  // tokenizers ignores a token whose content is empty
}

TEST_CASE("an added token whose id differs from the one that the tokenizers library assigns is refused") {
  const json document = read_json("wordpiece_json/tokenizer.json");
  const auto error = [&](const json& tokens) {
    Folder folder;
    json changed = document;
    for (const json& token : tokens) changed["added_tokens"].push_back(token);
    folder.write("tokenizer.json", changed.dump());
    return error_of([&] { load_tokenizer(folder.path()); });
  };
  const auto token = [](const char* content, int id) { return json{{"id", id}, {"content", content}}; };
  CHECK(error(json::array({token("x1", 302), token("x2", 303)})) == "no error");
  CHECK(contains(error(json::array({token("x1", 303)})),
                 "added_tokens[7] gives \"x1\" the id 303, but tokenizers reads it as 302"));
  CHECK(
      contains(error(json::array({token("x1", 302), token("x1", 302)})), "added_tokens[8] names \"x1\" a second time"));
  CHECK(contains(error(json::array({token("[CLS]", 4)})), "added_tokens[7] names \"[CLS]\" a second time"));
  CHECK(error(json::array({token("", 999), token("x1", 302)})) == "no error");  // the empty token gets no id
}

TEST_CASE("added tokens whose texts become one, and ids that depend on the version of tokenizers, are refused") {
  Folder folder;
  json document = read_json("wordpiece_json/tokenizer.json");
  for (const char* content : {"\u00c9", "e"}) {
    const size_t id =
        document["model"]["vocab"].contains(content) ? document["model"]["vocab"][content].get<size_t>() : 302;
    document["added_tokens"].push_back({{"id", id}, {"content", content}, {"normalized", true}});
  }
  folder.write("tokenizer.json", document.dump());
  const auto loaded = load_tokenizer(folder.path());
  const Status status = TokenizerFactory::create(loaded.view()).status();
  CHECK(status.code() == Code::unsupported);
  CHECK(contains(status.message(), "are the same text once they are normalised"));
  document = read_json("wordpiece_json/tokenizer.json");
  document["model"]["vocab"]["no such word"] = 1000;
  document["added_tokens"] = json::array();
  const auto error = [&](const char* content, int id) {
    document["added_tokens"].push_back({{"id", id}, {"content", content}});
    folder.write("tokenizer.json", document.dump());
    return error_of([&] { load_tokenizer(folder.path()); });
  };
  CHECK(error("no such word", 1000) == "no error");
  CHECK(contains(error("x2", 1001),
                 "added_tokens[1] (\"x2\") is not in model.vocab, whose ids have gaps: tokenizers "
                 "gives it the id 301 or 1001"));
}

TEST_CASE("white space that an added token strips is found again only by an added token without lstrip") {
  Folder folder;
  json document = read_json("wordpiece_json/tokenizer.json");
  const auto tokens = [&](bool strip_left, const char* text) {
    document["added_tokens"] = json::array();
    document["added_tokens"].push_back({{"id", 300}, {"content", "lin"}, {"rstrip", true}, {"normalized", false}});
    document["added_tokens"].push_back({{"id", 301}, {"content", " "}, {"lstrip", strip_left}, {"normalized", false}});
    document["added_tokens"].push_back({{"id", 302}, {"content", " x"}, {"lstrip", strip_left}, {"normalized", false}});
    folder.write("tokenizer.json", document.dump());
    const LoadedTokenizer loaded(load_tokenizer(folder.path()));
    Encoding encoding;
    EncodeOptions options;
    options.add_special_tokens = false;
    options.token_strings = true;
    REQUIRE(loaded.tokenizer.encode(text, options, &encoding).ok());
    return json{token_strings(encoding), offsets_of(encoding)};
  };
  // The expected values are those of tokenizers 0.23.3.
  CHECK(tokens(false, "lin 1") == json{{"lin ", " ", "1"}, {{0, 4}, {3, 4}, {4, 5}}});
  CHECK(tokens(false, "lin  1") == json{{"lin  ", " ", " ", "1"}, {{0, 5}, {3, 4}, {4, 5}, {5, 6}}});
  CHECK(tokens(false, "lin  x") == json{{"lin  ", " ", " x"}, {{0, 5}, {3, 4}, {4, 6}}});
  CHECK(tokens(true, "lin 1") == json{{"lin ", "1"}, {{0, 4}, {4, 5}}});
  CHECK(tokens(true, "lin x") == json{{"lin ", "x"}, {{0, 4}, {4, 5}}});
}

TEST_CASE("a template names its tokens as the vocabulary does, whatever the normaliser makes of them") {
  Folder folder;
  json document = read_json("wordpiece_json/tokenizer.json");
  for (json& token : document["added_tokens"]) token["normalized"] = true;
  folder.write("tokenizer.json", document.dump());
  const LoadedTokenizer loaded(load_tokenizer(folder.path()));
  Encoding encoding;
  EncodeOptions options;
  options.token_strings = true;
  REQUIRE(loaded.tokenizer.encode("[cls]", options, &encoding).ok());
  CHECK(token_strings(encoding) == std::vector<std::string>{"[CLS]", "[cls]", "[SEP]"});
  CHECK(ids_of(encoding) == std::vector<int32_t>{2, 2, 3});
}

TEST_CASE("offsets are trimmed as the post-processor says, whatever the pre-tokenizer adds") {
  Folder folder;
  json document = read_json("bpe_json/tokenizer.json");
  const auto offsets = [&](const char* text, bool adds, const json& processor) {
    document["pre_tokenizer"]["add_prefix_space"] = adds;
    document["post_processor"] = processor;
    folder.write("tokenizer.json", document.dump());
    const LoadedTokenizer loaded(load_tokenizer(folder.path()));
    Encoding encoding;
    EncodeOptions options;
    options.add_special_tokens = false;
    REQUIRE(loaded.tokenizer.encode(text, options, &encoding).ok());
    return json::array({offsets_of(encoding).front(), offsets_of(encoding).back()});
  };
  const auto byte_level = [](bool keeps, bool trims) {
    return json{{"type", "ByteLevel"}, {"add_prefix_space", keeps}, {"trim_offsets", trims}};
  };
  const auto roberta = [](bool keeps, bool trims) {
    return json{{"type", "RobertaProcessing"},
                {"sep", {"</s>", 2}},
                {"cls", {"<s>", 0}},
                {"add_prefix_space", keeps},
                {"trim_offsets", trims}};
  };
  // The expected values are those of tokenizers 0.23.3. The space before "the" is the text's own, or add_prefix_space
  // added it.
  for (const bool adds : {false, true}) {
    CAPTURE(adds);
    CHECK(offsets(" the the", adds, roberta(true, true)) == json({{0, 4}, {5, 8}}));
    CHECK(offsets(" the the", adds, roberta(false, true)) == json({{1, 4}, {5, 8}}));
    CHECK(offsets(" the the", adds, roberta(true, false)) == json({{0, 4}, {4, 8}}));
    CHECK(offsets(" the the", adds, byte_level(true, true)) == json({{0, 4}, {5, 8}}));
    CHECK(offsets(" the the", adds, byte_level(false, true)) == json({{1, 4}, {5, 8}}));
    CHECK(offsets(" the the", adds, byte_level(true, false)) == json({{0, 4}, {4, 8}}));
    CHECK(offsets(" the the", adds, nullptr) == json({{0, 4}, {4, 8}}));
    const auto sequence = [](const json& first, const json& second) {
      return json{{"type", "Sequence"}, {"processors", {first, second}}};
    };
    CHECK(offsets(" the the", adds, sequence(byte_level(false, true), roberta(true, false))) == json({{1, 4}, {5, 8}}));
    CHECK(offsets(" the the", adds, sequence(byte_level(true, false), roberta(true, true))) == json({{0, 4}, {5, 8}}));
    document["post_processor"] = sequence(byte_level(true, true), roberta(true, true));
    folder.write("tokenizer.json", document.dump());
    CHECK(contains(error_of([&] { load_tokenizer(folder.path()); }),
                   "post_processor.processors[1] (RobertaProcessing) trims offsets a second time"));
  }
  CHECK(offsets("the the", true, roberta(false, true)) == json({{1, 3}, {4, 7}}));
  // The spaces that an added token strips are trimmed from its offsets with other models too; MPNet has WordPiece with
  // RobertaProcessing.
  document = read_json("wordpiece_json/tokenizer.json");
  for (json& token : document["added_tokens"]) token["lstrip"] = token["content"] == "[MASK]";
  document["pre_tokenizer"].erase("add_prefix_space");
  const json mpnet = {{"type", "RobertaProcessing"}, {"sep", {"[SEP]", 3}}, {"cls", {"[CLS]", 2}}};
  CHECK(offsets("the  [MASK]", false, mpnet) == json({{0, 3}, {5, 11}}));
  document = read_json("bpe_json/tokenizer.json");
  CHECK(offsets("the the", true, roberta(true, true)) == json({{0, 3}, {4, 7}}));
}

TEST_CASE("merges as pairs and as strings mean the same") {
  Folder folder;
  json document = read_json("bpe_json/tokenizer.json");
  const auto pairs = load_tokenizer(test_data("tokenizers/bpe_json")).merges;
  for (json& merge : document["model"]["merges"])
    merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  folder.write("tokenizer.json", document.dump());
  CHECK(load_tokenizer(folder.path()).merges == pairs);
}
