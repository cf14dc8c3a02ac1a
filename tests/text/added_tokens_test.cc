// Tests the added tokens of tokenizer.json.
#include <doctest/doctest.h>

#include "base/description.h"
#include "text/golden_lines.h"
#include "text/tokenizer_factory.h"
#include "text/tokenizer_folder.h"

namespace linformer_test::added_tokens_test {

using namespace linformer;
using convert::load_tokenizer;
using nlohmann::json;

TEST_CASE("an added token that normalises to an empty text is refused, and the error names its id") {
  TokenizerFolder folder;
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
  CHECK(add("", true).ok());  // The tokenizers library ignores a token with empty content.
}

TEST_CASE("an added token whose id differs from the one that the tokenizers library assigns is refused") {
  const json document = read_json("wordpiece_json/tokenizer.json");
  const auto error = [&](const json& tokens) {
    TokenizerFolder folder;
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
  CHECK(error(json::array({token("", 999), token("x1", 302)})) == "no error");  // The empty token gets no id.
}

TEST_CASE("added tokens that normalise to equal texts, and ids that depend on the version of tokenizers, are refused") {
  TokenizerFolder folder;
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
  CHECK(contains(status.message(), "are the same text after normalisation"));
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

TEST_CASE("white space that one added token strips can be matched again by another added token without lstrip") {
  TokenizerFolder folder;
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

}  // namespace linformer_test::added_tokens_test
