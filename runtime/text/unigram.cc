#include "text/unigram.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/description.h"
#include "text/unicode.h"

namespace LINFORMER_NAMESPACE {
namespace {

constexpr uint32_t nowhere = UINT32_MAX;
constexpr double unknown_penalty = 10;
constexpr std::string_view unknown_text = " \xE2\x81\x87 ";  // SentencePiece decodes an unknown piece to this text.

std::string_view piece_bytes(const TokenizerDescription& description, size_t token) {
  const uint32_t begin = description.token_offsets[token];
  return {description.token_bytes.data() + begin, description.token_offsets[token + 1] - begin};
}

size_t character_bytes(std::string_view text, size_t at) {
  size_t end = at;
  next_code_point(text.data(), &end);
  return end - at;
}

}  // namespace

Status Unigram::create_scores(const TokenizerDescription& description) {
  const TokenizerRules& rules = description.rules;
  const size_t tokens = description.token_offsets.size() - 1;
  if (description.scores.size() != tokens || (!rules.exact_scores.empty() && rules.exact_scores.size() != tokens) ||
      (!uses_.empty() && uses_.size() != tokens)) {
    return Status::error(Code::corrupt_file,
                         "the unigram tokenizer has %zu tokens but %zu scores, %zu exact scores and %zu token uses",
                         tokens, description.scores.size(), rules.exact_scores.size(), uses_.size());
  }
  if (!scores_.try_resize_for_overwrite(tokens))
    return Status::error(Code::out_of_memory, "no memory for the tokenizer's scores");
  double smallest = sentencepiece_ ? double{std::numeric_limits<float>::max()} : HUGE_VAL;
  largest_score_ = std::numeric_limits<float>::min();
  for (size_t i = 0; i < tokens; ++i) {
    scores_[i] = rules.exact_scores.empty() ? double{description.scores[i]} : rules.exact_scores[i];
    if (!std::isfinite(scores_[i])) {
      return Status::error(Code::corrupt_file, "the unigram tokenizer's token %zu has no finite score", i);
    }
    if (!uses_.empty() && uses_[i] != static_cast<uint8_t>(TokenUse::normal)) continue;
    smallest = std::min(smallest, scores_[i]);
    largest_score_ = std::max(largest_score_, description.scores[i]);
  }
  unknown_score_ = sentencepiece_ ? double{static_cast<float>(smallest) - static_cast<float>(unknown_penalty)}
                                  : smallest - unknown_penalty;
  return {};
}

Status Unigram::create_special_flags(const TokenizerDescription& description) {
  if (!special_.try_assign(scores_.size(), 0)) {
    return Status::error(Code::out_of_memory, "no memory for the tokenizer's special tokens");
  }
  const auto model_id = [&](size_t token) {
    return description.token_ids.empty() ? static_cast<int32_t>(token) : description.token_ids[token];
  };
  Array<int32_t> ids;
  const int32_t named[] = {description.unk, description.bos, description.eos, description.pad, description.mask};
  bool complete = ids.try_append(named, std::size(named));
  for (const AddedToken& token : description.added_tokens)
    complete = complete && (!token.special || ids.try_push(token.id));
  if (!complete) return Status::error(Code::out_of_memory, "no memory for the tokenizer's special tokens");
  std::sort(ids.begin(), ids.end());
  for (size_t i = 0; i < special_.size(); ++i) {
    const int32_t id = model_id(i);
    special_[i] = id >= 0 && std::binary_search(ids.begin(), ids.end(), id);
    if (id >= 0 && id == unk_ && unk_token_ < 0) unk_token_ = static_cast<int32_t>(i);
  }
  return {};
}

Status Unigram::create(const TokenizerDescription& description) {
  const TokenizerRules& rules = description.rules;
  sentencepiece_ = rules.sentencepiece;
  split_words_ = rules.split_words;
  removes_extra_spaces_ = rules.remove_extra_spaces;
  prefix_mark_ = rules.prefix_mark;
  decoding_ = {rules.mark_spaces, rules.prefix_mark != PrefixMark::never, rules.byte_fallback};
  uses_ = rules.token_uses;
  unk_ = description.unk;
  byte_fallback_ = rules.byte_fallback;
  LINFORMER_TRY(create_scores(description));
  LINFORMER_TRY(create_special_flags(description));
  if (sentencepiece_) {
    LINFORMER_TRY(normalizer_.create(description));
  } else {
    LINFORMER_TRY(steps_.create(rules));
    LINFORMER_TRY(splitter_.create(rules));
  }
  std::fill(std::begin(byte_tokens_), std::end(byte_tokens_), -1);
  Array<TokenTrie::Entry> entries;
  if (!entries.try_reserve(scores_.size()))
    return Status::error(Code::out_of_memory, "no memory for the tokenizer's tokens");
  for (size_t token = 0; token < scores_.size(); ++token) {
    const std::string_view bytes = piece_bytes(description, token);
    if (const int byte = parse_byte_token(bytes); byte >= 0) byte_tokens_[byte] = static_cast<int32_t>(token);
    if (!uses_.empty() && uses_[token] == static_cast<uint8_t>(TokenUse::hidden)) continue;
    if (bytes.size() > max_unigram_token_bytes) {
      return Status::error(Code::unsupported,
                           "the unigram tokenizer's token %zu has %zu bytes; at most %zu are supported", token,
                           bytes.size(), max_unigram_token_bytes);
    }
    if (!entries.try_push({bytes, static_cast<int32_t>(token)})) {
      return Status::error(Code::out_of_memory, "no memory for the tokenizer's tokens");
    }
  }
  return trie_.create(&entries);
}

bool Unigram::normalize(std::string_view text, uint32_t position, NormalizedText* normalized) const {
  return sentencepiece_ ? normalizer_.normalize(text, position, normalized)
                        : steps_.normalize(text, position, normalized);
}

Piece Unigram::make_piece(int32_t token, const NormalizedText& text, size_t begin, size_t end) const {
  // In SentencePiece, a piece extends to the next piece. In Hugging Face's tokenizers, it ends after its last
  // character.
  const uint32_t last = sentencepiece_ ? text.origins[end] : text.origins[end - 1] + 1;
  return {token, text.origins[begin], last};
}

void Unigram::improve_best(size_t begin, size_t end, double score, int32_t token, UnigramWorkspace* workspace) const {
  UnigramWorkspace::Best& best = workspace->best[end];
  if (best.begin != nowhere && !(score > best.score)) return;
  best = {sentencepiece_ ? double{static_cast<float>(score)} : score, static_cast<uint32_t>(begin), token};
}

// Fills workspace->best by the Viterbi algorithm. The best split is read from it backwards.
bool Unigram::viterbi(std::string_view word, bool match_special, UnigramWorkspace* workspace) const {
  if (!workspace->best.try_assign(word.size() + 1, {0, nowhere, unknown_piece})) return false;
  for (size_t begin = 0; begin < word.size();) {
    const double before = workspace->best[begin].score;
    const size_t character = character_bytes(word, begin);
    bool known = false;
    uint32_t node = TokenTrie::root;
    size_t end = begin;
    while (end < word.size()) {
      node = trie_.child(node, static_cast<uint8_t>(word[end++]));
      if (node == TokenTrie::none) break;
      const int32_t token = trie_.token(node);
      if (token < 0 || (!match_special && special_[static_cast<size_t>(token)])) continue;
      double score = scores_[static_cast<size_t>(token)];
      if (!uses_.empty() && uses_[static_cast<size_t>(token)] == static_cast<uint8_t>(TokenUse::user_defined)) {
        score = double{static_cast<float>(end - begin) * largest_score_} - 0.1;  // So that it wins over other tokens.
      }
      improve_best(begin, end, score + before, token, workspace);
      known = known || end - begin == character;
    }
    workspace->steps += end - begin;
    if (!known) {
      const double score = sentencepiece_ ? double{static_cast<float>(unknown_score_) + static_cast<float>(before)}
                                          : unknown_score_ + before;
      improve_best(begin, begin + character, score, unknown_piece, workspace);
    }
    begin += character;
  }
  return true;
}

bool Unigram::append_unknown(const NormalizedText& text, size_t begin, size_t end, Pieces* pieces) const {
  const std::string_view bytes = text.view().substr(begin, end - begin);
  bool has_bytes = byte_fallback_;
  for (char byte : bytes) has_bytes = has_bytes && byte_tokens_[static_cast<uint8_t>(byte)] >= 0;
  if (has_bytes) {
    for (char byte : bytes) {
      if (!pieces->pieces.try_push(make_piece(byte_tokens_[static_cast<uint8_t>(byte)], text, begin, end)))
        return false;
    }
    return true;
  }
  if (unk_ < 0) return true;
  // The piece's name is the text that it covers, as for an added token.
  const size_t match = pieces->matches.size();
  const AddedMatch unknown = {unk_, static_cast<uint32_t>(pieces->names.size()),
                              static_cast<uint32_t>(pieces->names.size() + bytes.size())};
  return pieces->names.try_append(bytes.data(), bytes.size()) && pieces->matches.try_push(unknown) &&
         pieces->pieces.try_push(make_piece(~static_cast<int32_t>(match), text, begin, end));
}

// Appends the parts in workspace->parts, which are ordered from the last to the first, as pieces in the order of the
// text. Adjacent unknown parts become one piece.
bool Unigram::append_parts(const NormalizedText& text, size_t word, UnigramWorkspace* workspace, Pieces* pieces) const {
  auto& parts = workspace->parts;
  for (size_t left = parts.size(); left > 0;) {
    UnigramWorkspace::Part part = parts[--left];
    bool unknown = is_unknown(part.token);
    // SentencePiece converts each unknown character to bytes separately.
    const bool joins = unknown && !(sentencepiece_ && byte_fallback_);
    while (joins && left > 0 && is_unknown(parts[left - 1].token)) part.end = parts[--left].end;
    const size_t begin = word + part.begin, end = word + part.end;
    if (unknown && !sentencepiece_) {
      // Hugging Face looks up the joined characters once more, so that "<unk>" in a text becomes the token <unk>.
      part.token = trie_.find(text.view().substr(begin, end - begin));
      unknown = part.token < 0;
    }
    if (!(unknown ? append_unknown(text, begin, end, pieces)
                  : pieces->pieces.try_push(make_piece(part.token, text, begin, end)))) {
      return false;
    }
  }
  return true;
}

bool Unigram::tokenize_word(const NormalizedText& text, size_t begin, size_t end, bool match_special,
                            UnigramWorkspace* workspace, Pieces* pieces) const {
  if (!pieces->start_word()) return false;
  if (!viterbi(text.view().substr(begin, end - begin), match_special, workspace)) return false;
  workspace->parts.clear();
  for (auto at = static_cast<uint32_t>(end - begin); at > 0;) {
    const UnigramWorkspace::Best& best = workspace->best[at];
    if (!workspace->parts.try_push({best.begin, at, best.token})) return false;
    at = best.begin;
  }
  return append_parts(text, begin, workspace, pieces);
}

bool Unigram::tokenize(size_t begin, size_t end, bool match_special, UnigramWorkspace* workspace,
                       Pieces* pieces) const {
  const NormalizedText& text = workspace->normalized;
  if (sentencepiece_) return begin == end || tokenize_word(text, begin, end, match_special, workspace, pieces);
  const auto tokenize_part = [&](size_t first, size_t last) {
    const NormalizedText* marked = &text;
    if (decoding_.marks) {
      if (!mark_spaces(text.view().substr(first, last - first), text.origins.data() + first, prefix_mark_,
                       &workspace->marked)) {
        return false;
      }
      marked = &workspace->marked;
      first = 0;
      last = marked->bytes.size();
    }
    while (split_words_ && first < last) {
      const size_t next = std::min(marked->view().find(space_mark, first + 1), last);
      if (next == last) break;
      if (!tokenize_word(*marked, first, next, match_special, workspace, pieces)) return false;
      first = next;
    }
    return first == last || tokenize_word(*marked, first, last, match_special, workspace, pieces);
  };
  return splitter_.split(text.view(), begin, end, tokenize_part);
}

bool Unigram::append_decoded(std::string_view name, bool first, bool is_unknown_token, Array<char>* text) const {
  if (!sentencepiece_) return decoding_.append_decoded(name, first, text);
  if (is_unknown_token) return text->try_append(unknown_text.data(), unknown_text.size());
  const bool drops_mark = first && (prefix_mark_ != PrefixMark::never || removes_extra_spaces_);
  if (drops_mark && !decoding_.is_byte_token(name) && name.starts_with(space_mark))
    name.remove_prefix(space_mark.size());
  return decoding_.append_decoded(name, false, text);
}

}  // namespace LINFORMER_NAMESPACE
