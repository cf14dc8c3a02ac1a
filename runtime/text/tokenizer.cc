#include "linformer/tokenizer.h"

#include <algorithm>
#include <atomic>
#include <new>

#include "base/description.h"
#include "text/encoding.h"
#include "text/tokenizer_factory.h"
#include "text/tokenizer_state.h"
#include "text/truncation.h"
#include "text/unicode.h"

namespace LINFORMER_NAMESPACE {
namespace {

Status no_memory(const char* what) {
  return Status::error(Code::out_of_memory, "no memory for the tokenizer's %s", what);
}

Status no_memory_for_text(std::string_view text) {
  return Status::error(Code::out_of_memory, "no memory to tokenize a text of %zu bytes", text.size());
}

// Returns a new number for a tokenizer. Word caches use it to identify the tokenizer, because an Encoding, which has
// the caches, may outlive the tokenizer.
uint64_t new_tokenizer_id() {
  static std::atomic<uint64_t> owners{0};
  return owners.fetch_add(1, std::memory_order_relaxed) + 1;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char byte) { return static_cast<uint8_t>(byte) < 0x80; });
}

bool push_match(const AddedTokens::Token& token, std::string_view name, uint32_t begin, uint32_t end, Pieces* pieces) {
  const size_t match = pieces->matches.size();
  const AddedMatch added = {token.id, static_cast<uint32_t>(pieces->names.size()),
                            static_cast<uint32_t>(pieces->names.size() + name.size())};
  return pieces->start_word() && pieces->names.try_append(name.data(), name.size()) &&
         pieces->matches.try_push(added) && pieces->pieces.try_push({~static_cast<int32_t>(match), begin, end});
}

// Calls plain(begin, end) for each part of `text` without added tokens, and matched(match, repeated) for each added
// token, in order. Returns false as soon as a call returns false. A token with strip_right also takes the white space
// after it. If that white space is itself an added token, both match: `repeated` is the number of bytes that the second
// match shares with the first.
template <class Plain, class Matched>
bool split_by(const AddedTokens& tokens, std::string_view text, bool match_special, FoundTokens* found, Plain plain,
              Matched matched) {
  if (!tokens.find(text, found)) return false;
  size_t done = 0;
  AddedTokens::Match match;
  while (tokens.next(text, done, match_special, found, &match)) {
    if (done < match.begin && !plain(done, match.begin)) return false;
    if (!matched(match, done - std::min(done, match.begin))) return false;
    done = match.end;
  }
  return done >= text.size() || plain(done, text.size());
}

}  // namespace

Status Tokenizer::State::copy_templates(const TokenizerDescription& description) {
  const auto copy = [](const Array<int32_t>& source, bool pair, Array<int32_t>* copied) -> Status {
    if (source.empty()) {
      return copied->try_push(template_first) && (!pair || copied->try_push(template_second)) ? Status()
                                                                                              : no_memory("template");
    }
    int counts[2] = {0, 0};
    for (int32_t item : source) {
      if (item < (pair ? template_second : template_first)) {
        return Status::error(Code::corrupt_file, "the tokenizer's template has the invalid item %d", item);
      }
      if (item < 0) ++counts[-1 - item];
    }
    if (counts[0] != 1 || counts[1] != (pair ? 1 : 0)) {
      return Status::error(Code::corrupt_file, "the tokenizer's template for %s must name each text once",
                           pair ? "pairs" : "single texts");
    }
    return copied->try_append(source.data(), source.size()) ? Status() : no_memory("template");
  };
  LINFORMER_TRY(copy(description.single_template, false, &single_template));
  LINFORMER_TRY(copy(description.pair_template, true, &pair_template));
  if (!description.pair_types.empty() && description.pair_types.size() != pair_template.size()) {
    return Status::error(Code::corrupt_file, "the tokenizer's template for pairs has %zu items but %zu types",
                         pair_template.size(), description.pair_types.size());
  }
  return pair_types.try_append(description.pair_types.data(), description.pair_types.size()) ? Status()
                                                                                             : no_memory("template");
}

Status Tokenizer::State::create_bpe(const TokenizerDescription& description, uint64_t owner) {
  const TokenizerRules& rules = description.rules;
  LINFORMER_TRY(bpe.create(description, owner));
  LINFORMER_TRY(bpe_steps.create(rules));
  bpe_normalizes = kind == TokenizerKind::bpe || !rules.steps.empty();
  bpe_keeps_ascii = kind == TokenizerKind::byte_bpe;
  bpe_decoding = {rules.mark_spaces, rules.prefix_mark != PrefixMark::never, rules.byte_fallback};
  for (const NormalizerStep& step : rules.steps) {
    bpe_keeps_ascii = bpe_keeps_ascii && step.kind >= NormalizerKind::nfc && step.kind <= NormalizerKind::nfkd;
    if (!step.content.view().starts_with(space_mark)) continue;
    bpe_decoding.marks = true;
    if (step.kind == NormalizerKind::prepend) bpe_decoding.drops_first_marks = true;
  }
  return {};
}

Status Tokenizer::State::create(const TokenizerDescription& description, bool always_match_mask) {
  kind = description.kind;
  if (kind == TokenizerKind::none || kind > TokenizerKind::bpe) {
    return Status::error(Code::unsupported,
                         kind == TokenizerKind::none
                             ? "the model has no tokenizer: give it token ids instead of text"
                             : "this version doesn't know the model's kind of tokenizer: give it token ids");
  }
  LINFORMER_TRY(vocabulary.create(description));
  LINFORMER_TRY(copy_templates(description));
  trim_offsets = description.trim_offsets;
  keeps_first_space = description.first_space == FirstSpace::as_added ? description.add_prefix_space
                                                                      : description.first_space == FirstSpace::kept;
  const auto& prefix = description.continuing_prefix;
  if (!continuing_prefix.try_append(prefix.data(), prefix.size())) return no_memory("prefix");
  const uint64_t owner = new_tokenizer_id();
  if (is_bpe()) {
    LINFORMER_TRY(create_bpe(description, owner));
  } else if (kind == TokenizerKind::wordpiece) {
    normalizer.create(description);
    LINFORMER_TRY(wordpiece.create(description, owner));
  } else {
    LINFORMER_TRY(unigram.create(description));
  }
  NormalizedText normalized;
  for (const AddedToken& token : description.added_tokens) {
    const bool special = token.special && !(always_match_mask && token.id == description.mask);
    if (!token.normalized || (is_bpe() && !bpe_normalizes)) {
      LINFORMER_TRY(vocabulary.add_name(token.id, token.content, token.special));
      LINFORMER_TRY((token.normalized ? normalized_tokens : verbatim_tokens).add(token, token.content, special));
      continue;
    }
    if (valid_utf8_prefix(token.content) != token.content.size()) {
      return Status::error(Code::corrupt_file, "the added token with id %d is not valid UTF-8", token.id);
    }
    if (!normalize(token.content, 0, &normalized)) return no_memory("added tokens");
    if (normalized.bytes.empty() && !token.content.empty()) {
      return Status::error(Code::unsupported,
                           "the added token with id %d normalises to nothing, so it can't be found in a text: set its "
                           "\"normalized\" to false, or remove it",
                           token.id);
    }
    LINFORMER_TRY(vocabulary.add_name(token.id, normalized.view(), token.special));
    LINFORMER_TRY(normalized_tokens.add(token, normalized.view(), special));
  }
  LINFORMER_TRY(verbatim_tokens.finish());
  LINFORMER_TRY(normalized_tokens.finish());
  return vocabulary.finish(description);
}

bool Tokenizer::State::normalize(std::string_view text, uint32_t position, NormalizedText* normalized) const {
  if (kind == TokenizerKind::unigram) return unigram.normalize(text, position, normalized);
  if (is_bpe()) return bpe_steps.normalize(text, position, normalized);
  return normalizer.normalize(text, position, normalized);
}

// Tokenizes a part of the original text, in which only normalized_tokens are still looked for.
bool Tokenizer::State::tokenize_plain(std::string_view text, uint32_t position, bool match_special,
                                      Encoding::State* encoding, Pieces* pieces) const {
  if (!is_bpe() || (bpe_normalizes && !(bpe_keeps_ascii && is_ascii(text)))) {
    const bool is_wordpiece = kind == TokenizerKind::wordpiece;
    NormalizedText& normalized = is_wordpiece ? encoding->wordpiece.normalized : encoding->unigram.normalized;
    if (!normalize(text, position, &normalized)) return false;
    return split_by(
        normalized_tokens, normalized.view(), match_special, &encoding->normalized,
        [&](size_t begin, size_t end) {
          if (is_wordpiece) return wordpiece.tokenize(normalized, begin, end, &encoding->wordpiece, pieces);
          if (kind == TokenizerKind::unigram) {
            return unigram.tokenize(begin, end, match_special, &encoding->unigram, pieces);
          }
          return bpe.tokenize(normalized.view().substr(begin, end - begin), {0, normalized.origins.data() + begin},
                              &encoding->bpe, pieces);
        },
        [&](const AddedTokens::Match& match, size_t) {
          return push_match(*match.token, normalized.view().substr(match.begin, match.end - match.begin),
                            normalized.origins[match.begin], normalized.origins[match.end - 1] + 1, pieces);
        });
  }
  return split_by(
      normalized_tokens, text, match_special, &encoding->normalized,
      [&](size_t begin, size_t end) {
        const std::string_view part = text.substr(begin, end - begin);
        if (!bpe.tokenize(part, {position, nullptr}, &encoding->bpe, pieces)) return false;
        position += count_code_points(part);
        return true;
      },
      [&](const AddedTokens::Match& match, size_t repeated) {
        const std::string_view name = text.substr(match.begin, match.end - match.begin);
        const uint32_t begin = position - count_code_points(text.substr(match.begin, repeated));
        position = begin + count_code_points(name);
        return push_match(*match.token, name, begin, position, pieces);
      });
}

Status Tokenizer::State::tokenize(std::string_view text, const EncodeOptions& options, Encoding::State* encoding,
                                  Pieces* pieces) const {
  pieces->clear();
  if (text.size() > max_text_bytes) {
    return Status::error(Code::too_long, "a text of %zu bytes is longer than %zu: split it", text.size(),
                         max_text_bytes);
  }
  if (valid_utf8_prefix(text) != text.size()) {
    encoding->repaired.clear();
    if (!append_repaired_utf8(text, &encoding->repaired)) return no_memory_for_text(text);
    text = {encoding->repaired.data(), encoding->repaired.size()};
  }
  uint32_t position = 0;
  const bool complete = split_by(
      verbatim_tokens, text, options.match_special_tokens, &encoding->verbatim,
      [&](size_t begin, size_t end) {
        const std::string_view part = text.substr(begin, end - begin);
        if (!tokenize_plain(part, position, options.match_special_tokens, encoding, pieces)) return false;
        position += count_code_points(part);
        return true;
      },
      [&](const AddedTokens::Match& match, size_t repeated) {
        const std::string_view name = text.substr(match.begin, match.end - match.begin);
        const uint32_t begin = position - count_code_points(text.substr(match.begin, repeated));
        position = begin + count_code_points(name);
        return push_match(*match.token, name, begin, position, pieces);
      });
  const bool by_steps = kind == TokenizerKind::unigram || bpe_normalizes;
  if (!complete && by_steps && encoding->unigram.normalized.too_long) {
    return Status::error(
        Code::too_long,
        "the tokenizer's normaliser makes a text of %zu bytes too long: split the text, or correct the normaliser",
        text.size());
  }
  if (!complete) return no_memory_for_text(text);
  drop_pieces_without_id(pieces);
  return {};
}

// If there is no unknown token, drops the pieces that the model has no id for.
void Tokenizer::State::drop_pieces_without_id(Pieces* pieces) const {
  if (vocabulary.unk() >= 0) return;
  size_t kept = 0, word = 0;
  for (size_t i = 0; i < pieces->pieces.size(); ++i) {
    for (; word < pieces->word_starts.size() && pieces->word_starts[word] <= i; ++word) {
      pieces->word_starts[word] = static_cast<uint32_t>(kept);
    }
    const Piece& piece = pieces->pieces[i];
    const bool known = piece.token < 0 ? piece.token != unknown_piece : vocabulary.model_id(piece.token) >= 0;
    if (known) pieces->pieces[kept++] = piece;
  }
  pieces->word_starts.truncate(word);
  pieces->pieces.truncate(kept);
}

Result<Tokenizer> TokenizerFactory::create(const TokenizerDescription& description, std::shared_ptr<const void> storage,
                                           bool always_match_mask) {
  std::unique_ptr<Tokenizer::State> state(new (std::nothrow) Tokenizer::State);
  if (!state) return no_memory("tables");
  if (const Status status = state->create(description, always_match_mask); !status.ok()) return status;
  state->storage = std::move(storage);
  return Tokenizer(std::move(state));
}

namespace {

// Returns how many tokens of a text older versions of Hugging Face's tokenizers read: they stop after the word with
// which they reach max_length. They use this number to compare the lengths of two texts, and to cut texts if the
// template alone exceeds max_length.
size_t length_read(const Pieces& pieces, size_t max_length) {
  const auto* next_word = std::lower_bound(pieces.word_starts.begin(), pieces.word_starts.end(), max_length);
  return next_word == pieces.word_starts.end() ? pieces.pieces.size() : *next_word;
}

// Does the same as length_read(), but reads backwards from the text's last word.
size_t length_read_from_end(const Pieces& pieces, size_t max_length) {
  const size_t size = pieces.pieces.size();
  if (size <= max_length) return size;
  const auto* beyond = std::upper_bound(pieces.word_starts.begin(), pieces.word_starts.end(), size - max_length);
  return beyond == pieces.word_starts.begin() ? size : size - beyond[-1];
}

bool has_room(const EncodeOptions& options, int64_t template_tokens) {
  return options.truncation == Truncation::none || options.max_length == 0 || options.max_length >= template_tokens;
}

Status check(const EncodeOptions& options, int64_t template_tokens, bool legacy_truncation) {
  if (options.max_length < 0) {
    return Status::error(Code::invalid_argument, "max_length is %lld: give 1 or more, or 0 for no limit",
                         static_cast<long long>(options.max_length));
  }
  if (!legacy_truncation && !has_room(options, template_tokens)) {
    return Status::error(Code::invalid_argument, "max_length is %lld, but the special tokens alone are %lld: give more",
                         static_cast<long long>(options.max_length), static_cast<long long>(template_tokens));
  }
  return {};
}

}  // namespace

Status Tokenizer::encode(std::string_view text, const EncodeOptions& options, Encoding* encoding) const {
  return encode_texts(&text, 1, options, encoding);
}

Status Tokenizer::encode(std::string_view text, std::string_view pair, const EncodeOptions& options,
                         Encoding* encoding) const {
  const std::string_view texts[2] = {text, pair};
  return encode_texts(texts, 2, options, encoding);
}

Status Tokenizer::encode_texts(const std::string_view* texts, int count, const EncodeOptions& options,
                               Encoding* encoding, bool legacy_truncation) const {
  if (!encoding->state_) encoding->state_.reset(new (std::nothrow) Encoding::State);
  if (!encoding->state_) return no_memory_for_text(texts[0]);
  Encoding::State& result = *encoding->state_;
  result.clear_result();
  const int64_t added = options.add_special_tokens ? template_tokens(count == 2) : 0;
  LINFORMER_TRY(check(options, added, legacy_truncation));
  size_t lengths[2] = {0, 0};
  for (int i = 0; i < count; ++i) {
    LINFORMER_TRY(state_->tokenize(texts[i], options, &result, &result.pieces[i]));
    lengths[i] = result.pieces[i].pieces.size();
  }
  size_t kept_lengths[2] = {lengths[0], lengths[1]};
  const auto max_length = static_cast<size_t>(options.max_length);
  if (!has_room(options, added)) {
    for (int i = 0; i < count; ++i) {
      kept_lengths[i] = options.keep == Keep::tail ? length_read_from_end(result.pieces[i], max_length)
                                                   : length_read(result.pieces[i], max_length);
    }
  } else if (options.truncation != Truncation::none && max_length != 0) {
    const bool first_is_shorter =
        legacy_truncation ? length_read(result.pieces[0], max_length) <= length_read(result.pieces[1], max_length)
                          : lengths[0] <= lengths[1];
    LINFORMER_TRY(truncate_lengths(options.truncation, max_length - static_cast<size_t>(added), count == 2,
                                   first_is_shorter, kept_lengths));
  }
  State::Kept kept[2];
  for (int i = 0; i < 2; ++i) {
    const size_t begin = options.keep == Keep::tail ? lengths[i] - kept_lengths[i] : 0;
    kept[i] = {begin, begin + kept_lengths[i]};
    result.truncated = result.truncated || kept_lengths[i] < lengths[i];
  }
  result.total_tokens = added + static_cast<int64_t>(lengths[0] + lengths[1]);
  return state_->assemble(count == 2, kept, options, &result);
}

Status Tokenizer::encode_window(std::string_view text, const EncodeOptions& options, int64_t first,
                                Encoding* encoding) const {
  return encode_window_texts(&text, 1, options, first, encoding);
}

Status Tokenizer::encode_window(std::string_view text, std::string_view pair, const EncodeOptions& options,
                                int64_t first, Encoding* encoding) const {
  const std::string_view texts[2] = {text, pair};
  return encode_window_texts(texts, 2, options, first, encoding);
}

Status Tokenizer::encode_window_texts(const std::string_view* texts, int count, const EncodeOptions& options,
                                      int64_t first, Encoding* encoding) const {
  if (!encoding->state_) encoding->state_.reset(new (std::nothrow) Encoding::State);
  if (!encoding->state_) return no_memory_for_text(texts[0]);
  Encoding::State& result = *encoding->state_;
  result.clear_result();
  const int64_t added = options.add_special_tokens ? template_tokens(count == 2) : 0;
  LINFORMER_TRY(check(options, added, false));
  if (first < 0) {
    return Status::error(Code::invalid_argument, "the window begins at token %lld: give 0 or more",
                         static_cast<long long>(first));
  }
  if (options.max_length <= added) {
    return Status::error(Code::invalid_argument,
                         "max_length is %lld, which leaves no room for text beside %lld special tokens: give more",
                         static_cast<long long>(options.max_length), static_cast<long long>(added));
  }
  size_t lengths[2] = {0, 0};
  for (int i = 0; i < count; ++i) {
    if (first == 0) LINFORMER_TRY(state_->tokenize(texts[i], options, &result, &result.pieces[i]));
    lengths[i] = result.pieces[i].pieces.size();
  }
  result.total_tokens = added + static_cast<int64_t>(lengths[0] + lengths[1]);
  const bool second_moves = count == 2 && (options.truncation == Truncation::only_second ||
                                           (options.truncation != Truncation::only_first && lengths[1] >= lengths[0]));
  const size_t length = lengths[second_moves ? 1 : 0], whole = lengths[second_moves ? 0 : 1];
  if (whole >= static_cast<size_t>(options.max_length - added)) {
    return Status::error(Code::invalid_argument,
                         "the %s text's %zu tokens leave no room for the other text in a window of %lld tokens: raise "
                         "max_length, or choose the truncation that reads this text by windows",
                         second_moves ? "first" : "second", whole, static_cast<long long>(options.max_length));
  }
  if (first != 0 && static_cast<uint64_t>(first) >= length) return {};
  const auto begin = static_cast<size_t>(first);
  const size_t room = static_cast<size_t>(options.max_length - added) - whole;
  const State::Kept window = {begin, length - begin < room ? length : begin + room}, all = {0, whole};
  const State::Kept kept[2] = {second_moves ? all : window, second_moves ? window : all};
  result.truncated = window.end - window.begin < length;
  return state_->assemble(count == 2, kept, options, &result);
}

int64_t Tokenizer::template_tokens(bool pair) const {
  int64_t count = 0;
  for (int32_t item : pair ? state_->pair_template : state_->single_template) count += item >= 0;
  return count;
}

Tokenizer::Tokenizer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

}  // namespace LINFORMER_NAMESPACE
