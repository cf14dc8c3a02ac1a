// Reads the normalizers of tokenizer.json.
#include <array>
#include <unordered_map>

#include "base/description.h"
#include "converter/readers/error.h"
#include "converter/tokenizers/tokenizer_json.h"
#include "text/charsmap.h"
#include "text/normalizer_steps.h"
#include "text/unicode.h"

namespace linformer::convert {
namespace {

std::vector<uint8_t> decode_base64(const JsonPart& part) {
  const std::string text = part.text();
  static const std::array<int8_t, 256> digits = [] {
    std::array<int8_t, 256> values;
    values.fill(-1);
    const std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < alphabet.size(); ++i) values[static_cast<uint8_t>(alphabet[i])] = static_cast<int8_t>(i);
    return values;
  }();
  size_t end = text.size();
  while (end > 0 && text.size() - end < 2 && text[end - 1] == '=') --end;
  std::vector<uint8_t> bytes;
  bytes.reserve(end / 4 * 3 + 3);
  uint32_t bits = 0;
  int count = 0;
  for (size_t i = 0; i < end; ++i) {
    const int digit = digits[static_cast<uint8_t>(text[i])];
    if (digit < 0) part.fail_here("is not base64 at character ", i);
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<uint8_t>(bits >> count));
    }
  }
  return bytes;
}

// Adds a Replace step. Throws Error for a regular expression unless it is a plain text or the one for runs of spaces.
void add_pattern(const JsonPart& part, NormalizerStep step, OwnedTokenizer* tokenizer) {
  const JsonPart pattern = part.at("pattern");
  step.kind = NormalizerKind::replace;
  if (!pattern.at("String").null()) {
    step.pattern = pattern.at("String").text();
  } else {
    step.pattern = pattern.at("Regex").text();
    if (step.pattern == " {2,}") {
      step.kind = NormalizerKind::replace_spaces;
      step.pattern.clear();
    } else if (step.pattern.view().find_first_of("\\^$.|?*+()[]{}") != std::string::npos) {
      pattern.fail_here("(", quote(step.pattern), ") is a regular expression that is not supported: plain texts and ",
                        quote(" {2,}"), " are");
    }
  }
  size_t characters = 0;
  for (char byte : step.pattern) characters += !is_continuation(byte);
  if (characters == 0 && step.kind == NormalizerKind::replace) {
    pattern.fail_here("is empty; a pattern that matches between all characters is not supported");
  }
  if (characters > max_pattern_characters) {
    pattern.fail_here("has ", characters, " characters; at most ", max_pattern_characters, " are supported");
  }
  tokenizer->description.rules.steps.push_back(std::move(step));
}

void read_step(const JsonPart& part, int depth, OwnedTokenizer* tokenizer) {
  if (part.null()) return;
  if (depth > 8) part.fail_here("is nested more than 8 deep: put its steps into one Sequence");
  auto& steps = tokenizer->description.rules.steps;
  if (steps.size() >= 32) part.fail_here("is the 33rd step; at most 32 are supported");
  static const std::unordered_map<std::string, NormalizerKind> plain = {
      {"NFC", NormalizerKind::nfc},
      {"NFD", NormalizerKind::nfd},
      {"NFKC", NormalizerKind::nfkc},
      {"NFKD", NormalizerKind::nfkd},
      {"Nmt", NormalizerKind::nmt},
      {"Lowercase", NormalizerKind::lowercase},
      {"StripAccents", NormalizerKind::strip_accents}};
  for (const char* name : {"content", "prepend"}) {
    const JsonPart text = part.at(name);
    if (!text.null() && text.text().size() > max_replacement_bytes) {
      text.fail_here("has ", text.text().size(), " bytes; at most ", max_replacement_bytes, " are supported");
    }
  }
  const std::string type = part.type();
  if (type == "Sequence") {
    const JsonPart parts = part.at("normalizers");
    parts.need_array();
    for (size_t i = 0; i < parts.size(); ++i) read_step(parts.at(i), depth + 1, tokenizer);
  } else if (const auto found = plain.find(type); found != plain.end()) {
    steps.push_back({found->second, {}, {}});
  } else if (type == "Precompiled") {
    const JsonPart map = part.at("precompiled_charsmap");
    if (map.null()) return;
    auto bytes = decode_base64(map);
    if (bytes.empty()) return;
    if (!tokenizer->charsmap.empty() && tokenizer->charsmap != bytes) {
      map.fail_here("differs from that of an earlier step: only one charsmap is supported");
    }
    if (const Status status = Charsmap().create(bytes); !status.ok())
      map.fail_here("can't be used: ", status.message());
    tokenizer->charsmap = std::move(bytes);
    steps.push_back({NormalizerKind::charsmap, {}, {}});
  } else if (type == "Strip") {
    if (part.at("strip_left").boolean(true)) steps.push_back({NormalizerKind::strip_left, {}, {}});
    if (part.at("strip_right").boolean(true)) steps.push_back({NormalizerKind::strip_right, {}, {}});
  } else if (type == "Replace") {
    add_pattern(part, {NormalizerKind::replace, {}, part.at("content").text()}, tokenizer);
  } else if (type == "Prepend") {
    const JsonPart text = part.at("prepend");
    if (text.text().empty()) text.fail_here("is empty, for which tokenizers reports wrong offsets: remove this step");
    steps.push_back({NormalizerKind::prepend, {}, text.text()});
  } else {
    part.fail_here("(", quote(type),
                   ") is not supported before Unigram or BPE: Precompiled, NFC, NFD, NFKC, NFKD, Nmt, ",
                   "Lowercase, StripAccents, Strip, Replace and Prepend are");
  }
}

}  // namespace

void read_normalizer(const JsonPart& part, OwnedTokenizer* tokenizer) { read_step(part, 0, tokenizer); }

}  // namespace linformer::convert
