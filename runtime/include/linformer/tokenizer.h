// Tokenizer: text to the ids that a model's embedding knows, and back. BPE, WordPiece and unigram.
//
// Source of the semantics: GPT-2 and RoBERTa (byte-level BPE), BERT (WordPiece), T5 and its kin (unigram), in the
// reading that Hugging Face's tokenizers library gives them; for a SentencePiece .model file, SentencePiece's own.
// fairseq's dict.txt is a renumbering of the same tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Longest text in one call, in bytes; longer ones are an error (too_long).
inline constexpr size_t max_text_bytes = size_t{1} << 30;

class Model;

// Which text gives way when template and texts have more than max_length tokens.
enum class Truncation : uint8_t {
  none = 0,       // nothing is cut; the caller compares ids().size() with its limit
  longest_first,  // the longer text down to the shorter one's length, then both; it keeps the odd token
  only_first,     // an error when the first text alone cannot make enough room
  only_second,
};
enum class Keep : uint8_t { head = 0, tail };  // which end of a cut text stays
struct EncodeOptions {
  bool add_special_tokens = true;    // the template around the texts: <s> text </s>, [CLS] text [SEP], ...
  bool match_special_tokens = true;  // special tokens written inside a text ("<mask>") become their ids; otherwise
                                     // they are plain characters
  bool token_strings = false;        // fill Encoding::token()
  Truncation truncation = Truncation::longest_first;
  Keep keep = Keep::head;
  int64_t max_length = 0;  // tokens, the template's included; 0 = no limit
};

// Half-open range of Unicode code points in the text as given, each replaced invalid sequence counting as one.
struct Offset {
  uint32_t begin, end;
};

// The result of encode(), its buffers and the workspace that calls reuse. Keep one for each thread: a warm Encoding
// allocates only for texts longer than any before. Not thread-safe; movable. A default Encoding is empty.
// Every view is valid until the next call that takes this Encoding.
class Encoding {
 public:
  Encoding();
  Encoding(Encoding&&) noexcept;
  Encoding& operator=(Encoding&&) noexcept;
  ~Encoding();

  // All of the same length, the number of tokens.
  std::span<const int32_t> ids() const;           // model ids
  std::span<const Offset> offsets() const;        // tokens of the template: {0, 0}
  std::span<const uint8_t> special_mask() const;  // 1 = token of the template
  std::span<const uint8_t> type_ids() const;      // token types (BERT: 1 in the second text's part)
  std::span<const int8_t> sequence_ids() const;   // 0 or 1 = first or second text, -1 = the template
  bool truncated() const;
  int64_t total_tokens() const;  // what ids().size() would be without truncation

  // Printable name of token i (byte-level BPE: GPT-2's alphabet, a space is U+0120), as Hugging Face prints it.
  // Empty unless EncodeOptions::token_strings was set. `i` must be below ids().size().
  std::string_view token(size_t i) const;

 private:
  friend class Tokenizer;
  struct State;
  std::unique_ptr<State> state_;
};

struct DecodeOptions {
  bool skip_special_tokens = false;
  bool raw_bytes = false;  // byte-level BPE: leave invalid UTF-8 as it is instead of replacing it by U+FFFD
};

// Bytes that decode() writes. Movable; a default one is empty.
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

// Immutable after create(); any number of threads may use one Tokenizer at once. Movable.
class Tokenizer {
 public:
  // The tokenizer inside a model's file; keeps the model alive. O(vocabulary) time and memory, once. unsupported where
  // the model has none, corrupt_file where its vocabulary contradicts itself.
  static Result<Tokenizer> create(std::shared_ptr<const Model> model);

  // Encodes one text, or two (`pair`). Any bytes are a text: invalid UTF-8 is replaced by U+FFFD as the WHATWG
  // decoder does (one for each maximal subpart of a sequence). Equal input gives equal output on every machine and
  // locale. Errors: too_long, invalid_argument (max_length below the template's own tokens, a truncation
  // that cannot make room), out_of_memory; `encoding` is then unspecified but reusable.
  Status encode(std::string_view text, const EncodeOptions& options, Encoding* encoding) const;
  Status encode(std::string_view text, std::string_view pair, const EncodeOptions& options, Encoding* encoding) const;

  // Encodes the tokens [first, first + room) of `text`, room being max_length less the template, for reading a long
  // text by windows: window w of a text with overlap s starts at w * (room - s). The text is tokenized at first == 0
  // and remembered inside `encoding`; later windows must pass the same text, options and encoding.
  // Empty when `first` is beyond the text's last token. options.truncation and keep are not looked at.
  Status encode_window(std::string_view text, const EncodeOptions& options, int64_t first, Encoding* encoding) const;
  // The same for a pair: one text is read by windows, and the other is whole in each of them, as questions are asked of
  // a long text. options.truncation says which is read by windows: only_first or only_second, otherwise the longer one
  // (of two equal ones the second). Room is what max_length leaves beside template and the other text; if there is
  // none, invalid_argument.
  Status encode_window(std::string_view text, std::string_view pair, const EncodeOptions& options, int64_t first,
                       Encoding* encoding) const;

  // The text that `ids` stand for. Byte-level BPE: the tokens' bytes; WordPiece: words with spaces between, without
  // the ones before punctuation; unigram and BPE of characters: U+2581 becomes a space, but for one that was put before
  // the text. An id without a token is invalid_argument and named.
  Status decode(std::span<const int32_t> ids, const DecodeOptions& options, TextBuffer* text) const;

  // Tokens that the template adds to one text (or to a pair).
  int64_t template_tokens(bool pair) const;

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

 private:
  friend struct TokenizerFactory;
  friend struct WholeWords;
  struct State;
  explicit Tokenizer(std::unique_ptr<State> state);
  Status encode_texts(const std::string_view* texts, int count, const EncodeOptions& options, Encoding* encoding,
                      bool whole_words = false) const;
  Status window_texts(const std::string_view* texts, int count, const EncodeOptions& options, int64_t first,
                      Encoding* encoding) const;
  std::unique_ptr<State> state_;
};

}  // namespace LINFORMER_NAMESPACE
