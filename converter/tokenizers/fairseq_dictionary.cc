// Reads dict.txt, in which fairseq renumbers GPT-2's tokens or the pieces of a SentencePiece model.
#include <charconv>
#include <unordered_map>

#include "base/description.h"
#include "converter/readers/error.h"
#include "converter/tokenizers/byte_bpe_files.h"
#include "converter/tokenizers/text_files.h"
#include "converter/tokenizers/unigram_files.h"

namespace linformer::convert {
namespace {

constexpr int32_t bos = 0, pad = 1, eos = 2, unk = 3, first_line = 4;

// Returns the word of a line "<word> <count>". Sets `overwrite` to whether the line ends with fairseq's overwrite mark.
std::string_view word_of_line(const std::string& path, size_t number, std::string_view line, bool* overwrite) {
  constexpr std::string_view overwrite_mark = " #fairseq:overwrite";
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
  *overwrite =
      line.size() > overwrite_mark.size() && line.substr(line.size() - overwrite_mark.size()) == overwrite_mark;
  if (*overwrite) line.remove_suffix(overwrite_mark.size());
  const size_t space = line.rfind(' ');
  int64_t count = 0;
  const std::string_view digits = space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (space == 0 || digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
    fail(path, " line ", number, " is not a word and its count");
  }
  return line.substr(0, space);
}

// Returns the GPT-2 id that `word` spells, or -1 if `word` is not a decimal number in its shortest form.
int64_t gpt2_id(std::string_view word) {
  int64_t id = -1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
  const bool canonical = word.size() == 1 || (word[0] != '0' && word[0] != '-');
  return error == std::errc() && end == word.data() + word.size() && canonical ? id : -1;
}

// Gives the tokens the ids of the dictionary's lines. token_of(word) returns the index of the token that a line names,
// or -1 if there is no such token.
template <class TokenOf>
void renumber(const std::string& path, TokenOf token_of, OwnedTokenizer* tokenizer) {
  const std::string text = read_text_file(path, &tokenizer->budget);
  const size_t tokens = tokenizer->token_offsets.size() - 1;
  std::vector<int32_t> ids(tokens, -1);
  ViewMap<int32_t> seen = {{"<s>", bos}, {"<pad>", pad}, {"</s>", eos}, {"<unk>", unk}};
  int32_t next = first_line;
  size_t mapped = 0, fillers = 0, number = 0;
  Lines lines(text);
  for (std::string_view line; lines.next(&line);) {
    ++number;
    bool overwrite = false;
    tokenizer->budget.charge_steps(1);
    const std::string_view word = word_of_line(path, number, line, &overwrite);
    if (const auto [entry, added] = seen.emplace(word, next); !added) {
      if (!overwrite) {
        fail(path, " line ", number, " names ", quote(word),
             entry->second < first_line ? ", which fairseq adds itself" : " a second time",
             ": remove the line, or end it with #fairseq:overwrite");
      }
      entry->second = next;
    }
    if (next >= static_cast<int32_t>(max_dimension)) fail(path, " has more than ", max_dimension, " lines");
    const int64_t token = token_of(word);
    if (token < 0) {
      ++fillers;
    } else {
      mapped += ids[static_cast<size_t>(token)] < 0;
      ids[static_cast<size_t>(token)] = next;
    }
    ++next;
  }
  if (mapped == 0) fail(path, " names none of the vocabulary's ", tokens, " ids: it belongs to another tokenizer");
  const auto mask = seen.find("<mask>");
  TokenizerDescription& description = tokenizer->description;
  description.unk = unk;
  description.bos = bos;
  description.eos = eos;
  description.pad = pad;
  description.mask = mask == seen.end() ? next : mask->second;
  description.added_tokens = {special_token("<mask>", description.mask, true)};
  set_templates(bos, eos, true, false, tokenizer);
  tokenizer->template_note =
      "fairseq's numbering: texts become <s> text </s>, pairs <s> a </s></s> b </s>, with ids 0 and 2";
  tokenizer->token_ids = std::move(ids);
  tokenizer->notes.push_back(
      "renumbered by " + path + ": " + std::to_string(mapped) + " of " + std::to_string(tokens) +
      " tokens have an id of the model, the others become <unk>; " + std::to_string(fillers) +
      " lines name no token; <mask> has id " + std::to_string(description.mask) +
      (mask == seen.end() ? ", appended as fairseq's masked LM and classification tasks do" : ""));
}

}  // namespace

void apply_fairseq_dictionary(const std::string& path, OwnedTokenizer* tokenizer) {
  // Maps each GPT-2 id to the index of its token.
  std::unordered_map<int64_t, int64_t> token_of;
  const auto tokens = static_cast<int64_t>(tokenizer->token_offsets.size()) - 1;
  for (int64_t token = 0; token < tokens; ++token) {
    token_of.emplace(tokenizer->token_ids.empty() ? token : tokenizer->token_ids[static_cast<size_t>(token)], token);
  }
  const auto find = [&](std::string_view word) {
    const auto found = token_of.find(gpt2_id(word));
    return found == token_of.end() ? int64_t{-1} : found->second;
  };
  renumber(path, find, tokenizer);
  tokenizer->description.trim_offsets = true;
}

void apply_fairseq_piece_dictionary(const std::string& path, OwnedTokenizer* tokenizer) {
  const auto& offsets = tokenizer->token_offsets;
  ViewMap<int64_t> token_of;
  for (size_t token = 0; token + 1 < offsets.size(); ++token) {
    token_of.emplace(
        std::string_view(tokenizer->token_bytes.data() + offsets[token], offsets[token + 1] - offsets[token]),
        static_cast<int64_t>(token));
  }
  const auto find = [&](std::string_view word) {
    const auto found = token_of.find(word);
    return found == token_of.end() ? int64_t{-1} : found->second;
  };
  renumber(path, find, tokenizer);
}

}  // namespace linformer::convert
