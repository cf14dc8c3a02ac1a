#include "sequences.h"

#include <algorithm>

#include "errors.h"

namespace linformer::cli {

Sequences::Sequences(const Model& model, Tokenizer tokenizer, const SequenceOptions& options, const Session& session)
    : tokenizer_(std::move(tokenizer)),
      options_(options),
      vocabulary_(model.description().encoder.vocab_size),
      stripped_id_(session.plan().options.padding == Padding::strip ? model.description().encoder.pad_id : -1),
      pair_truncation_(options.tokens.truncation),
      max_tokens_(session.plan().options.max_tokens - session.output_rows(0)) {
  const int64_t room = max_tokens_ - tokenizer_.template_tokens(false);
  if (room < 1) {
    throw UsageError("--max-tokens " + std::to_string(session.plan().options.max_tokens) +
                     " leaves no room for a text; raise it");
  }
  if (options_.overlap >= room) {
    throw UsageError("--overlap " + std::to_string(options_.overlap) + " is not less than a window's " +
                     std::to_string(room) + " tokens; lower it");
  }
  // With Truncation::none the length of a window; nothing is cut then.
  options_.tokens.max_length = max_tokens_;
}

std::string Sequences::read(std::string_view text, const std::optional<std::string>& pair) {
  text_ = text;
  pair_ = pair;
  two_ = options_.apart;
  tokens_ = total_tokens_ = 0;
  windows_ = 1;
  if (two_ && !pair) return "this head compares two texts; name the second with --pair or --pair-text";
  if (!two_) return encode(text, pair, &encoding_);
  if (std::string error = encode(text, std::nullopt, &encoding_); !error.empty()) return error;
  return encode(*pair, std::nullopt, &second_);
}

std::string Sequences::encode(std::string_view text, const std::optional<std::string>& pair, Encoding* encoding) {
  options_.tokens.truncation = options_.on_long != OnLong::truncate ? Truncation::none
                               : pair                               ? pair_truncation_
                                                                    : Truncation::longest_first;
  const Status status = pair ? tokenizer_.encode(text, *pair, options_.tokens, encoding)
                             : tokenizer_.encode(text, options_.tokens, encoding);
  if (!status.ok()) return status.message();
  const int64_t tokens = static_cast<int64_t>(encoding->ids().size());
  tokens_ += tokens;
  total_tokens_ += encoding->total_tokens();
  if (std::string error = unusable(encoding->ids()); !error.empty()) return error;
  if (tokens <= max_tokens_) return {};
  if (options_.on_long == OnLong::window && !two_) return plan_windows(*encoding);
  return "the text has " + std::to_string(tokens) + " tokens and at most " + std::to_string(max_tokens_) +
         " are read; " + (two_ ? "a head that compares two texts reads each whole: " : "") +
         (options_.can_window && !two_ ? "use --on-long truncate or window" : "use --on-long truncate");
}

// Which parts of the last record the windows show; `whole` has all of its tokens.
std::string Sequences::plan_windows(const Encoding& whole) {
  std::array<int64_t, 2> lengths{};
  for (const int8_t text : whole.sequence_ids()) {
    if (text >= 0) ++lengths[static_cast<size_t>(text)];
  }
  const bool longer = pair_truncation_ == Truncation::longest_first;
  moving_ = pair_ && (longer ? lengths[1] >= lengths[0] : pair_truncation_ == Truncation::only_second) ? 1 : 0;
  const int64_t beside = lengths[1 - moving_];
  const int64_t room = max_tokens_ - tokenizer_.template_tokens(pair_.has_value()) - beside;
  const char* names[] = {"first", "second"};
  if (room < 1) {
    return std::string("the ") + names[1 - moving_] + " text has " + std::to_string(beside) +
           " tokens, which leave no room for the " + names[moving_] + " in a window of " + std::to_string(max_tokens_) +
           "; " + (room + beside > lengths[moving_] ? "choose the other text with --truncation, or " : "") +
           "use --on-long truncate";
  }
  const int64_t overlap = options_.overlap < 0 ? room / 4 : options_.overlap;
  if (overlap >= room) {
    return std::string("the ") + names[1 - moving_] + " text has " + std::to_string(beside) + " tokens, which leave " +
           std::to_string(room) + " for the " + names[moving_] + " in a window of " + std::to_string(max_tokens_) +
           "; lower --overlap to less than that";
  }
  // The last window begins where it reaches the end: a short one would weigh a few words like a whole window.
  step_ = room - overlap;
  last_ = lengths[moving_] - room;
  windows_ = (last_ + step_ - 1) / step_ + 1;
  return {};
}

// Why the session would refuse `ids`, or nothing.
std::string Sequences::unusable(std::span<const int32_t> ids) const {
  bool any = false;
  for (const int32_t id : ids) {
    if (id < 0 || static_cast<uint32_t>(id) >= vocabulary_) {
      return "the tokenizer gives id " + std::to_string(id) + ", which the model's vocabulary of " +
             std::to_string(vocabulary_) + " lacks; convert the model with its own tokenizer";
    }
    any = any || id != stripped_id_;
  }
  return any ? "" : "the text has no tokens";
}

void Sequences::for_each(const std::function<void(const Sequence&)>& visit) {
  const auto show = [&](const Encoding& encoding, std::array<int64_t, 2> first) {
    visit({encoding.ids(), encoding.type_ids(), encoding.sequence_ids(), first});
  };
  if (windows_ == 1) {
    show(encoding_, {});
    if (two_) show(second_, {});
    return;
  }
  options_.tokens.truncation = moving_ == 0 ? Truncation::only_first : Truncation::only_second;
  for (int64_t w = 0; w < windows_; ++w) {
    std::array<int64_t, 2> first{};
    first[moving_] = std::min(w * step_, last_);
    check(pair_ ? tokenizer_.encode_window(text_, *pair_, options_.tokens, first[moving_], &encoding_)
                : tokenizer_.encode_window(text_, options_.tokens, first[moving_], &encoding_));
    show(encoding_, first);
  }
}

}  // namespace linformer::cli
