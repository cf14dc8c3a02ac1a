// How Classifier, Embedder and the other classes that take texts read them, and what they report about each text.
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

// A text, with a second text if the model reads pairs or a head compares two. These are views of the caller's memory,
// which must live until the call returns.
struct TextInput {
  std::string_view text = {};
  std::optional<std::string_view> pair = {};
  std::span<const float> vectors = {};  // Instead of a text, for models that read vectors: [n, vector_width].
};

// A view of a list of texts: an array of TextInput or of std::string_view, or a function that returns text i.
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

// What happens to a text that has more than TextOptions::max_tokens tokens.
enum class OnLong : uint8_t {
  truncate = 0,  // It is cut.
  window,        // It is read in windows that overlap. Scores and vectors of a text are the means over its windows.
  error,         // Its report has an error.
};

struct TextOptions {
  static constexpr int64_t default_rows = 4096;  // Enough rows for large matrix products on any machine.

  // The most tokens of a text or window, with its template and the row that the model may put before it. 0: the model's
  // maximum.
  int64_t max_tokens = 0;
  OnLong on_long = OnLong::truncate;
  int64_t overlap = -1;                               // The tokens that two windows share. -1: a quarter of a window.
  bool add_special_tokens = true;                     // As in EncodeOptions.
  bool match_special_tokens = true;                   // As in EncodeOptions.
  Truncation truncation = Truncation::longest_first;  // Which text of a pair is cut or read by windows.
  Keep keep = Keep::head;                             // Which end of a cut text is kept.
  int64_t pad_to = 0;                                 // Texts are lengthened with pad ids to this many tokens.
  int64_t max_batch = 16;                             // The most sequences in one call of a session.
  int64_t max_rows = 0;  // The most rows in one call. 0: default_rows. It is raised if the longest text has more rows.
  RunOptions run = {};
  // On the native backend, each thread takes whole texts through a session of its own. This is faster than sharing each
  // text, but takes the memory of as many sessions. If a call has only few texts, all threads share them. Results don't
  // depend on this.
  CpuOptions cpu = {};
  CudaOptions cuda = {};
  bool profile = false;  // As in SessionOptions.
};

// Which limit a text exceeds.
enum class TextLimit : uint8_t {
  none = 0,
  tokens,   // It has more tokens, or vectors, than are read.
  room,     // One text of a pair leaves the other no room in a window.
  overlap,  // One text of a pair leaves the other at most as many tokens in a window as two windows share.
};

// The details of an error with Code::too_long, for callers whose own messages name their own settings.
struct BeyondLimit {
  TextLimit limit = TextLimit::none;
  int text = 0;             // Which text of a pair is too long: 0 or 1.
  int64_t tokens = 0;       // The tokens that it has.
  int64_t room = 0;         // The tokens that it leaves the other text in a window.
  int64_t max_tokens = 0;   // The most tokens that are read of a text, or in a window.
  bool other_fits = false;  // Whether the other text would fit if this text were read by windows instead.
};

// What was read of a text, or why the text has no answer.
struct TextReport {
  Status status;
  BeyondLimit beyond = {};   // The details of the error, if the text is too long for the model.
  int64_t tokens = 0;        // The tokens that the model read.
  int64_t total_tokens = 0;  // The tokens that the text has. More than `tokens` if the text was cut.
  int64_t windows = 1;
  bool without_mask = false;  // For MaskFiller: the error is that there is no mask token in what was read of the text.
  bool truncated() const { return tokens < total_tokens; }
};

}  // namespace LINFORMER_NAMESPACE
