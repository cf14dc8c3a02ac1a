// Reads the Unigram model of tokenizer.json, with its normalizer and pre-tokenizer.
#include <charconv>
#include <cmath>

#include "base/description.h"
#include "converter/readers/error.h"
#include "converter/readers/text_map.h"
#include "converter/tokenizers/unigram_files.h"

namespace linformer::convert {
namespace {

// Returns the power of ten as a correctly rounded double, like a literal in source code.
double power_of_ten(int exponent) {
  const std::string text = "1e" + std::to_string(exponent);
  double power = 0;
  std::from_chars(text.data(), text.data() + text.size(), power);
  return power;
}

// Returns the score that the reader of Hugging Face's tokenizers would return. That reader scales the decimal digits by
// a power of ten, so that the last bit of some numbers is wrong. That bit must be reproduced, because it decides
// between splits of a text whose scores have nearly the same sum.
double as_reference_reads(double score) {
  char text[40];
  const auto [end, error] = std::to_chars(text, text + sizeof text, score, std::chars_format::scientific);
  (void)error;          // The buffer is long enough for every double.
  uint64_t digits = 0;  // Has at most 17 decimal digits.
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
  read_normalizer(root.at("normalizer"), tokenizer);
  if (read_pre_tokenizer(root.at("pre_tokenizer"), tokenizer) == PreTokenizerEnd::bytes) {
    root.at("pre_tokenizer").fail_here("has ByteLevel, which is not supported before Unigram");
  }
  description.rules.byte_fallback = model.at("byte_fallback").boolean(false);

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
