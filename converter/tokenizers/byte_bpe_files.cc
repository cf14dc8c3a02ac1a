#include "converter/tokenizers/byte_bpe_files.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/description.h"
#include "converter/readers/error.h"
#include "converter/readers/found_file.h"
#include "converter/tokenizers/text_files.h"
#include "text/byte_level.h"
#include "text/unicode.h"

namespace linformer::convert {
namespace {

// Returns a table that maps each code point of GPT-2's printable alphabet to its byte, and other code points to -1.
std::array<int, 0x200> make_bytes_of_printable() {
  std::array<int, 0x200> bytes;
  bytes.fill(-1);
  for (int byte = 0; byte < 256; ++byte) bytes[printable_code_point(static_cast<uint8_t>(byte))] = byte;
  return bytes;
}

// Sets `bytes` to the bytes that `name` stands for. Returns false if `name` has a character outside the printable
// alphabet.
bool bytes_of_name(const std::string& name, std::string* bytes) {
  static const std::array<int, 0x200> bytes_of_printable = make_bytes_of_printable();
  bytes->clear();
  for (size_t at = 0; at < name.size();) {
    const uint32_t code_point = next_code_point(name.data(), &at);
    if (code_point >= bytes_of_printable.size() || bytes_of_printable[code_point] < 0) return false;
    bytes->push_back(static_cast<char>(bytes_of_printable[code_point]));
  }
  return true;
}

}  // namespace

NamedTokens read_vocabulary(const std::string& path, Budget* budget) {
  const nlohmann::json json = read_json_file(path, budget);
  if (!json.is_object()) fail(path, " is not a JSON object of tokens and ids");
  NamedTokens names;
  for (const auto& [name, id] : json.items()) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() >= max_dimension) {
      fail(path, " gives token ", quote(name), " an id that is not a number from 0 to ", max_dimension - 1);
    }
    names.add(name, static_cast<int32_t>(id.get<uint64_t>()), budget);
  }
  sort_names_by_id(path, &names);
  return names;
}

bool split_merge(std::string_view line, NamedMerge* merge) {
  const size_t space = line.find(' ');
  if (space == 0 || space == std::string_view::npos || space + 1 == line.size() ||
      line.find(' ', space + 1) != std::string_view::npos) {
    return false;
  }
  merge->left = line.substr(0, space);
  merge->right = line.substr(space + 1);
  return true;
}

std::vector<NamedMerge> read_merges(const std::string& path, Budget* budget) {
  const std::string text = read_text_file(path, budget);
  std::vector<NamedMerge> merges;
  size_t number = 0;
  Lines lines(text);
  for (std::string_view line; lines.next(&line);) {
    ++number;
    if (line.empty() || line.substr(0, 8) == "#version") continue;
    NamedMerge merge;
    if (!split_merge(line, &merge)) fail(path, " line ", number, " is not two tokens with one space between");
    if (!valid_utf8(line)) fail(path, " line ", number, " is not valid UTF-8");
    budget->charge_memory(sizeof merge + line.size());
    merges.push_back(std::move(merge));
  }
  return merges;
}

void store_bpe(const NamedTokens& names, const std::vector<NamedMerge>& merges, bool byte_level,
               const std::string& where, OwnedTokenizer* tokenizer) {
  tokenizer->description.kind = byte_level ? TokenizerKind::byte_bpe : TokenizerKind::bpe;
  std::vector<std::string> tokens;
  std::vector<uint8_t> uses;
  ViewMap<uint32_t> token_of;  // Maps a name of the vocabulary to the index of its token.
  std::string bytes;
  for (const auto& [id, name] : names.by_id) {
    token_of.emplace(name, static_cast<uint32_t>(tokens.size()));
    const bool in_alphabet = byte_level && bytes_of_name(name, &bytes);
    uses.push_back(static_cast<uint8_t>(in_alphabet || !byte_level ? TokenUse::normal : TokenUse::hidden));
    if (!byte_level) {
      tokens.push_back(name);
    } else if (in_alphabet) {
      tokens.push_back(bytes);
    } else {
      // The name is not in the printable alphabet, so this is an added token that stands for its own characters. If the
      // name is one byte long, the token stays empty, because it would count as the token of that byte.
      tokens.push_back(name.size() == 1 ? std::string() : name);
    }
  }
  store_tokens(names, tokens, tokenizer);
  // The runtime looks up whole words among the tokens only if ignore_merges is set. Hidden tokens must not be found
  // then, so token_uses is stored only in that case.
  const bool looked_up = tokenizer->description.rules.ignore_merges;
  if (looked_up && std::count(uses.begin(), uses.end(), static_cast<uint8_t>(TokenUse::hidden)) != 0) {
    tokenizer->token_uses = std::move(uses);
  }
  tokenizer->merges.reserve(3 * merges.size());
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const NamedMerge& merge = merges[rank];
    const std::string joined = merge.left + merge.right;
    for (const std::string_view name :
         {std::string_view(merge.left), std::string_view(merge.right), std::string_view(joined)}) {
      const auto token = token_of.find(name);
      if (token == token_of.end()) {
        fail(where, " joins ", quote(merge.left), " and ", quote(merge.right), " (merge ", rank,
             ", counted from 0), but token ", quote(name),
             " is not in the vocabulary: the two belong to different tokenizers");
      }
      tokenizer->merges.push_back(token->second);
    }
  }
}

size_t count_missing_bytes(const OwnedTokenizer& tokenizer) {
  std::array<bool, 256> present = {};
  for (size_t i = 0; i + 1 < tokenizer.token_offsets.size(); ++i) {
    if (tokenizer.token_offsets[i + 1] - tokenizer.token_offsets[i] != 1) continue;
    present[static_cast<uint8_t>(tokenizer.token_bytes[tokenizer.token_offsets[i]])] = true;
  }
  size_t missing = 0;
  for (bool has_token : present) missing += !has_token;
  return missing;
}

OwnedTokenizer load_byte_bpe(const std::string& vocabulary, const std::string& merges) {
  OwnedTokenizer tokenizer;
  const NamedTokens names = read_vocabulary(vocabulary, &tokenizer.budget);
  store_bpe(names, read_merges(merges, &tokenizer.budget), true, merges, &tokenizer);
  tokenizer.notes.push_back("byte-level BPE from " + vocabulary + " and " + merges + ": " +
                            std::to_string(names.by_id.size()) + " tokens, " +
                            std::to_string(tokenizer.merges.size() / 3) + " merges");
  TokenizerDescription& description = tokenizer.description;
  description.unk = names.find("<unk>");
  description.bos = names.find("<s>");
  description.eos = names.find("</s>");
  description.pad = names.find("<pad>");
  description.mask = names.find("<mask>");
  if (description.bos >= 0 && description.eos >= 0) {
    set_templates(description.bos, description.eos, true, false, &tokenizer);
    description.trim_offsets = true;
    tokenizer.template_note =
        "<s> and </s> are among the tokens: texts become <s> text </s>, pairs <s> a </s></s> b </s>";
  } else {
    tokenizer.template_note = "<s> and </s> are not among the tokens: nothing is put around texts";
  }
  if (description.mask >= 0) {
    description.added_tokens.push_back(special_token("<mask>", description.mask, true));
    tokenizer.notes.push_back("<mask> is recognised inside texts; other special tokens there are plain characters");
  }
  const std::string config = (std::filesystem::path(vocabulary).parent_path() / "tokenizer_config.json").string();
  if (finds_file(config)) {
    tokenizer.files.push_back(config);
    const nlohmann::json json = read_json_file(config, &tokenizer.budget);
    if (json.is_object() && json.contains("add_prefix_space") && json["add_prefix_space"].is_boolean()) {
      description.add_prefix_space = json["add_prefix_space"].get<bool>();
      tokenizer.notes.push_back(config + ": add_prefix_space is " + (description.add_prefix_space ? "true" : "false"));
    }
  }
  return tokenizer;
}

}  // namespace linformer::convert
