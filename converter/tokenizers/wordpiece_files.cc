#include "converter/tokenizers/wordpiece_files.h"

#include <filesystem>

#include "base/description.h"
#include "converter/readers/error.h"
#include "converter/readers/found_file.h"
#include "converter/tokenizers/text_files.h"
#include "text/unicode.h"

namespace linformer::convert {
namespace {

bool has_capital(std::string_view token) {
  // Special tokens such as [CLS] and [unused1] do not count.
  if (token.size() > 2 && token.front() == '[' && token.back() == ']') return false;
  for (size_t at = 0; at < token.size();) {
    const uint32_t code_point = next_code_point(token.data(), &at);
    if (lower_case(code_point) != code_point) return true;
  }
  return false;
}

std::optional<bool> boolean(const nlohmann::json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_boolean()) return std::nullopt;
  return found->get<bool>();
}

// The settings of tokenizer_config.json beside the vocabulary, or the defaults if there is no such file.
struct Config {
  std::string path;  // Empty if there is no file.
  std::optional<bool> lowercase, strip_accents, split_cjk;
  bool mpnet = false;
  std::string cls = "[CLS]", sep = "[SEP]", pad = "[PAD]", unk = "[UNK]", mask = "[MASK]";
};

// Sets `token` to the member `name`, which is a text or an object with the text as its "content". Leaves `token`
// unchanged if there is no such member.
void read_name(const nlohmann::json& json, const char* name, std::string* token) {
  auto found = json.find(name);
  if (found == json.end()) return;
  if (found->is_object()) {
    const auto content = found->find("content");
    if (content == found->end()) return;
    found = content;
  }
  if (found->is_string()) *token = found->get<std::string>();
}

Config read_config(const std::string& vocabulary, Budget* budget) {
  Config config;
  const auto path = std::filesystem::path(vocabulary).parent_path() / "tokenizer_config.json";
  if (!finds_file(path)) return config;
  config.path = path.string();
  const nlohmann::json json = read_json_file(config.path, budget);
  if (!json.is_object()) fail(config.path, " is not a JSON object");
  config.lowercase = boolean(json, "do_lower_case");
  config.strip_accents = boolean(json, "strip_accents");
  config.split_cjk = boolean(json, "tokenize_chinese_chars");
  std::string tokenizer_class;
  read_name(json, "tokenizer_class", &tokenizer_class);
  // MPNetTokenizer of transformers has RoBERTa's special tokens and RoBERTa's template.
  config.mpnet = tokenizer_class.starts_with("MPNetTokenizer");
  if (config.mpnet) {
    config.cls = "<s>", config.sep = "</s>", config.pad = "<pad>", config.mask = "<mask>";
  }
  read_name(json, "cls_token", &config.cls);
  read_name(json, "sep_token", &config.sep);
  read_name(json, "pad_token", &config.pad);
  read_name(json, "unk_token", &config.unk);
  read_name(json, "mask_token", &config.mask);
  return config;
}

}  // namespace

void store_wordpiece(const NamedTokens& names, OwnedTokenizer* tokenizer) {
  std::vector<std::string> bytes;
  for (const auto& [id, name] : names.by_id) bytes.push_back(name);
  store_tokens(names, bytes, tokenizer);
  TokenizerDescription& description = tokenizer->description;
  description.kind = TokenizerKind::wordpiece;
  description.bos = names.find("[CLS]");
  description.eos = names.find("[SEP]");
  description.pad = names.find("[PAD]");
  description.mask = names.find("[MASK]");
  description.continuing_prefix = "##";
}

OwnedTokenizer load_wordpiece(const std::string& vocabulary, std::optional<bool> lowercase) {
  OwnedTokenizer tokenizer;
  const std::string text = read_text_file(vocabulary, &tokenizer.budget);
  NamedTokens names;
  int32_t id = 0;
  size_t repeated = 0;
  bool capitals = false;
  Lines lines(text);
  for (std::string_view line; lines.next(&line);) {
    if (id >= static_cast<int32_t>(max_dimension)) fail(vocabulary, " has more than ", max_dimension, " lines");
    if (!valid_utf8(line)) fail(vocabulary, " line ", id + 1, " is not valid UTF-8");
    capitals = capitals || has_capital(line);
    repeated += !names.add(line, id++, &tokenizer.budget);  // If a token is repeated, its last line counts.
  }
  sort_names_by_id(vocabulary, &names);

  store_wordpiece(names, &tokenizer);
  TokenizerDescription& description = tokenizer.description;
  tokenizer.notes.push_back("WordPiece from " + vocabulary + ": " + std::to_string(names.by_id.size()) + " tokens");
  if (repeated > 0) {
    tokenizer.notes.push_back(vocabulary + " lists " + std::to_string(repeated) +
                              " tokens more than once; the last line counts");
  }
  const Config config = read_config(vocabulary, &tokenizer.budget);
  for (const std::string& required : {config.unk, config.cls, config.sep}) {
    if (names.find(required) >= 0) continue;
    fail(vocabulary, " has no token ", required, ", which ",
         config.path.empty() ? "a BERT vocabulary needs" : config.path + " names");
  }
  description.bos = names.find(config.cls);
  description.eos = names.find(config.sep);
  description.pad = names.find(config.pad);
  description.unk = names.find(config.unk);
  description.mask = names.find(config.mask);
  set_templates(description.bos, description.eos, config.mpnet, !config.mpnet, &tokenizer);
  for (const std::string& special : {config.pad, config.unk, config.cls, config.sep, config.mask}) {
    if (names.find(special) < 0) continue;
    const bool strips = config.mpnet && special == config.mask;
    description.added_tokens.push_back(special_token(special, names.find(special), strips));
  }
  if (!config.path.empty()) tokenizer.files.push_back(config.path);
  std::string reason;
  if (lowercase) {
    description.lowercase = *lowercase;
    reason = "as asked";
  } else if (config.lowercase) {
    description.lowercase = *config.lowercase;
    reason = "as " + config.path + " says";
  } else {
    description.lowercase = !capitals;
    reason = capitals ? "because the vocabulary has capital letters" : "because the vocabulary has no capital letters";
  }
  tokenizer.notes.push_back(std::string(description.lowercase ? "texts are lowercased, " : "texts keep their case, ") +
                            reason);
  description.strip_accents = config.strip_accents.value_or(description.lowercase);
  description.split_cjk = config.split_cjk.value_or(true);
  description.clean_text = true;
  return tokenizer;
}

}  // namespace linformer::convert
