// Tests windows of a pair: one text is read in windows, and each window contains all of the other text.
#include <doctest/doctest.h>

#include "support/shared_data.h"
#include "text/golden_lines.h"

namespace linformer_test::pair_windows_test {

using namespace linformer;
using nlohmann::json;

namespace {

const LoadedTokenizer& bpe() {
  static const LoadedTokenizer loaded(convert::load_tokenizer(test_data_path("tokenizers/bpe_json")));
  return loaded;
}
const LoadedTokenizer& wordpiece() {
  static const LoadedTokenizer loaded(convert::load_tokenizer(test_data_path("tokenizers/wordpiece_json")));
  return loaded;
}

const std::string question = "the keeper of";
const std::string context = "unbelievable, the of keeper's 1024 the unbelievable of keeper";

// Returns all windows of the text. Each begins `step` tokens after the window before.
std::vector<std::vector<int32_t>> windows_of(const Tokenizer& tokenizer, const std::string& text,
                                             const std::string& pair, const EncodeOptions& options, int64_t step) {
  Encoding encoding;
  std::vector<std::vector<int32_t>> windows;
  for (int64_t first = 0;; first += step) {
    REQUIRE(tokenizer.encode_window(text, pair, options, first, &encoding).ok());
    if (encoding.ids().empty()) return windows;
    windows.push_back(ids_of(encoding));
    CHECK(encoding.truncated());
  }
}

}  // namespace

// The expected values are the `overflowing` encodings of Hugging Face's tokenizers 0.23 after
// enable_truncation(max_length, stride 2, strategy).
TEST_CASE("windows of a pair equal those of Hugging Face's tokenizers") {
  const json second = json::parse(R"([[2,88,143,102,3,129,70,57,51,66,57,3],[2,88,143,102,3,66,57,67,52,70,162,3],
      [2,88,143,102,3,70,162,6,88,102,143,3],[2,88,143,102,3,102,143,5,33,196,280,3],
      [2,88,143,102,3,196,280,88,129,70,57,3],[2,88,143,102,3,70,57,51,66,57,67,3],
      [2,88,143,102,3,57,67,52,70,162,102,3],[2,88,143,102,3,162,102,143,3]])");
  const json first = json::parse(R"([[0,328,69,72,79,76,72,2,2,263,333,293,2],[0,76,72,89,68,69,283,2,2,263,333,293,2],
      [0,69,283,15,263,293,333,2,2,263,333,293,2],[0,293,333,303,325,19,21,2,2,263,333,293,2],
      [0,19,21,23,263,328,69,2,2,263,333,293,2],[0,328,69,72,79,76,72,2,2,263,333,293,2],
      [0,76,72,89,68,69,283,2,2,263,333,293,2],[0,69,283,293,333,2,2,263,333,293,2]])");
  EncodeOptions options;
  options.truncation = Truncation::only_second;
  options.max_length = 12;
  CHECK(json(windows_of(wordpiece().tokenizer, question, context, options, 4)) == second);
  options.truncation = Truncation::only_first;
  options.max_length = 13;
  CHECK(json(windows_of(bpe().tokenizer, context, question, options, 4)) == first);
}

TEST_CASE("windows of a pair read the longer or the chosen text, with the right types and offsets") {
  const Tokenizer& tokenizer = wordpiece().tokenizer;  // [CLS] a [SEP] b [SEP], types 0 0 0 1 1
  Encoding whole, window;
  EncodeOptions options;
  options.token_strings = true;
  REQUIRE(tokenizer.encode(question, context, options, &whole).ok());  // The texts have 3 and 31 tokens.
  options.max_length = 12;
  // By default the longer text is read in windows, whether it is the first or the second.
  REQUIRE(tokenizer.encode_window(question, context, options, 0, &window).ok());
  REQUIRE(tokenizer.encode_window(question, context, options, 28, &window).ok());
  CHECK(ids_of(window) == std::vector<int32_t>{2, 88, 143, 102, 3, 162, 102, 143, 3});
  CHECK(json(std::vector<int>(window.type_ids().begin(), window.type_ids().end())) ==
        json::parse("[0,0,0,0,0,1,1,1,1]"));
  CHECK(json(std::vector<int>(window.sequence_ids().begin(), window.sequence_ids().end())) ==
        json::parse("[-1,0,0,0,-1,1,1,1,-1]"));
  CHECK(window.total_tokens() == 37);
  CHECK(window.truncated());
  for (size_t i = 5; i < 8; ++i) {
    CHECK(window.offsets()[i].begin == whole.offsets()[i + 28].begin);
    CHECK(window.token(i) == whole.token(i + 28));
  }
  REQUIRE(tokenizer.encode_window(context, question, options, 0, &window).ok());
  CHECK(ids_of(window) == std::vector<int32_t>{2, 129, 70, 57, 51, 66, 57, 3, 88, 143, 102, 3});
  // If both texts have the same length, the second is read in windows.
  options.max_length = 8;
  REQUIRE(tokenizer.encode_window("the keeper", "of the", options, 0, &window).ok());
  REQUIRE(tokenizer.encode_window("the keeper", "of the", options, 1, &window).ok());
  CHECK(ids_of(window) == std::vector<int32_t>{2, 88, 143, 3, 88, 3});
  options.truncation = Truncation::only_first;
  REQUIRE(tokenizer.encode_window("the keeper", "of the", options, 1, &window).ok());
  CHECK(ids_of(window) == std::vector<int32_t>{2, 143, 3, 102, 88, 3});
  // Nothing is cut if both texts fit.
  REQUIRE(tokenizer.encode_window("the keeper", "of the", options, 0, &window).ok());
  CHECK_FALSE(window.truncated());
  REQUIRE(tokenizer.encode_window("the keeper", "of the", options, 2, &window).ok());
  CHECK(window.ids().empty());
  REQUIRE(tokenizer.encode_window("", "", options, 0, &window).ok());
  CHECK(ids_of(window) == std::vector<int32_t>{2, 3, 3});
  // The Encoding of a single text after a pair has nothing of the pair.
  REQUIRE(tokenizer.encode_window("the keeper", options, 0, &window).ok());
  CHECK(ids_of(window) == std::vector<int32_t>{2, 88, 143, 3});
}

TEST_CASE("windows of a pair are refused if the text that isn't split leaves no room for the other") {
  const Tokenizer& tokenizer = wordpiece().tokenizer;
  Encoding encoding;
  EncodeOptions options;
  options.truncation = Truncation::only_second;
  for (const int64_t max_length : {1, 3, 6}) {  // The template has 3 tokens, and the question 3 more.
    options.max_length = max_length;
    const Status status = tokenizer.encode_window(question, context, options, 0, &encoding);
    CHECK(status.code() == Code::invalid_argument);
    CHECK(encoding.ids().empty());
  }
  const Status status = tokenizer.encode_window(question, context, options, 0, &encoding);
  CHECK(std::string(status.message()).find("first text's 3 tokens") != std::string::npos);
  options.max_length = 7;
  REQUIRE(tokenizer.encode_window(question, context, options, 0, &encoding).ok());
  CHECK(ids_of(encoding) == std::vector<int32_t>{2, 88, 143, 102, 3, 129, 3});
  CHECK(tokenizer.encode_window(question, context, options, -1, &encoding).code() == Code::invalid_argument);
  options.max_length = 0;
  CHECK(tokenizer.encode_window(question, context, options, 0, &encoding).code() == Code::invalid_argument);
}

}  // namespace linformer_test::pair_windows_test
