// Tokenizer: turns a text into the token ids of a model, and back, by BPE, WordPiece or unigram.
//
// It gives the same tokens as Hugging Face's tokenizers library, for GPT-2 and RoBERTa (byte-level BPE), BERT
// (WordPiece), T5 and similar models (unigram). For a SentencePiece .model file it gives the tokens of SentencePiece
// itself. fairseq's dict.txt only numbers the same tokens differently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// The longest text of one call, in bytes. Longer texts are an error (too_long).
inline constexpr size_t max_text_bytes = size_t{1} << 30;

class Model;

// Which text is cut if the template and the texts have more than max_length tokens.
enum class Truncation : uint8_t {
  none = 0,  // Nothing is cut. The caller compares ids().size() with its own limit.
  // The longer text is cut to the length of the shorter one, and then both are cut. If the number of tokens that both
  // may keep is odd, the longer text keeps one token more than the shorter one.
  longest_first,
  only_first,  // It is an error if cutting the first text alone can't make enough room.
  only_second,
};
enum class Keep : uint8_t { head = 0, tail };  // Which end of a cut text is kept.
struct EncodeOptions {
  bool add_special_tokens = true;  // Adds the template around the texts: <s> text </s>, [CLS] text [SEP], ...
  // Special tokens that are written in a text ("<mask>") become their ids. Otherwise they are plain characters.
  bool match_special_tokens = true;
  bool token_strings = false;  // Fills Encoding::token().
  Truncation truncation = Truncation::longest_first;
  Keep keep = Keep::head;
  int64_t max_length = 0;  // The most tokens, including the template's. 0: there is no limit.
};

// A half-open range of Unicode code points in the text as it was given. Each invalid sequence that was replaced counts
// as one code point.
struct Offset {
  uint32_t begin, end;
};

// The result of encode(), with its buffers and the workspace that calls reuse. Each thread should keep one: an Encoding
// that was used before allocates only for texts that are longer than all before. Not thread-safe; movable. A default
// Encoding is empty. Every view is valid until the next call that takes this Encoding.
class Encoding {
 public:
  Encoding();
  Encoding(Encoding&&) noexcept;
  Encoding& operator=(Encoding&&) noexcept;
  ~Encoding();

  // These five spans have one element for each token.
  std::span<const int32_t> ids() const;           // The ids that the model knows.
  std::span<const Offset> offsets() const;        // {0, 0} for tokens of the template.
  std::span<const uint8_t> special_mask() const;  // 1 for tokens of the template.
  std::span<const uint8_t> type_ids() const;      // Token types (BERT: 1 for the second text).
  std::span<const int8_t> sequence_ids() const;   // 0 or 1 for the first or second text, -1 for the template.
  bool truncated() const;
  int64_t total_tokens() const;  // The value that ids().size() would have without truncation.

  // Returns the printable name of token i as Hugging Face prints it (in byte-level BPE with GPT-2's alphabet, in which
  // a space is U+0120). It is empty unless EncodeOptions::token_strings was set. `i` must be less than ids().size().
  std::string_view token(size_t i) const;

 private:
  friend class Tokenizer;
  struct State;
  std::unique_ptr<State> state_;
};

struct DecodeOptions {
  bool skip_special_tokens = false;
  bool raw_bytes = false;  // Byte-level BPE: keeps invalid UTF-8 instead of replacing it by U+FFFD.
};

// The text that decode() writes. Movable. A default TextBuffer is empty.
class TextBuffer {
 public:
  TextBuffer();
  TextBuffer(TextBuffer&&) noexcept;
  TextBuffer& operator=(TextBuffer&&) noexcept;
  ~TextBuffer();
  // Valid until the next call that takes this buffer.
  std::string_view view() const;

 private:
  friend class Tokenizer;
  struct State;
  std::unique_ptr<State> state_;
};

// A model's tokenizer. It is immutable: any number of threads may use one Tokenizer at once. Movable.
//
//   auto tokenizer = linformer::Tokenizer::create(model);
//   if (!tokenizer.ok()) return tokenizer.status();
//   linformer::Encoding encoding;
//   linformer::Status done = tokenizer->encode("A fine film.", {}, &encoding);
//   if (done.ok()) std::printf("%zu tokens\n", encoding.ids().size());
class Tokenizer {
 public:
  // Creates the tokenizer in a model's file, and keeps the model alive. It takes O(vocabulary) time and memory, once.
  // Returns unsupported if the model has no tokenizer, and corrupt_file if its vocabulary contradicts itself.
  static Result<Tokenizer> create(std::shared_ptr<const Model> model);

  // Encodes one text, or two (`pair`). Any bytes are a text: invalid UTF-8 is replaced by U+FFFD as the WHATWG decoder
  // does it (one U+FFFD for each maximal subpart of a sequence). Equal input gives equal output on every machine and in
  // every locale. Returns too_long, invalid_argument (max_length is less than the template's own tokens, or the
  // truncation can't make enough room) or out_of_memory. After an error `encoding` is unspecified, but can be used
  // again.
  Status encode(std::string_view text, const EncodeOptions& options, Encoding* encoding) const;
  Status encode(std::string_view text, std::string_view pair, const EncodeOptions& options, Encoding* encoding) const;

  // Encodes a window of a long text: its tokens [first, first + room), where room is max_length minus the number of the
  // template's tokens. If neighbouring windows share s tokens, window w begins at w * (room - s). The first call, with
  // `first` 0, tokenizes the text, and `encoding` keeps the tokens, so the calls for later windows must pass the same
  // text, options and encoding. The result is empty if `first` is beyond the text's last token. options.truncation and
  // options.keep are ignored.
  Status encode_window(std::string_view text, const EncodeOptions& options, int64_t first, Encoding* encoding) const;
  // The same for a pair. One text is read by windows, and each window has the whole other text, as for questions about
  // a long text. options.truncation says which text is read by windows: only_first or only_second; otherwise it is the
  // longer text, or the second one if both are equally long. room is then max_length minus the tokens of the template
  // and of the other text. Returns invalid_argument if that is less than 1.
  Status encode_window(std::string_view text, std::string_view pair, const EncodeOptions& options, int64_t first,
                       Encoding* encoding) const;

  // Decodes ids to a text. Byte-level BPE joins the tokens' bytes. WordPiece joins words with spaces, except before
  // punctuation. Unigram and BPE of characters replace U+2581 by a space, except the one that was put before the text.
  // Returns invalid_argument, with the id, for an id without a token.
  Status decode(std::span<const int32_t> ids, const DecodeOptions& options, TextBuffer* text) const;

  // Returns the number of tokens that the template adds to one text, or to a pair.
  int64_t template_tokens(bool pair) const;

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

 private:
  friend struct TokenizerFactory;
  friend struct LegacyTruncation;
  struct State;
  explicit Tokenizer(std::unique_ptr<State> state);
  Status encode_texts(const std::string_view* texts, int count, const EncodeOptions& options, Encoding* encoding,
                      bool legacy_truncation = false) const;
  Status encode_window_texts(const std::string_view* texts, int count, const EncodeOptions& options, int64_t first,
                             Encoding* encoding) const;
  std::unique_ptr<State> state_;
};

}  // namespace LINFORMER_NAMESPACE
