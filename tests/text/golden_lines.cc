#include "text/golden_lines.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>

namespace linformer_test {

using nlohmann::json;

namespace {

linformer::Tokenizer created(const linformer::TokenizerDescription& description) {
  auto tokenizer = linformer::Tokenizer::create(description);
  REQUIRE_MESSAGE(tokenizer.ok(), tokenizer.status().message());
  return std::move(tokenizer.value());
}

bool is_prefix(const std::vector<int32_t>& part, const std::vector<int32_t>& whole) {
  return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
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

linformer::EncodeOptions options_of(const json& line) {
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
  const linformer::EncodeOptions options = options_of(line);
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
    // The reference then gives more tokens than asked for: all that it had read of each text. Ours is an error; that
    // the rest agrees is seen in the texts' parts, which are beginnings of the uncut ones.
    CHECK(status.code() == linformer::Code::invalid_argument);
    const std::vector<int32_t> expected = line["ids"];
    CHECK(static_cast<int64_t>(expected.size()) > options.max_length);
    REQUIRE(encode({}).ok());
    const auto parts = [&](const auto& ids, const auto& special) {
      std::vector<std::vector<int32_t>> texts(1);
      for (size_t i = 0; i < ids.size(); ++i) {
        if (!special[i]) {
          texts.back().push_back(ids[i]);
        } else if (!texts.back().empty()) {
          texts.emplace_back();
        }
      }
      return texts;
    };
    const auto cut = parts(expected, line["special_tokens_mask"].get<std::vector<int>>());
    const auto whole = parts(encoding->ids(), encoding->special_mask());
    REQUIRE(cut.size() == whole.size());
    for (size_t i = 0; i < cut.size(); ++i) CHECK(is_prefix(cut[i], whole[i]));
    return;
  }
  REQUIRE_MESSAGE(status.ok(), status.message());
  check_equal(*encoding, line);
}

}  // namespace linformer_test
