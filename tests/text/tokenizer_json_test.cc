// Tests which parts of tokenizer.json are read, and that errors name the parts that aren't supported.
#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

#include "base/description.h"
#include "text/golden_lines.h"
#include "text/tokenizer_folder.h"

namespace linformer_test::tokenizer_json_test {

using namespace linformer;
using convert::load_tokenizer;
using nlohmann::json;

TEST_CASE("the error for an unsupported part of tokenizer.json names it") {
  const json bpe = read_json("bpe_json/tokenizer.json");
  const json wordpiece = read_json("wordpiece_json/tokenizer.json");
  TokenizerFolder folder;
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
      {"/normalizer", R"({"type":"Strip"})", "no error"},
      {"/normalizer", R"({"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"ByteLevel"}]})",
       "normalizer.normalizers[1] (\"ByteLevel\") is not supported before Unigram or BPE"},
      {"/normalizer", R"({"type":"BertNormalizer"})", "is not supported before Unigram or BPE"},
      {"/normalizer", R"({"type":7})", "normalizer.type must be a string"},
      {"/pre_tokenizer", "null", "no error"},
      {"/pre_tokenizer", R"({"type":"Metaspace"})", "pre_tokenizer.replacement must be a string"},
      {"/pre_tokenizer", R"({"type":"UnicodeScripts"})",
       "pre_tokenizer (\"UnicodeScripts\") is not supported before BPE or Unigram: Split, Digits, Punctuation and "},
      {"/pre_tokenizer/use_regex", "false", "no error"},
      {"/pre_tokenizer/use_regex", "0", "pre_tokenizer.use_regex must be true or false"},
      {"/pre_tokenizer/add_prefix_space", "1", "pre_tokenizer.add_prefix_space must be true or false"},
      {"/model/type", R"("Unigram")", "pre_tokenizer has ByteLevel, which is not supported before Unigram"},
      {"/model/type", R"("WordLevel")", "model (\"WordLevel\") is not supported"},
      {"/model/type", "null", "no error"},
      {"/model/dropout", "0.1", "model.dropout is not supported"},
      {"/model/byte_fallback", "true", "no error"},  // All bytes have tokens, so it changes nothing.
      {"/model/byte_fallback", "7", "model.byte_fallback must be true or false"},
      {"/model/ignore_merges", "true", "no error"},
      {"/model/ignore_merges", "7", "model.ignore_merges must be true or false"},
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
      {"/normalizer", R"({"type":"Lowercase"})", "normalizer (\"Lowercase\") is not supported"},
      {"/pre_tokenizer", R"({"type":"Whitespace"})", "pre_tokenizer (\"Whitespace\") is not supported"},
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

namespace {

// Adds to `strings` a JSON pointer to each string of a tokenizer.json, except for those of the vocabulary and the
// merges.
void add_strings(const json& value, const json::json_pointer& at, std::vector<json::json_pointer>* strings) {
  if (value.is_string()) strings->push_back(at);
  if (!value.is_structured() || at.to_string() == "/model/vocab" || at.to_string() == "/model/merges") return;
  for (const auto& [name, part] : value.items()) {
    add_strings(part, value.is_array() ? at / std::stoul(name) : at / name, strings);
  }
}

}  // namespace

TEST_CASE("no error contains a control character of a string of tokenizer.json") {
  const std::string hostile = "a\x1b[31m\t\nb\x7f\x01";
  TokenizerFolder folder;
  size_t errors = 0;
  for (const char* name : {"bpe_json", "bpe_cl100k_json", "bpe_gemma_json", "bpe_llama_json", "bpe_nfc_json",
                           "wordpiece_json", "unigram_json", "unigram_steps_json", "unigram_text_json"}) {
    CAPTURE(name);
    json document = read_json(std::string(name) + "/tokenizer.json");
    std::vector<json::json_pointer> strings;
    add_strings(document, json::json_pointer(), &strings);
    CHECK(strings.size() > 3);
    for (const json::json_pointer& string : strings) {
      CAPTURE(string.to_string());
      const json before = std::exchange(document[string], hostile);
      folder.write("tokenizer.json", document.dump());
      document[string] = before;
      const std::string error = error_of([&] { load_tokenizer(folder.path()); });
      errors += error != "no error" ? 1 : 0;
      CHECK(std::none_of(error.begin(), error.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }));
    }
  }
  CHECK(errors > 50);
}

TEST_CASE("a sequence of post-processors and BertProcessing give the same templates as TemplateProcessing") {
  TokenizerFolder folder;
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

TEST_CASE("a second template in a sequence of post-processors is refused") {
  TokenizerFolder folder;
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

TEST_CASE("the tokens of a template are looked up in the vocabulary without normalisation") {
  TokenizerFolder folder;
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

TEST_CASE("offsets are trimmed as the post-processor says, whether or not the pre-tokenizer adds a space") {
  TokenizerFolder folder;
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
  // The expected values are those of tokenizers 0.23.3. The space before "the" belongs to the text, or add_prefix_space
  // has added it.
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
  // The spaces that an added token strips are trimmed from its offsets in other models too. MPNet, for example, has
  // WordPiece with RobertaProcessing.
  document = read_json("wordpiece_json/tokenizer.json");
  for (json& token : document["added_tokens"]) token["lstrip"] = token["content"] == "[MASK]";
  document["pre_tokenizer"].erase("add_prefix_space");
  const json mpnet = {{"type", "RobertaProcessing"}, {"sep", {"[SEP]", 3}}, {"cls", {"[CLS]", 2}}};
  CHECK(offsets("the  [MASK]", false, mpnet) == json({{0, 3}, {5, 11}}));
  document = read_json("bpe_json/tokenizer.json");
  CHECK(offsets("the the", true, roberta(true, true)) == json({{0, 3}, {4, 7}}));
}

TEST_CASE("padding and mask are the special tokens, even if the vocabulary has other tokens with these meanings") {
  // In all-mpnet-base-v2 the special tokens are <pad> and <mask>, and the vocabulary has [PAD] and [MASK] too.
  TokenizerFolder folder;
  json document = read_json("wordpiece_json/tokenizer.json");
  const TokenizerDescription& bert = load_tokenizer(test_data_path("tokenizers/wordpiece_json")).description;
  json& vocabulary = document["model"]["vocab"];
  const size_t tokens = vocabulary.size();
  json added = json::array();
  for (const char* name : {"<pad>", "<mask>"}) {
    const size_t id = vocabulary.size();
    vocabulary[name] = id;
    added.push_back({{"id", id}, {"content", name}, {"special", true}, {"single_word", false}, {"lstrip", false},
                     {"rstrip", false}, {"normalized", false}});
  }
  document["added_tokens"] = added;
  folder.write("tokenizer.json", document.dump());
  const auto mpnet = load_tokenizer(folder.path());
  CHECK(bert.pad >= 0);
  CHECK(bert.mask >= 0);
  CHECK(mpnet.description.pad == static_cast<int32_t>(tokens));
  CHECK(mpnet.description.mask == static_cast<int32_t>(tokens) + 1);
}

TEST_CASE("merges written as pairs and as strings give the same tokenizer") {
  TokenizerFolder folder;
  json document = read_json("bpe_json/tokenizer.json");
  const auto pairs = load_tokenizer(test_data_path("tokenizers/bpe_json")).merges;
  for (json& merge : document["model"]["merges"])
    merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  folder.write("tokenizer.json", document.dump());
  CHECK(load_tokenizer(folder.path()).merges == pairs);
}

}  // namespace linformer_test::tokenizer_json_test
