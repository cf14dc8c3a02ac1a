// The Unigram model of tokenizer.json and what stands around it.
#include <array>
#include <charconv>
#include <cmath>
#include <unordered_map>

#include "base/description.h"
#include "converter/readers/error.h"
#include "converter/readers/text_map.h"
#include "converter/tokenizers/unigram_files.h"
#include "text/normalizer_steps.h"
#include "text/sentencepiece_normalizer.h"
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

// A regular expression that is a plain text, or runs of spaces; all others are refused.
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
  tokenizer->description.unigram.steps.push_back(std::move(step));
}

void read_normalizer(const JsonPart& part, int depth, OwnedTokenizer* tokenizer) {
  if (part.null()) return;
  if (depth > 8) part.fail_here("is nested too deeply");
  auto& steps = tokenizer->description.unigram.steps;
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
    for (size_t i = 0; i < parts.size(); ++i) read_normalizer(parts.at(i), depth + 1, tokenizer);
  } else if (const auto found = plain.find(type); found != plain.end()) {
    steps.push_back({found->second, {}, {}});
  } else if (type == "Precompiled") {
    const JsonPart map = part.at("precompiled_charsmap");
    if (map.null()) return;
    auto bytes = decode_base64(map);
    if (bytes.empty()) return;
    if (!tokenizer->charsmap.empty() && tokenizer->charsmap != bytes) {
      map.fail_here("is the second one, and another: one is supported");
    }
    if (const Status status = Charsmap().create(bytes); !status.ok()) map.fail_here("is damaged: ", status.message());
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

void read_normal_forms(const JsonPart& normalizer, OwnedTokenizer* tokenizer) {
  read_normalizer(normalizer, 0, tokenizer);
  for (const NormalizerStep& step : tokenizer->description.unigram.steps) {
    if (step.kind >= NormalizerKind::nfc && step.kind <= NormalizerKind::nfkd) continue;
    normalizer.fail_here("(", normalizer.type(),
                         ") is not supported before byte-level BPE: NFC, NFD, NFKC and NFKD are");
  }
}

namespace {

void read_metaspace(const JsonPart& part, UnigramDescription* unigram) {
  if (part.at("replacement").text() != space_mark) part.at("replacement").fail_here("must be U+2581");
  unigram->mark_spaces = true;
  unigram->split_words = part.at("split").boolean(true);
  const bool prefixed = part.at("add_prefix_space").boolean(true);
  const JsonPart scheme = part.at("prepend_scheme");
  const std::string name = scheme.null() ? (prefixed ? "always" : "never") : scheme.text();
  if (!prefixed && name != "never")
    scheme.fail_here("(", quote(name), ") contradicts add_prefix_space, which is false");
  if (name == "always") {
    unigram->prefix_mark = PrefixMark::always;
  } else if (name == "first") {
    unigram->prefix_mark = PrefixMark::first;
  } else if (name == "never") {
    unigram->prefix_mark = PrefixMark::never;
  } else {
    scheme.fail_here("(", quote(name), ") must be always, first or never");
  }
}

void read_pre_tokenizer(const JsonPart& part, int depth, UnigramDescription* unigram) {
  if (part.null()) return;
  if (depth > 8) part.fail_here("is nested too deeply");
  const std::string type = part.type();
  if (type == "Sequence") {
    const JsonPart parts = part.at("pretokenizers");
    parts.need_array();
    for (size_t i = 0; i < parts.size(); ++i) read_pre_tokenizer(parts.at(i), depth + 1, unigram);
  } else if (type == "WhitespaceSplit" && !unigram->mark_spaces) {
    unigram->split_white_space = true;
  } else if (type == "Metaspace" && !unigram->mark_spaces) {
    read_metaspace(part, unigram);
  } else {
    part.fail_here("(", quote(type), ") is not supported before Unigram: WhitespaceSplit, then Metaspace are");
  }
}

// Correctly rounded, as a literal is.
double power_of_ten(int exponent) {
  const std::string text = "1e" + std::to_string(exponent);
  double power = 0;
  std::from_chars(text.data(), text.data() + text.size(), power);
  return power;
}

// The score as Hugging Face's reader has it, which scales the decimal digits by a power of ten and is then off by the
// last bit for some numbers. Of splits that add up to nearly the same, that bit decides.
double as_reference_reads(double score) {
  char text[40];
  const auto [end, error] = std::to_chars(text, text + sizeof text, score, std::chars_format::scientific);
  (void)error;          // the buffer is larger than any double
  uint64_t digits = 0;  // at most 17
  int exponent = 0;
  bool fraction = false;
  for (const char* at = text; at != end; ++at) {
    if (*at == '.') fraction = true;
    if (*at == 'e') {
      int written = 0;
      std::from_chars(at[1] == '+' ? at + 2 : at + 1, end, written);
      exponent += written;
      break;
    }
    if (*at < '0' || *at > '9') continue;
    digits = digits * 10 + static_cast<uint64_t>(*at - '0');
    exponent -= fraction;
  }
  double value = static_cast<double>(digits);
  for (; exponent < -308; exponent += 308) value /= 1e308;
  const double power = power_of_ten(exponent < 0 ? -exponent : exponent);
  value = exponent < 0 ? value / power : value * power;
  return std::signbit(score) ? -value : value;
}

std::vector<ScoredPiece> read_pieces(const JsonPart& vocabulary, Budget* budget) {
  vocabulary.need_array();
  if (vocabulary.size() == 0 || vocabulary.size() >= max_dimension) {
    vocabulary.fail_here("has ", vocabulary.size(), " tokens; 1 to ", max_dimension - 1, " are possible");
  }
  std::vector<ScoredPiece> pieces;
  pieces.reserve(vocabulary.size());
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    const nlohmann::json& json = vocabulary.json()[i];
    if (!json.is_array() || json.size() != 2 || !json[0].is_string() || !json[1].is_number()) {
      vocabulary.at(i).fail_here("must be a token and its score");
    }
    const double score = json[1].get<double>();
    if (!std::isfinite(score) || std::fabs(score) > 1e30) vocabulary.at(i).fail_here("has a score beyond all bounds");
    budget->charge_memory(2 * sizeof(ScoredPiece) + json[0].get_ref<const std::string&>().size());
    pieces.push_back({json[0].get<std::string>(), as_reference_reads(score)});
  }
  return pieces;
}

}  // namespace

void store_pieces(const std::vector<ScoredPiece>& pieces, OwnedTokenizer* tokenizer) {
  bool exact = true;
  tokenizer->token_offsets.assign(1, 0);
  for (const ScoredPiece& piece : pieces) {
    tokenizer->token_bytes.insert(tokenizer->token_bytes.end(), piece.name.begin(), piece.name.end());
    tokenizer->token_offsets.push_back(static_cast<uint32_t>(tokenizer->token_bytes.size()));
    tokenizer->scores.push_back(static_cast<float>(piece.score));
    exact = exact && double{tokenizer->scores.back()} == piece.score;
  }
  if (exact) return;
  for (const ScoredPiece& piece : pieces) tokenizer->exact_scores.push_back(piece.score);
}

void read_unigram(const std::string& file, const JsonPart& root, OwnedTokenizer* tokenizer) {
  const JsonPart model = root.at("model");
  TokenizerDescription& description = tokenizer->description;
  description.kind = TokenizerKind::unigram;
  read_normalizer(root.at("normalizer"), 0, tokenizer);
  read_pre_tokenizer(root.at("pre_tokenizer"), 0, &description.unigram);
  description.unigram.byte_fallback = model.at("byte_fallback").boolean(false);

  const auto pieces = read_pieces(model.at("vocab"), &tokenizer->budget);
  store_pieces(pieces, tokenizer);
  ViewMap<int32_t> ids;
  for (size_t i = 0; i < pieces.size(); ++i) ids[pieces[i].name] = static_cast<int32_t>(i);
  if (const JsonPart unk = model.at("unk_id"); !unk.null()) {
    description.unk = unk.id();
    if (static_cast<size_t>(description.unk) >= pieces.size()) {
      unk.fail_here("is ", description.unk, ", the vocabulary has ", pieces.size(), " tokens");
    }
  } else {
    tokenizer->notes.push_back(file + ": there is no unknown token; characters that no token covers are left out");
  }
  const auto find = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (const auto found = ids.find(name); found != ids.end()) return found->second;
    }
    return -1;
  };
  description.bos = find({"<s>", "[CLS]"});
  description.eos = find({"</s>", "[SEP]"});
  description.pad = find({"<pad>", "[PAD]"});
  description.mask = find({"<mask>", "[MASK]"});
  if (const JsonPart added = root.at("added_tokens"); !added.null()) {
    added.need_array();
    for (size_t i = 0; i < added.size(); ++i) {
      const std::string content = added.at(i).at("content").text();
      if (description.mask < 0 && (content == "<mask>" || content == "[MASK]")) {
        description.mask = added.at(i).at("id").id();
      }
    }
  }
  const JsonPart decoder = root.at("decoder");
  if (decoder.null() || decoder.type() != "Metaspace") {
    tokenizer->notes.push_back(file + ": the decoder is read as Metaspace, which turns U+2581 into spaces");
  }
}

}  // namespace linformer::convert
