#include <algorithm>
#include <cinttypes>
#include <cmath>

#include "base/description.h"
#include "model/limits.h"
#include "model/utf8.h"
#include "model/validate.h"

namespace LINFORMER_NAMESPACE {
namespace {

bool is_id(int32_t id, uint32_t vocab_size) { return id >= -1 && id < static_cast<int64_t>(vocab_size); }

Status bad_id(const FieldName& field, int32_t id, uint32_t vocab_size) {
  return bad_field(field, "is %" PRId32 ", -1 to %" PRIu32 " are possible", id, vocab_size - 1);
}

bool is_bpe(const TokenizerDescription& t) { return t.kind == TokenizerKind::byte_bpe || t.kind == TokenizerKind::bpe; }

Status check_empty(const TokenizerDescription& t) {
  if (t.token_bytes.empty() && t.token_offsets.empty() && t.token_ids.empty() && t.merges.empty() && t.scores.empty() &&
      t.added_tokens.empty() && t.single_template.empty() && t.pair_template.empty() && t.pair_types.empty() &&
      t.rules.steps.empty() && t.rules.charsmap.empty() && t.rules.token_uses.empty() && t.rules.exact_scores.empty() &&
      t.rules.splits.empty()) {
    return {};
  }
  return bad_field(FieldName("tokenizer.kind"), "is none, but the tokenizer has data");
}

Status check_offsets(const TokenizerDescription& t) {
  const FieldName field("tokenizer.token_offsets");
  if (t.token_offsets.size() < 2 || t.token_offsets.size() - 1 > max_dimension) {
    return bad_field(field, "has %zu entries, 2 to %" PRIu32 " are possible", t.token_offsets.size(),
                     max_dimension + 1);
  }
  if (t.token_offsets.front() != 0 || t.token_offsets.back() != t.token_bytes.size()) {
    return bad_field(field, "run from %" PRIu32 " to %" PRIu32 " over %zu bytes", t.token_offsets.front(),
                     t.token_offsets.back(), t.token_bytes.size());
  }
  for (size_t i = 1; i < t.token_offsets.size(); ++i) {
    if (t.token_offsets[i] < t.token_offsets[i - 1]) {
      return bad_field(field, "fall from %" PRIu32 " to %" PRIu32 " at token %zu", t.token_offsets[i - 1],
                       t.token_offsets[i], i - 1);
    }
  }
  return {};
}

Status check_token_text(const TokenizerDescription& t) {
  if (t.kind == TokenizerKind::byte_bpe) return {};  // Its tokens are raw bytes.
  for (size_t i = 0; i + 1 < t.token_offsets.size(); ++i) {
    const std::string_view token(t.token_bytes.data() + t.token_offsets[i],
                                 t.token_offsets[i + 1] - t.token_offsets[i]);
    if (!is_utf8(token)) return bad_field(FieldName("tokenizer.token_bytes"), "of token %zu are not UTF-8", i);
  }
  return {};
}

Status check_ids(const TokenizerDescription& t, size_t tokens, uint32_t vocab_size) {
  const FieldName field("tokenizer.token_ids");
  if (t.token_ids.empty()) {
    if (tokens <= vocab_size) return {};
    return bad_field(field, "are absent, so %zu tokens are their own ids, but vocab_size is %" PRIu32, tokens,
                     vocab_size);
  }
  if (t.token_ids.size() != tokens)
    return bad_field(field, "has %zu entries for %zu tokens", t.token_ids.size(), tokens);
  for (size_t i = 0; i < tokens; ++i) {
    if (!is_id(t.token_ids[i], vocab_size)) {
      return bad_id(FieldName("tokenizer.token_ids[%zu]", i), t.token_ids[i], vocab_size);
    }
  }
  return {};
}

// Checks the merges. The lengths of the two tokens must add up to the length of the result, because the tokenizer
// computes offsets from lengths.
Status check_merges(const TokenizerDescription& t, size_t tokens) {
  const FieldName field("tokenizer.merges");
  if (!is_bpe(t) && !t.merges.empty()) {
    return bad_field(field, "has %zu entries, which only byte_bpe and bpe use", t.merges.size());
  }
  if (t.merges.size() % 3 != 0 || t.merges.size() / 3 > max_dimension) {
    return bad_field(field, "has %zu entries, a multiple of 3 is needed", t.merges.size());
  }
  const auto length = [&](uint32_t token) { return t.token_offsets[token + 1] - t.token_offsets[token]; };
  for (size_t i = 0; i < t.merges.size(); i += 3) {
    const uint32_t left = t.merges[i], right = t.merges[i + 1], result = t.merges[i + 2];
    if (left >= tokens || right >= tokens || result >= tokens) {
      return bad_field(field, "joins %" PRIu32 " and %" PRIu32 " to %" PRIu32 " at rank %zu, there are %zu tokens",
                       left, right, result, i / 3, tokens);
    }
    if (uint64_t{length(left)} + length(right) != length(result)) {
      return bad_field(field, "joins tokens of %" PRIu32 " and %" PRIu32 " bytes to one of %" PRIu32 " at rank %zu",
                       length(left), length(right), length(result), i / 3);
    }
  }
  return {};
}

Status check_scores(const TokenizerDescription& t, size_t tokens) {
  const FieldName field("tokenizer.scores");
  const size_t expected = t.kind == TokenizerKind::unigram ? tokens : 0;
  if (t.scores.size() != expected) return bad_field(field, "has %zu entries instead of %zu", t.scores.size(), expected);
  for (size_t i = 0; i < t.scores.size(); ++i) {
    if (!std::isfinite(t.scores[i])) return bad_field(field, "has an infinite number or NaN at index %zu", i);
  }
  return {};
}

Status check_rules(const TokenizerDescription& t, size_t tokens) {
  const TokenizerRules& u = t.rules;
  const bool bare = u.steps.empty() && u.splits.empty() && u.charsmap.empty() && u.token_uses.empty();
  if ((t.kind == TokenizerKind::wordpiece && !bare) || (t.kind != TokenizerKind::unigram && !u.exact_scores.empty())) {
    return bad_field(FieldName("tokenizer.rules"), "has data that the tokenizer's kind doesn't use");
  }
  if (!u.token_uses.empty() && u.token_uses.size() != tokens) {
    return bad_field(FieldName("tokenizer.rules.token_uses"), "has %zu entries for %zu tokens", u.token_uses.size(),
                     tokens);
  }
  for (size_t i = 0; i < u.token_uses.size(); ++i) {
    if (u.token_uses[i] > static_cast<uint8_t>(TokenUse::user_defined)) {
      return bad_field(FieldName("tokenizer.rules.token_uses"), "is %u at token %zu", u.token_uses[i], i);
    }
  }
  const FieldName exact("tokenizer.rules.exact_scores");
  if (!u.exact_scores.empty() && u.exact_scores.size() != tokens) {
    return bad_field(exact, "has %zu entries for %zu tokens", u.exact_scores.size(), tokens);
  }
  for (size_t i = 0; i < u.exact_scores.size(); ++i) {
    if (!std::isfinite(u.exact_scores[i])) return bad_field(exact, "has an infinite number or NaN at index %zu", i);
  }
  for (size_t i = 0; i < u.splits.size(); ++i) {
    const String& pattern = u.splits[i].pattern;
    if (pattern.size() <= max_name_bytes && is_utf8(pattern)) continue;
    return bad_field(FieldName("tokenizer.rules.splits[%zu]", i),
                     "has a text of %zu bytes that is too long or not UTF-8", pattern.size());
  }
  for (size_t i = 0; i < u.steps.size(); ++i) {
    for (const String* text : {&u.steps[i].pattern, &u.steps[i].content}) {
      if (text->size() <= max_name_bytes && is_utf8(*text)) continue;
      return bad_field(FieldName("tokenizer.rules.steps[%zu]", i),
                       "has a text of %zu bytes that is too long or not UTF-8", text->size());
    }
  }
  return {};
}

Status check_added_tokens(const TokenizerDescription& t, uint32_t vocab_size) {
  if (t.added_tokens.size() > max_added_tokens) {
    return bad_field(FieldName("tokenizer.added_tokens"), "has %zu entries, at most %" PRIu32 " are possible",
                     t.added_tokens.size(), max_added_tokens);
  }
  for (size_t i = 0; i < t.added_tokens.size(); ++i) {
    const AddedToken& token = t.added_tokens[i];
    const FieldName field("tokenizer.added_tokens[%zu]", i);
    if (token.content.empty() || token.content.size() > max_name_bytes || !is_utf8(token.content)) {
      return bad_field(field / "content", "is empty, too long (%zu bytes) or not UTF-8", token.content.size());
    }
    if (token.id < 0 || token.id >= static_cast<int64_t>(vocab_size)) {
      return bad_field(field / "id", "is %" PRId32 ", 0 to %" PRIu32 " are possible", token.id, vocab_size - 1);
    }
  }
  return {};
}

// Checks a template: it consists of ids and of the placeholder of the first text, and of the second if `pair` is true.
// Each placeholder occurs exactly once.
Status check_template(const char* name, const Array<int32_t>& entries, bool pair, uint32_t vocab_size) {
  if (entries.empty()) return {};
  const FieldName field("tokenizer.%s", name);
  if (entries.size() > max_template_entries) {
    return bad_field(field, "has %zu entries, at most %" PRIu32 " are possible", entries.size(), max_template_entries);
  }
  for (int32_t entry : entries) {
    if (entry < template_second || entry >= static_cast<int64_t>(vocab_size)) {
      return bad_field(field, "has the id %" PRId32 ", vocab_size is %" PRIu32, entry, vocab_size);
    }
  }
  const auto firsts = std::count(entries.begin(), entries.end(), template_first);
  const auto seconds = std::count(entries.begin(), entries.end(), template_second);
  if (firsts != 1 || seconds != (pair ? 1 : 0)) {
    return bad_field(field, "names the first text %td and the second %td times", firsts, seconds);
  }
  return {};
}

Status check_pair_types(const TokenizerDescription& t, uint64_t token_types) {
  const FieldName field("tokenizer.pair_types");
  if (!t.pair_types.empty() && t.pair_types.size() != t.pair_template.size()) {
    return bad_field(field, "has %zu entries for a template of %zu", t.pair_types.size(), t.pair_template.size());
  }
  for (uint8_t type : t.pair_types) {
    if (type >= token_types) {
      return bad_field(field, "has the token type %u, but the model has %" PRIu64, type, token_types);
    }
  }
  return {};
}

}  // namespace

Status validate_tokenizer(const TokenizerDescription& t, uint32_t vocab_size, uint64_t token_types) {
  for (const auto& [name, id] : {std::pair{"unk", t.unk}, std::pair{"bos", t.bos}, std::pair{"eos", t.eos},
                                 std::pair{"pad", t.pad}, std::pair{"mask", t.mask}}) {
    if (!is_id(id, vocab_size)) return bad_id(FieldName("tokenizer.%s", name), id, vocab_size);
  }
  if (t.max_word_characters == 0 || t.max_word_characters > max_word_length) {
    return bad_field(FieldName("tokenizer.max_word_characters"), "is %" PRIu32 ", 1 to %" PRIu32 " are possible",
                     t.max_word_characters, max_word_length);
  }
  if (t.continuing_prefix.size() > max_name_bytes || !is_utf8(t.continuing_prefix)) {
    return bad_field(FieldName("tokenizer.continuing_prefix"), "is too long (%zu bytes) or not UTF-8",
                     t.continuing_prefix.size());
  }
  if (t.kind == TokenizerKind::none) return check_empty(t);
  LINFORMER_TRY(check_offsets(t));
  const size_t tokens = t.token_offsets.size() - 1;
  LINFORMER_TRY(check_token_text(t));
  LINFORMER_TRY(check_ids(t, tokens, vocab_size));
  LINFORMER_TRY(check_merges(t, tokens));
  LINFORMER_TRY(check_scores(t, tokens));
  LINFORMER_TRY(check_rules(t, tokens));
  LINFORMER_TRY(check_added_tokens(t, vocab_size));
  LINFORMER_TRY(check_template("single_template", t.single_template, false, vocab_size));
  LINFORMER_TRY(check_template("pair_template", t.pair_template, true, vocab_size));
  return check_pair_types(t, token_types);
}

}  // namespace LINFORMER_NAMESPACE
