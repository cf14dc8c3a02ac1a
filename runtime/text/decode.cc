// Decodes token ids to text.
#include <cstdlib>
#include <new>

#include "linformer/tokenizer.h"
#include "text/encoding.h"
#include "text/tokenizer_state.h"
#include "text/unicode.h"

namespace LINFORMER_NAMESPACE {
namespace {

// Replacements that restore English spacing, which was lost when the text was split at punctuation. Hugging Face's
// WordPiece decoder applies them to each token in this order.
constexpr struct {
  std::string_view from, to;
} cleanups[] = {{" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
                {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};

bool append_replaced(std::string_view text, std::string_view from, std::string_view to, Array<char>* replaced) {
  for (;;) {
    const size_t at = text.find(from);
    if (at == std::string_view::npos) return replaced->try_append(text.data(), text.size());
    if (!replaced->try_append(text.data(), at) || !replaced->try_append(to.data(), to.size())) return false;
    text.remove_prefix(at + from.size());
  }
}

// Applies the replacements to the bytes of `text` from `begin` on. Returns false if there is no memory.
bool clean_up(size_t begin, Array<char>* text, Array<char>* scratch) {
  for (const auto& cleanup : cleanups) {
    const std::string_view token(text->data() + begin, text->size() - begin);
    if (token.find(cleanup.from) == std::string_view::npos) continue;
    scratch->clear();
    if (!append_replaced(token, cleanup.from, cleanup.to, scratch)) return false;
    text->truncate(begin);
    if (!text->try_append(scratch->data(), scratch->size())) return false;
  }
  return true;
}

// Replaces each byte of `text` from `begin` on by U+FFFD, unless these bytes are valid UTF-8. Returns false if there is
// no memory.
bool replace_byte_run(size_t begin, Array<char>* text) {
  const size_t bytes = text->size() - begin;
  if (valid_utf8_prefix({text->data() + begin, bytes}) == bytes) return true;
  text->truncate(begin);
  for (size_t i = 0; i < bytes; ++i) {
    if (!text->try_append("\xEF\xBF\xBD", 3)) return false;
  }
  return true;
}

}  // namespace

struct TextBuffer::State {
  Array<char> bytes;
};

TextBuffer::TextBuffer() = default;
TextBuffer::TextBuffer(TextBuffer&&) noexcept = default;
TextBuffer& TextBuffer::operator=(TextBuffer&&) noexcept = default;
TextBuffer::~TextBuffer() = default;

std::string_view TextBuffer::view() const {
  return state_ ? std::string_view(state_->bytes.data(), state_->bytes.size()) : std::string_view();
}

Status Tokenizer::decode(std::span<const int32_t> ids, const DecodeOptions& options, TextBuffer* text) const {
  const Status no_memory = Status::error(Code::out_of_memory, "no memory for the text of %zu tokens", ids.size());
  Array<char> decoded, scratch;
  const std::string_view prefix(state_->continuing_prefix.data(), state_->continuing_prefix.size());
  const TokenizerKind kind = state_->kind;
  const bool bytes_fall_back = (kind == TokenizerKind::unigram && state_->unigram.replaces_invalid_byte_runs()) ||
                               (kind == TokenizerKind::bpe && state_->bpe_decoding.bytes);
  const bool replaces_byte_runs = bytes_fall_back && !options.raw_bytes;
  size_t byte_run = 0;  // Where the bytes from byte tokens at the end of `decoded` begin.
  bool first = true;
  for (size_t i = 0; i < ids.size(); ++i) {
    Vocabulary::Name name;
    if (!state_->vocabulary.name_of(ids[i], &name)) {
      return Status::error(Code::invalid_argument, "id %d at position %zu has no token in this vocabulary", ids[i], i);
    }
    if (options.skip_special_tokens && name.special) continue;
    std::string_view bytes = name.bytes;
    const size_t begin = decoded.size();
    if (kind == TokenizerKind::wordpiece && !first) {
      if (!prefix.empty() && bytes.substr(0, prefix.size()) == prefix) {
        bytes.remove_prefix(prefix.size());
      } else if (!decoded.try_push(' ')) {
        return no_memory;
      }
    }
    if (kind == TokenizerKind::unigram || kind == TokenizerKind::bpe) {
      const bool is_unigram = kind == TokenizerKind::unigram;
      const bool is_byte =
          is_unigram ? state_->unigram.decodes_to_byte(bytes) : state_->bpe_decoding.is_byte_token(bytes);
      if (replaces_byte_runs && !is_byte && !replace_byte_run(byte_run, &decoded)) return no_memory;
      if (!(is_unigram ? state_->unigram.append_decoded(bytes, first, ids[i] == state_->vocabulary.unk(), &decoded)
                       : state_->bpe_decoding.append_decoded(bytes, first, &decoded))) {
        return no_memory;
      }
      if (!is_byte) byte_run = decoded.size();
    } else if (!decoded.try_append(bytes.data(), bytes.size())) {
      return no_memory;
    }
    if (kind == TokenizerKind::wordpiece && !clean_up(begin, &decoded, &scratch)) return no_memory;
    first = false;
  }
  if (replaces_byte_runs && !replace_byte_run(byte_run, &decoded)) return no_memory;
  const std::string_view view(decoded.data(), decoded.size());
  if (!options.raw_bytes && valid_utf8_prefix(view) != view.size()) {
    scratch.clear();
    if (!append_repaired_utf8(view, &scratch)) return no_memory;
    decoded = std::move(scratch);
  }
  if (!text->state_) text->state_.reset(new (std::nothrow) TextBuffer::State);
  if (!text->state_) return no_memory;
  text->state_->bytes = std::move(decoded);
  return {};
}

}  // namespace LINFORMER_NAMESPACE
