// Tests tokenizer files whose few bytes ask for much memory or work.
#include <nlohmann/json.hpp>

#include "converter/conversion.h"
#include "converter/tokenizers/tokenizer_files.h"
#include "converter/workplace.h"
#include "converter_cost/cost.h"

namespace linformer_test::tokenizers_cost_test {

using linformer::convert::load_tokenizer;
using nlohmann::json;

namespace {

json small_bpe() {
  return {{"model", {{"type", "BPE"}, {"vocab", {{"a", 0}}}, {"merges", json::array()}}},
          {"pre_tokenizer", {{"type", "ByteLevel"}}}};
}

std::string loading(const char* what, const std::string& name, const std::string& content,
                    std::string* notes = nullptr) {
  Workplace place;
  write_file(place.path(name), content);
  return error_within_budget(what, content.size(), [&] {
    const auto tokenizer = load_tokenizer(place.path(name));
    if (notes != nullptr) *notes = tokenizer.notes.at(0);
    // A valid file uses at most half of its budget.
    CHECK(tokenizer.budget.structure_bytes() == content.size());
    CHECK(tokenizer.budget.charged_memory() < linformer::convert::Budget::memory_per_byte * content.size() / 2 + 4096);
  });
}

}  // namespace

TEST_CASE("sequences within sequences are refused beyond a depth of 64") {
  const auto nested = [](const char* part, const char* list, size_t depth) {
    return "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]},\"" + std::string(part) +
           "\":" + repeated("{\"type\":\"Sequence\",\"" + std::string(list) + "\":[", depth) + repeated("]}", depth) +
           ",\"pre_tokenizer\":{\"type\":\"ByteLevel\"}}";
  };
  CHECK(loading("5 sequences, the last empty", "tokenizer.json", nested("normalizer", "normalizers", 5)) == "");
  for (const size_t depth : {size_t{40}, size_t{20000}}) {
    for (const auto& [part, list] : {std::pair("normalizer", "normalizers"), std::pair("post_processor", "processors"),
                                     std::pair("pre_tokenizer", "pretokenizers")}) {
      const std::string error = loading(part, "tokenizer.json", nested(part, list, depth));
      CHECK(contains(error, "tokenizer.json nests deeper than 64 levels"));
    }
  }
}

TEST_CASE("brackets that are never closed are an error at the 65th one, and no tree of values is built") {
  for (const char* unit : {"[", "{\"a\":", "[[],"}) {
    const std::string error = loading(unit, "tokenizer.json", repeated(unit, 1 << 19));
    CHECK(contains(error, "nests deeper than 64 levels"));
  }
  const std::string vocabulary = "{\"a\":" + repeated("[", 100000);
  Workplace place;
  write_file(place.path("vocab.json"), vocabulary);
  write_file(place.path("merges.txt"), "");
  CHECK(contains(error_within_budget("vocab.json", vocabulary.size(), [&] { load_tokenizer(place.path("")); }),
                 "nests deeper than 64 levels"));
}

TEST_CASE("a document of nothing but small values is read within its budget") {
  for (const char* unit : {"0", "[]", "{}", "\"\"", "{\"\":0}", "null"}) {
    json base = small_bpe();
    std::string text = base.dump();
    text.back() = ',';
    text += "\"junk\":[" + repeated(std::string(unit) + ",", 100000) + "0]}";
    CHECK(loading(unit, "tokenizer.json", text) == "");
  }
}

TEST_CASE("the length of templates is limited, however often a special token of many ids is named") {
  json tokenizer = small_bpe();
  json ids = json::array(), single = json::array();
  for (int i = 0; i < 3000; ++i) {
    ids.push_back(0);
    single.push_back({{"SpecialToken", {{"id", "x"}, {"type_id", 0}}}});
  }
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  tokenizer["post_processor"] = {{"type", "TemplateProcessing"},
                                 {"single", single},
                                 {"pair", single},
                                 {"special_tokens", {{"x", {{"id", "x"}, {"ids", ids}}}}}};
  CHECK(contains(loading("3,000 times 3,000 ids", "tokenizer.json", tokenizer.dump()), "gives more than 64 tokens"));
}

TEST_CASE("vocabularies of very short lines are read within the budget") {
  std::string words = "[UNK]\n[CLS]\n[SEP]\n";
  for (int i = 0; i < 90000; ++i) {
    for (int rest = i, digit = 0; digit < 3; ++digit, rest /= 45) words += static_cast<char>('0' + rest % 45);
    words += '\n';
  }
  std::string note;
  CHECK(loading("words of three letters", "vocab.txt", words, &note) == "");
  CHECK(contains(note, "90003 tokens"));
  CHECK(loading("empty lines", "vocab.txt", "[UNK]\n[CLS]\n[SEP]" + std::string(1 << 20, '\n')) == "");
}

TEST_CASE("lines end at \\n or \\r\\n, and the end of the file begins no line") {
  Workplace place;
  std::string note;
  CHECK(loading("lines", "vocab.txt", "[UNK]\r\n[CLS]\n[SEP]", &note) == "");
  CHECK(contains(note, "3 tokens"));
  CHECK(loading("lines", "vocab.txt", "[UNK]\n[CLS]\n[SEP]\n", &note) == "");
  CHECK(contains(note, "3 tokens"));
  CHECK(loading("lines", "vocab.txt", "[UNK]\n[CLS]\n[SEP]\n\n", &note) == "");
  CHECK(contains(note, "4 tokens"));
}

}  // namespace linformer_test::tokenizers_cost_test
