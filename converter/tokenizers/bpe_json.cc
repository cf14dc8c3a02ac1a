// Reads the BPE model of tokenizer.json, with its normalizer and pre-tokenizer.
#include "base/description.h"
#include "converter/readers/error.h"
#include "converter/tokenizers/byte_bpe_files.h"
#include "converter/tokenizers/tokenizer_json.h"

namespace linformer::convert {
namespace {

void refuse_nonempty(const JsonPart& part) {
  if (!part.null() && !part.text().empty()) part.fail_here("(", quote(part.text()), ") is not supported");
}

std::vector<NamedMerge> read_merges(const JsonPart& part, Budget* budget) {
  part.need_array();
  std::vector<NamedMerge> merges;
  merges.reserve(part.size());
  for (size_t i = 0; i < part.size(); ++i) {
    const nlohmann::json& json = part.json()[i];
    NamedMerge merge;
    const bool pair = json.is_array() && json.size() == 2 && json[0].is_string() && json[1].is_string();
    if (pair) {
      merge = {json[0].get<std::string>(), json[1].get<std::string>()};
    } else if (!json.is_string() || !split_merge(json.get_ref<const std::string&>(), &merge)) {
      part.at(i).fail_here("must be two tokens, as an array or with one space between");
    }
    budget->charge_memory(sizeof merge + merge.left.size() + merge.right.size());
    merges.push_back(std::move(merge));
  }
  return merges;
}

// Throws Error unless the vocabulary has a token for each byte. If it has tokens for some bytes only, the reference
// (Hugging Face's tokenizers) returns tokens in an order that differs from that of the text.
void check_fallback(const JsonPart& model, const NamedTokens& names) {
  size_t found = 0;
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", byte);
    found += names.find(name) >= 0;
  }
  if (found != 256) {
    model.at("byte_fallback")
        .fail_here("true needs the tokens <0x00> to <0xFF>, of which model.vocab has ", found,
                   ": add the others or set it to false");
  }
}

}  // namespace

void read_bpe(const std::string& file, const JsonPart& root, OwnedTokenizer* tokenizer) {
  const JsonPart model = root.at("model");
  TokenizerDescription& description = tokenizer->description;
  TokenizerRules& rules = description.rules;
  read_normalizer(root.at("normalizer"), tokenizer);
  const bool bytes = read_pre_tokenizer(root.at("pre_tokenizer"), tokenizer) == PreTokenizerEnd::bytes;
  refuse_nonempty(model.at("continuing_subword_prefix"));
  refuse_nonempty(model.at("end_of_word_suffix"));
  const JsonPart dropout = model.at("dropout");
  if (!dropout.null() && !(dropout.json().is_number() && dropout.json().get<double>() == 0)) {
    dropout.fail_here("is not supported: set it to null, so that a text has the same tokens each time");
  }
  rules.ignore_merges = model.at("ignore_merges").boolean(false);

  const NamedTokens names = read_names(file, model.at("vocab"), &tokenizer->budget);
  const auto merges = read_merges(model.at("merges"), &tokenizer->budget);
  store_bpe(names, merges, bytes, file + ": model.merges", tokenizer);
  description.pad = names.find("<pad>");
  description.mask = names.find("<mask>");
  const JsonPart unk = model.at("unk_token");
  const bool named_unk = !unk.null() && !unk.text().empty();
  if (named_unk) {
    description.unk = names.find(unk.text());
    if (description.unk < 0) unk.fail_here("(", quote(unk.text()), ") is not in the vocabulary");
  }
  const bool all_bytes = bytes && count_missing_bytes(*tokenizer) == 0;
  const bool fallback = model.at("byte_fallback").boolean(false), fuses = model.at("fuse_unk").boolean(false);
  if (!all_bytes && fallback) {
    if (bytes) {
      model.at("byte_fallback").fail_here("true is not supported behind ByteLevel for a vocabulary that lacks bytes");
    }
    check_fallback(model, names);
    rules.byte_fallback = true;
  }
  rules.fuse_unknown = !all_bytes && named_unk && fuses;
  // Without unk_token, the reference leaves out bytes that have no token. <unk> becomes the unknown token only if there
  // are no such bytes, so that no text gets <unk> instead.
  if (!named_unk && all_bytes) description.unk = names.find("<unk>");
}

}  // namespace linformer::convert
