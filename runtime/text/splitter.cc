#include "text/splitter.h"

#include <algorithm>

#include "text/bert_unicode.h"
#include "text/unicode.h"
#include "text/word_patterns.h"

namespace LINFORMER_NAMESPACE {
namespace {

bool splits_at(SplitKind kind, uint32_t code_point) {
  switch (kind) {
    case SplitKind::digits:
      return is_number(code_point);
    case SplitKind::punctuation:
      return is_bert_punctuation(code_point);
    default:
      return is_white_space(code_point);
  }
}

// Returns the end of the segment that begins at text[at], and sets *match to whether the segment is a match of the
// step. A segment that isn't a match extends to the next match.
size_t segment_end(const SplitStep& step, std::string_view text, size_t at, bool* match) {
  if (is_word_pattern(step.kind)) {
    *match = true;
    return word_end(step.kind, text, at);
  }
  if (step.kind == SplitKind::text) {
    const size_t found = text.find(step.pattern, at);
    *match = found == at;
    return *match ? at + step.pattern.size() : std::min(found, text.size());
  }
  size_t end = at;
  *match = splits_at(step.kind, next_code_point(text.data(), &end));
  if (*match) return end;
  for (size_t next = end; next < text.size(); end = next) {
    if (splits_at(step.kind, next_code_point(text.data(), &next))) break;
  }
  return end;
}

bool joins(SplitBehavior behavior, bool previous_match, bool match) {
  switch (behavior) {
    case SplitBehavior::merged_with_previous:
      return match && !previous_match;
    case SplitBehavior::merged_with_next:
      return !match && previous_match;
    case SplitBehavior::contiguous:
      return match == previous_match;
    default:
      return false;
  }
}

}  // namespace

Status Splitter::create(const TokenizerRules& rules) {
  const Status no_memory = Status::error(Code::out_of_memory, "no memory for the tokenizer's splits");
  if (rules.splits.size() > max_splits) {
    return Status::error(Code::unsupported, "the tokenizer splits a text in %zu steps; at most %zu are supported",
                         rules.splits.size(), max_splits);
  }
  if (rules.split_white_space) {
    if (!steps_.try_push({SplitKind::white_space, SplitBehavior::removed, {}})) return no_memory;
  }
  for (const SplitStep& step : rules.splits) {
    if (step.kind > SplitKind::text || step.behavior > SplitBehavior::contiguous) {
      return Status::error(Code::unsupported, "the tokenizer has a split of the unknown kind %u or behavior %u",
                           static_cast<unsigned>(step.kind), static_cast<unsigned>(step.behavior));
    }
    if (is_word_pattern(step.kind) && step.behavior != SplitBehavior::isolated) {
      return Status::error(Code::corrupt_file,
                           "the tokenizer's split by a regular expression must have the behavior isolated");
    }
    if (step.kind == SplitKind::text && (step.pattern.empty() || step.pattern.size() > max_split_pattern_bytes ||
                                         valid_utf8_prefix(step.pattern) != step.pattern.size())) {
      return Status::error(
          Code::unsupported,
          "the tokenizer splits at a pattern of %zu bytes; 1 to %zu bytes of valid UTF-8 are supported",
          step.pattern.size(), max_split_pattern_bytes);
    }
    SplitStep copied;
    copied.kind = step.kind;
    copied.behavior = step.behavior;
    if (!copied.pattern.try_assign(step.pattern) || !steps_.try_push(std::move(copied))) {
      return no_memory;
    }
  }
  return {};
}

bool Splitter::split_from_step(size_t number, std::string_view text, size_t begin, size_t end,
                               const Receiver& receiver) const {
  if (begin == end) return true;
  if (number == steps_.size()) return receiver.call(receiver.part, begin, end);
  const SplitStep& step = steps_[number];
  const std::string_view whole = text.substr(0, end);
  size_t part = begin;
  bool previous_match = false;
  const auto finish = [&](size_t at) {
    const bool removed = previous_match && step.behavior == SplitBehavior::removed;
    return removed || split_from_step(number + 1, text, part, at, receiver);
  };
  for (size_t at = begin; at < end;) {
    bool match = false;
    const size_t next = segment_end(step, whole, at, &match);
    if (at != part && !joins(step.behavior, previous_match, match)) {
      if (!finish(at)) return false;
      part = at;
    }
    previous_match = match;
    at = next;
  }
  return finish(end);
}

}  // namespace LINFORMER_NAMESPACE
