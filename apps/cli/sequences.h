// What a model reads of a record: its tokens, or several windows of them, or two texts one after the other.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "flags.h"
#include "linformer/session.h"
#include "linformer/tokenizer.h"

namespace linformer::cli {

struct SequenceOptions {
  OnLong on_long = OnLong::truncate;
  int64_t overlap = -1;    // tokens that two neighbouring windows share; -1: a quarter of a window
  EncodeOptions tokens;    // truncation: which text of a pair is cut, or read by windows
  bool can_window = true;  // whether --on-long window is the user's to choose
  bool apart = false;      // a record's two texts are two sequences, for a head that compares them
};

struct Sequence {
  std::span<const int32_t> ids;
  std::span<const uint8_t> types;
  std::span<const int8_t> texts;   // that a token is of: 0 or 1, -1 = the template
  std::array<int64_t, 2> first{};  // which of each text's own tokens comes first
};

class Sequences {
 public:
  // Throws UsageError when model and options don't fit.
  Sequences(const Model& model, Tokenizer tokenizer, const SequenceOptions& options, const Session& session);

  // Tokenizes a record. Returns what is wrong with it, or nothing. The texts must live until for_each() is done.
  std::string read(std::string_view text, const std::optional<std::string>& pair);
  // Of the last record:
  int64_t tokens() const { return tokens_; }              // that are read
  int64_t total_tokens() const { return total_tokens_; }  // that it has
  int64_t windows() const { return windows_; }
  void for_each(const std::function<void(const Sequence&)>& visit);

  int64_t max_tokens() const { return max_tokens_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }

 private:
  std::string encode(std::string_view text, const std::optional<std::string>& pair, Encoding* encoding);
  std::string unusable(std::span<const int32_t> ids) const;
  std::string plan_windows(const Encoding& whole);

  Tokenizer tokenizer_;
  SequenceOptions options_;
  uint32_t vocabulary_;
  int32_t stripped_id_;  // pads that the session removes; -1: none
  Truncation pair_truncation_;
  int64_t max_tokens_;
  Encoding encoding_, second_;
  std::string_view text_;
  std::optional<std::string_view> pair_;
  bool two_ = false;
  // Windows of the last record: how many tokens later the next one begins, where the last one does, in which text.
  int64_t step_ = 0, last_ = 0;
  size_t moving_ = 0;
  int64_t tokens_ = 0, total_tokens_ = 0, windows_ = 1;
};

}  // namespace linformer::cli
