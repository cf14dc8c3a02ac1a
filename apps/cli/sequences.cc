#include "sequences.h"

#include <algorithm>

#include "errors.h"

namespace linformer::cli {

Sequences::Sequences(const Model& model, Tokenizer tokenizer, const SequenceOptions& options, const Session& session)
    : tokenizer_(std::move(tokenizer)),
      options_(options),
      vocabulary_(model.description().encoder.vocab_size),
      stripped_id_(session.plan().options.padding == Padding::strip ? model.description().encoder.pad_id : -1),
      max_tokens_(session.plan().options.max_tokens - session.output_rows(0)) {
  room_ = max_tokens_ - tokenizer_.template_tokens(false);
  if (room_ < 1) {
    throw UsageError("--max-tokens " + std::to_string(session.plan().options.max_tokens) +
                     " leaves no room for a text; raise it");
  }
  if (options_.overlap < 0) options_.overlap = room_ / 4;
  if (options_.overlap >= room_) {
    throw UsageError("--overlap " + std::to_string(options_.overlap) + " is not less than a window's " +
                     std::to_string(room_) + " tokens; lower it");
  }
  options_.tokens.truncation = options_.on_long == OnLong::truncate ? Truncation::longest_first : Truncation::none;
  // With Truncation::none the length of a window; nothing is cut then.
  options_.tokens.max_length = max_tokens_;
}

std::string Sequences::read(std::string_view text, const std::optional<std::string>& pair) {
  text_ = text;
  two_ = options_.apart;
  tokens_ = total_tokens_ = 0;
  windows_ = 1;
  if (two_ && !pair) return "this head compares two texts; name the second with --pair or --pair-text";
  if (!two_) return encode(text, pair, &encoding_);
  if (std::string error = encode(text, std::nullopt, &encoding_); !error.empty()) return error;
  return encode(*pair, std::nullopt, &second_);
}

std::string Sequences::encode(std::string_view text, const std::optional<std::string>& pair, Encoding* encoding) {
  const Status status = pair ? tokenizer_.encode(text, *pair, options_.tokens, encoding)
                             : tokenizer_.encode(text, options_.tokens, encoding);
  if (!status.ok()) return status.message();
  const int64_t tokens = static_cast<int64_t>(encoding->ids().size());
  tokens_ += tokens;
  total_tokens_ += encoding->total_tokens();
  if (std::string error = unusable(encoding->ids()); !error.empty()) return error;
  if (tokens <= max_tokens_) return {};
  const bool window = options_.on_long == OnLong::window;
  if (!window || pair || two_) {
    return "the text has " + std::to_string(tokens) + " tokens and at most " + std::to_string(max_tokens_) +
           " are read; " +
           (window                ? "pairs can't be read in windows: use --on-long truncate"
            : options_.can_window ? "use --on-long truncate or window"
                                  : "use --on-long truncate");
  }
  // The last window begins where it reaches the end: a short one would weigh a few words like a whole window.
  const int64_t step = room_ - options_.overlap;
  windows_ = (tokens - tokenizer_.template_tokens(false) - room_ + step - 1) / step + 1;
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
  const auto show = [&](const Encoding& encoding, int64_t first) {
    visit({encoding.ids(), encoding.type_ids(), encoding.special_mask(), first});
  };
  if (windows_ == 1) {
    show(encoding_, 0);
    if (two_) show(second_, 0);
    return;
  }
  const int64_t last = total_tokens_ - tokenizer_.template_tokens(false) - room_;
  for (int64_t w = 0; w < windows_; ++w) {
    const int64_t first = std::min(w * (room_ - options_.overlap), last);
    check(tokenizer_.encode_window(text_, options_.tokens, first, &encoding_));
    show(encoding_, first);
  }
}

}  // namespace linformer::cli
