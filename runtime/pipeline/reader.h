// What a model reads of a text: its tokens, or several windows of them, or two texts one after the other.
#pragma once

#include <algorithm>
#include <array>

#include "linformer/text_input.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// What all threads' readers have in common. The tokenizer outlives them.
struct ReadRules {
  const Tokenizer* tokenizer = nullptr;
  EncodeOptions encode;
  OnLong on_long = OnLong::truncate;
  int64_t overlap = -1;
  int64_t max_tokens = 0;  // without what the model puts before a text
  uint32_t vocabulary = 0;
  int32_t stripped_id = -1;  // pads that the session removes; -1: none
  bool apart = false;        // the two texts are sequences of their own

  // Tokens around the texts.
  int64_t template_tokens(bool pair) const { return encode.add_special_tokens ? tokenizer->template_tokens(pair) : 0; }
  // Whether the session removes every one of `ids`.
  bool strips_all(std::span<const int32_t> ids) const {
    return std::all_of(ids.begin(), ids.end(), [this](int32_t id) { return id == stripped_id; });
  }
  // As texts are read for `session`. Errors: limits that leave no room for a text.
  static Result<ReadRules> of(const Model& model, const Tokenizer& tokenizer, const Session& session,
                              const TextOptions& options);
};

// One sequence of a text.
struct TextSequence {
  std::span<const int32_t> ids;
  std::span<const uint8_t> types;
  std::span<const int8_t> texts;   // that a token is of: 0 or 1, -1 = the template
  std::array<int64_t, 2> first{};  // which of each text's own tokens comes first
};

class TextReader {
 public:
  explicit TextReader(const ReadRules& rules) : rules_(rules) {}

  // Tokenizes a text. `report` gets its counts and the limit that it is beyond; the error is what is wrong with it. The
  // text must live until its sequences are read.
  Status read(const TextInput& input, TextReport* report);
  // Of the text that was read last.
  int64_t sequences() const { return rules_.apart ? 2 : windows_; }
  // Sequence i; in order. Valid until the next call.
  Result<TextSequence> sequence(int64_t i);

 private:
  Status encode(std::string_view text, const std::optional<std::string_view>& pair, Encoding* encoding,
                TextReport* report);
  Status check_ids(std::span<const int32_t> ids) const;
  Status plan_windows(BeyondLimit* beyond);

  ReadRules rules_;
  Encoding encoding_, second_;
  TextInput input_;
  // Windows of the text: how many tokens later the next one begins, where the last one does, in which text.
  int64_t windows_ = 1, step_ = 0, last_ = 0;
  size_t moving_ = 0;
};

}  // namespace LINFORMER_NAMESPACE
