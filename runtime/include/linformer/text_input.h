// How texts are read, for Classifier, Embedder, MaskFiller, TextRunner and TextReader: as strings, batched, over
// several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>

#include "linformer/session.h"
#include "linformer/tokenizer.h"

namespace LINFORMER_NAMESPACE {

// A text, with a second one where the model reads pairs or a head compares two. Views of the caller's memory, which
// lives until the call returns.
struct TextInput {
  std::string_view text = {};
  std::optional<std::string_view> pair = {};
  std::span<const float> vectors = {};  // instead of text, for models that read vectors: [n, width]
};

// A list of texts, as a view: an array of TextInput or of std::string_view, or a function that says each of them.
class TextList {
 public:
  using At = TextInput (*)(const void* context, size_t index);

  TextList(size_t size, At at, const void* context) : size_(size), at_(at), context_(context) {}
  template <class Container>
  requires requires(const Container& c) { std::span<const TextInput>(c); }
  TextList(const Container& texts)
      : TextList(
            std::size(texts), [](const void* context, size_t i) { return static_cast<const TextInput*>(context)[i]; },
            std::data(texts)) {}
  template <class Container>
  requires requires(const Container& c) { std::span<const std::string_view>(c); }
  TextList(const Container& texts)
      : TextList(
            std::size(texts),
            [](const void* context, size_t i) {
              return TextInput{static_cast<const std::string_view*>(context)[i], {}, {}};
            },
            std::data(texts)) {}

  size_t size() const { return size_; }
  TextInput operator[](size_t i) const { return at_(context_, i); }

 private:
  size_t size_;
  At at_;
  const void* context_;
};

// What becomes of a text with more tokens than the model takes.
enum class OnLong : uint8_t {
  truncate = 0,
  window,  // it is read in windows that overlap; its values are the means of theirs
  error,
};

struct TextOptions {
  static constexpr int64_t default_rows = 4096;  // enough for full matrix products on any machine

  int64_t max_tokens = 0;  // of a text, template included; 0 = the model's N
  OnLong on_long = OnLong::truncate;
  int64_t overlap = -1;                               // tokens that two windows share; -1: a quarter of a window
  bool add_special_tokens = true;                     // as in EncodeOptions
  bool match_special_tokens = true;                   // as in EncodeOptions
  Truncation truncation = Truncation::longest_first;  // which text of a pair is cut, or read by windows
  Keep keep = Keep::head;                             // which end of a cut text stays
  int64_t pad_to = 0;                                 // texts are lengthened with pad ids to this many tokens
  int64_t max_batch = 16;                             // texts in one call of a session
  int64_t max_rows = 0;  // tokens in one call; 0: default_rows, or max_tokens where that is more
  RunOptions run = {};
  // On the native backend each thread takes whole texts through a session of its own: faster than sharing each text,
  // for the memory of as many sessions. Few texts are shared by all threads. Results are the same.
  CpuOptions cpu = {};
  CudaOptions cuda = {};
  bool profile = false;  // as in SessionOptions
};

// Which limit a text is beyond.
enum class TextLimit : uint8_t {
  none = 0,
  tokens,   // it has more tokens, or vectors, than are read
  room,     // one text of a pair leaves the other no room in a window
  overlap,  // one text of a pair leaves the other no more room in a window than windows share
};

// The parts of Code::too_long, for callers who say in their own words which setting helps.
struct BeyondLimit {
  TextLimit limit = TextLimit::none;
  int text = 0;             // of a pair the one that is too long: 0 or 1
  int64_t tokens = 0;       // that it has
  int64_t room = 0;         // that it leaves the other text in a window
  int64_t max_tokens = 0;   // that are read of a text, or in a window
  bool other_fits = false;  // windows over this text instead would have room for the other one
};

// What was read of a text, or why it has no answer.
struct TextReport {
  Status status;
  BeyondLimit beyond = {};   // in parts, where the status is that the text is too long for the model
  int64_t tokens = 0;        // that the model read
  int64_t total_tokens = 0;  // that the text has; more than `tokens` when it was cut
  int64_t windows = 1;
  bool without_mask = false;  // MaskFiller: the status is that what was read of the text has no mask token
  bool truncated() const { return tokens < total_tokens; }
};

}  // namespace LINFORMER_NAMESPACE
