/* Tokenizers. This header is a part of linformer.h, which includes it and has the rules for handles, structs, texts,
 * errors and threads. */
#ifndef LINFORMER_C_API_TOKENIZER_H
#define LINFORMER_C_API_TOKENIZER_H

#include "linformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- Tokenizers ------------------------------------------------------------------------------------------------- */

/* Creates the tokenizer of a model. It takes O(vocabulary) time and memory. Returns LNF_UNSUPPORTED if the model has no
 * tokenizer, or one that this version can't run, and LNF_CORRUPT if its vocabulary contradicts itself. */
LNF_API lnf_code lnf_tokenizer_create(const lnf_model* model, lnf_tokenizer** tokenizer, lnf_status* status);
LNF_API void lnf_tokenizer_free(lnf_tokenizer* tokenizer);

enum { LNF_TRUNCATE_NONE = 0, LNF_TRUNCATE_LONGEST_FIRST, LNF_TRUNCATE_ONLY_FIRST, LNF_TRUNCATE_ONLY_SECOND };
enum { LNF_KEEP_HEAD = 0, LNF_KEEP_TAIL };
typedef struct lnf_encode_options {
  size_t size;
  int64_t max_length; /* The most tokens, including the template's. 0: there is no limit. */
  int32_t truncation;
  int32_t keep;                 /* LNF_KEEP_...: which end of a cut text is kept. */
  int32_t add_special_tokens;   /* 0: the template around the texts is left out. */
  int32_t match_special_tokens; /* 0: special tokens that are written in a text are plain characters. */
} lnf_encode_options;
LNF_API void lnf_encode_options_init_sized(lnf_encode_options* to, size_t size);
#define lnf_encode_options_init(to) lnf_encode_options_init_sized((to), sizeof *(to))

/* Creates an object for a result and its buffers, which calls reuse. Each thread should keep one. */
LNF_API lnf_code lnf_encoding_create(lnf_encoding** encoding, lnf_status* status);
LNF_API void lnf_encoding_free(lnf_encoding* encoding);
/* Encodes one text, or two if `pair` isn't NULL. After an error the encoding is empty. It takes O(n log n) time for n
 * bytes. Returns LNF_INVALID_ARGUMENT (wrong options, or a max_length without room for the template) and LNF_TOO_LONG
 * (more bytes than a text may have). */
LNF_API lnf_code lnf_encode(const lnf_tokenizer* tokenizer, const char* text, size_t bytes, const char* pair,
                            size_t pair_bytes, const lnf_encode_options* options, lnf_encoding* encoding,
                            lnf_status* status);
/* These functions return the result of the last lnf_encode(), which is valid until the next one. Each array has
 * lnf_encoding_size() elements. */
LNF_API size_t lnf_encoding_size(const lnf_encoding* encoding);
LNF_API const int32_t* lnf_encoding_ids(const lnf_encoding* encoding);
LNF_API const uint8_t* lnf_encoding_type_ids(const lnf_encoding* encoding);
LNF_API const uint32_t* lnf_encoding_offsets(const lnf_encoding* encoding); /* [size][2]: code points, begin and end. */
LNF_API int64_t lnf_encoding_total(const lnf_encoding* encoding); /* The size that it would have without truncation. */
/* Writes the text that ids stand for. *bytes gets the bytes that the whole text needs, including the terminator.
 * Returns LNF_TOO_LONG if it doesn't fit. With `text` NULL and `capacity` 0, it only sets *bytes and returns LNF_OK.
 * Returns LNF_INVALID_ARGUMENT for ids outside the vocabulary. */
LNF_API lnf_code lnf_decode(const lnf_tokenizer* tokenizer, const int32_t* ids, size_t count, int32_t skip_special,
                            char* text, size_t capacity, size_t* bytes, lnf_status* status);

#ifdef __cplusplus
}
#endif

#endif
