// The C functions for tokenizers.
#include "c_api/handles.h"

using namespace linformer;
using namespace linformer::c_api;

static_assert(LNF_TRUNCATE_ONLY_SECOND == static_cast<int>(Truncation::only_second));
static_assert(sizeof(Offset) == 2 * sizeof(uint32_t));

lnf_code lnf_tokenizer_create(const lnf_model* model, lnf_tokenizer** tokenizer, lnf_status* status) {
  if (tokenizer == nullptr) return report(missing("the pointer that receives the tokenizer"), status);
  *tokenizer = nullptr;
  if (model == nullptr) return report(missing("the model"), status);
  Result<Tokenizer> made = Tokenizer::create(model->model);
  return report(made.ok() ? make_handle(std::move(made.value()), tokenizer) : made.status(), status);
}

void lnf_tokenizer_free(lnf_tokenizer* tokenizer) { delete tokenizer; }

void lnf_encode_options_init_sized(lnf_encode_options* to, size_t size) {
  init_struct(to, size, {sizeof *to, 0, LNF_TRUNCATE_LONGEST_FIRST, LNF_KEEP_HEAD, 1, 1});
}

lnf_code lnf_encoding_create(lnf_encoding** encoding, lnf_status* status) {
  if (encoding == nullptr) return report(missing("the pointer that receives the encoding"), status);
  *encoding = nullptr;
  return report(make_handle(Encoding(), encoding), status);
}

void lnf_encoding_free(lnf_encoding* encoding) { delete encoding; }

lnf_code lnf_encode(const lnf_tokenizer* tokenizer, const char* text, size_t bytes, const char* pair, size_t pair_bytes,
                    const lnf_encode_options* options, lnf_encoding* encoding, lnf_status* status) {
  if (encoding != nullptr) encoding->valid = false;
  const auto encode = [&]() -> Status {
    if (tokenizer == nullptr) return missing("the tokenizer");
    if (encoding == nullptr) return missing("the encoding");
    if (text == nullptr && bytes > 0) return missing("the text");
    lnf_encode_options read;
    lnf_encode_options_init(&read);
    LINFORMER_TRY(read_struct(options, "lnf_encode_options", &read));
    if (!within(read.truncation, LNF_TRUNCATE_NONE, LNF_TRUNCATE_ONLY_SECOND) ||
        !within(read.keep, LNF_KEEP_HEAD, LNF_KEEP_TAIL) || read.max_length < 0) {
      return Status::error(Code::invalid_argument,
                           "lnf_encode_options: truncation %d, keep %d, max_length %lld: use LNF_TRUNCATE_..., "
                           "LNF_KEEP_... and 0 or more tokens",
                           static_cast<int>(read.truncation), static_cast<int>(read.keep),
                           static_cast<long long>(read.max_length));
    }
    EncodeOptions to;
    to.add_special_tokens = read.add_special_tokens != 0;
    to.match_special_tokens = read.match_special_tokens != 0;
    to.truncation = static_cast<Truncation>(read.truncation);
    to.keep = static_cast<Keep>(read.keep);
    to.max_length = read.max_length;
    const std::string_view first(text, bytes);
    LINFORMER_TRY(pair != nullptr ? tokenizer->tokenizer.encode(first, {pair, pair_bytes}, to, &encoding->encoding)
                                  : tokenizer->tokenizer.encode(first, to, &encoding->encoding));
    encoding->valid = true;
    return {};
  };
  return report(encode(), status);
}

size_t lnf_encoding_size(const lnf_encoding* encoding) {
  return encoding != nullptr && encoding->valid ? encoding->encoding.ids().size() : 0;
}

const int32_t* lnf_encoding_ids(const lnf_encoding* encoding) {
  return encoding != nullptr && encoding->valid ? encoding->encoding.ids().data() : nullptr;
}

const uint8_t* lnf_encoding_type_ids(const lnf_encoding* encoding) {
  return encoding != nullptr && encoding->valid ? encoding->encoding.type_ids().data() : nullptr;
}

const uint32_t* lnf_encoding_offsets(const lnf_encoding* encoding) {
  if (encoding == nullptr || !encoding->valid || encoding->encoding.offsets().empty()) return nullptr;
  return &encoding->encoding.offsets()[0].begin;
}

int64_t lnf_encoding_total(const lnf_encoding* encoding) {
  return encoding != nullptr && encoding->valid ? encoding->encoding.total_tokens() : 0;
}

lnf_code lnf_decode(const lnf_tokenizer* tokenizer, const int32_t* ids, size_t count, int32_t skip_special, char* text,
                    size_t capacity, size_t* bytes, lnf_status* status) {
  const auto decode = [&]() -> Status {
    if (tokenizer == nullptr) return missing("the tokenizer");
    if (bytes == nullptr) return missing("the pointer that receives the number of bytes");
    *bytes = 0;
    if (ids == nullptr && count > 0) return missing("the list of ids");
    if (text == nullptr && capacity > 0) return missing("the buffer for the text");
    DecodeOptions options;
    options.skip_special_tokens = skip_special != 0;
    TextBuffer buffer;
    LINFORMER_TRY(tokenizer->tokenizer.decode({ids, count}, options, &buffer));
    *bytes = copy_text(buffer.view(), text, capacity);
    if (text == nullptr || *bytes <= capacity) return {};
    return Status::error(Code::too_long, "the text needs %zu bytes, but the buffer has room for %zu", *bytes, capacity);
  };
  return report(decode(), status);
}
