#include "text/golden_lines.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "base/description.h"
#include "text/legacy_truncation.h"
#include "text/tokenizer_factory.h"

namespace linformer_test {

using nlohmann::json;

namespace {

linformer::Tokenizer created(const linformer::TokenizerDescription& description) {
  auto tokenizer = linformer::TokenizerFactory::create(description);
  REQUIRE_MESSAGE(tokenizer.ok(), tokenizer.status().message());
  return std::move(tokenizer.value());
}

}  // namespace

LoadedTokenizer::LoadedTokenizer(linformer::convert::OwnedTokenizer owned)
    : files(std::move(owned)), description(files.view()), tokenizer(created(description)) {}

int for_each_line(const std::string& path, const std::function<void(const json&)>& check) {
  std::ifstream file(path);
  REQUIRE(file.good());
  int count = 0;
  for (std::string line; std::getline(file, line);) {
    check(json::parse(line));
    ++count;
  }
  std::printf("%s: %d lines checked\n", path.substr(path.rfind('/') + 1).c_str(), count);
  return count;
}

std::vector<std::string> token_strings(const linformer::Encoding& encoding) {
  std::vector<std::string> tokens;
  for (size_t i = 0; i < encoding.ids().size(); ++i) tokens.emplace_back(encoding.token(i));
  return tokens;
}

json offsets_of(const linformer::Encoding& encoding) {
  json offsets = json::array();
  for (const linformer::Offset& offset : encoding.offsets()) offsets.push_back({offset.begin, offset.end});
  return offsets;
}

std::vector<int32_t> ids_of(const linformer::Encoding& encoding) {
  return {encoding.ids().begin(), encoding.ids().end()};
}

void check_equal(const linformer::Encoding& encoding, const json& expected) {
  const std::string label = expected.dump(-1, ' ', true).substr(0, 300);
  CAPTURE(label);
  CHECK(json(ids_of(encoding)) == expected["ids"]);
  if (expected.contains("tokens")) CHECK(json(token_strings(encoding)) == expected["tokens"]);
  if (expected.contains("offsets")) CHECK(offsets_of(encoding) == expected["offsets"]);
  if (expected.contains("type_ids")) CHECK(json(encoding.type_ids()) == expected["type_ids"]);
  if (expected.contains("special_tokens_mask")) {
    CHECK(json(encoding.special_mask()) == expected["special_tokens_mask"]);
  }
}

std::string bytes_of_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

linformer::EncodeOptions truncation_options(const json& line);

// Compares the windows of a text that is cut (a single text, or the second of a pair) with the overflowing tokens of
// the reference. The reference stops reading at the word with which it has max_length tokens, so its last window may
// end before ours.
void check_overflow(const linformer::Tokenizer& tokenizer, const json& line, linformer::Encoding* encoding) {
  const linformer::EncodeOptions options = truncation_options(line);
  const std::string first = line["a"], second = line["b"].is_null() ? "" : line["b"].get<std::string>();
  const bool pair = !line["b"].is_null();
  int64_t room = options.max_length - tokenizer.template_tokens(pair);
  if (pair) {
    linformer::EncodeOptions alone;
    alone.add_special_tokens = false;
    REQUIRE(tokenizer.encode(first, alone, encoding).ok());
    room -= static_cast<int64_t>(encoding->ids().size());
  }
  const int64_t stride = line["stride"];
  if (room <= stride) return;
  const std::vector<std::vector<int32_t>> overflow = line["overflow_ids"];
  for (size_t window = 0; window <= overflow.size(); ++window) {
    const int64_t begin = static_cast<int64_t>(window) * (room - stride);
    const linformer::Status status = pair ? tokenizer.encode_window(first, second, options, begin, encoding)
                                          : tokenizer.encode_window(first, options, begin, encoding);
    REQUIRE_MESSAGE(status.ok(), std::string(status.message()));
    const std::vector<int32_t> expected = window == 0 ? line["ids"].get<std::vector<int32_t>>() : overflow[window - 1];
    const std::vector<int32_t> shown = ids_of(*encoding);
    REQUIRE(shown.size() >= expected.size());
    CHECK(std::equal(expected.begin(), expected.end() - 1, shown.begin()));
    CHECK(expected.back() == shown.back());
    if (window < overflow.size()) CHECK(shown.size() == expected.size());
  }
}

linformer::EncodeOptions truncation_options(const json& line) {
  linformer::EncodeOptions options;
  options.max_length = line["max_length"];
  const std::string strategy = line["strategy"];
  options.truncation = strategy == "longest_first" ? linformer::Truncation::longest_first
                       : strategy == "only_first"  ? linformer::Truncation::only_first
                                                   : linformer::Truncation::only_second;
  options.keep = line["direction"] == "left" ? linformer::Keep::tail : linformer::Keep::head;
  return options;
}

void check_truncation(const linformer::Tokenizer& tokenizer, const json& line, linformer::Encoding* encoding) {
  const std::string label = line.dump(-1, ' ', true).substr(0, 300);
  CAPTURE(label);
  const linformer::EncodeOptions options = truncation_options(line);
  const std::string first = line["a"];
  const bool pair = !line["b"].is_null();
  const std::string second = pair ? line["b"].get<std::string>() : "";
  const auto encode = [&](const linformer::EncodeOptions& chosen) {
    return pair ? tokenizer.encode(first, second, chosen, encoding) : tokenizer.encode(first, chosen, encoding);
  };
  const linformer::Status status = encode(options);
  if (line.contains("error")) {
    CHECK(status.code() == linformer::Code::invalid_argument);
    return;
  }
  if (options.max_length < tokenizer.template_tokens(pair)) {
    CHECK(status.code() == linformer::Code::invalid_argument);
    const std::string_view texts[] = {first, second};
    REQUIRE(
        linformer::LegacyTruncation::encode(tokenizer, std::span(texts).first(pair ? 2 : 1), options, encoding).ok());
    check_equal(*encoding, line);
    return;
  }
  REQUIRE_MESSAGE(status.ok(), status.message());
  if (pair && options.truncation == linformer::Truncation::longest_first && ids_of(*encoding) != line["ids"]) {
    // The version that made the references compares the lengths of the texts only up to max_length, so the other text
    // may lose the odd token. The runtime follows tokenizers 0.23, which compares the whole lengths.
    const auto of_first = [&] {
      return std::count(encoding->sequence_ids().begin(), encoding->sequence_ids().end(), 0);
    };
    const auto tokens = encoding->ids().size();
    const auto ours = of_first();
    const std::string_view texts[] = {first, second};
    REQUIRE(linformer::LegacyTruncation::encode(tokenizer, texts, options, encoding).ok());
    CHECK(encoding->ids().size() == tokens);
    CHECK(std::abs(of_first() - ours) == 1);
  }
  check_equal(*encoding, line);
  const bool second_is_cut = pair && options.truncation == linformer::Truncation::only_second;
  if ((!pair || second_is_cut) && options.keep == linformer::Keep::head) check_overflow(tokenizer, line, encoding);
}

}  // namespace linformer_test
