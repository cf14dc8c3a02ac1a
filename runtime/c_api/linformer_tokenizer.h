/* Tokenizers: a part of linformer.h, which includes it and says how handles, structs, texts, errors and threads are
 * treated. */
#ifndef LINFORMER_C_API_TOKENIZER_H
#define LINFORMER_C_API_TOKENIZER_H

#include "linformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- Tokenizers ------------------------------------------------------------------------------------------------- */

/* LNF_UNSUPPORTED: the model has none, or one that this version can't run; LNF_CORRUPT: its vocabulary contradicts
 * itself. O(vocabulary) time and memory. */
LNF_API lnf_code lnf_tokenizer_create(const lnf_model* model, lnf_tokenizer** tokenizer, lnf_status* status);
LNF_API void lnf_tokenizer_free(lnf_tokenizer* tokenizer);

enum { LNF_TRUNCATE_NONE = 0, LNF_TRUNCATE_LONGEST_FIRST, LNF_TRUNCATE_ONLY_FIRST, LNF_TRUNCATE_ONLY_SECOND };
enum { LNF_KEEP_HEAD = 0, LNF_KEEP_TAIL };
typedef struct lnf_encode_options {
  size_t size;
  int64_t max_length; /* tokens, the template's included; 0: no limit */
  int32_t truncation;
  int32_t keep;                 /* LNF_KEEP_...: which end of a cut text stays */
  int32_t add_special_tokens;   /* 0: without the template around the texts */
  int32_t match_special_tokens; /* 0: special tokens written in a text are plain characters */
} lnf_encode_options;
LNF_API void lnf_encode_options_init_sized(lnf_encode_options* to, size_t size);
#define lnf_encode_options_init(to) lnf_encode_options_init_sized((to), sizeof *(to))

/* Holds a result and its buffers, which calls reuse: keep one for each thread. */
LNF_API lnf_code lnf_encoding_create(lnf_encoding** encoding, lnf_status* status);
LNF_API void lnf_encoding_free(lnf_encoding* encoding);
/* One text, or two where `pair` isn't NULL. After an error the encoding is empty. O(n log n) time of n bytes. Errors:
 * LNF_INVALID_ARGUMENT (options, a max_length that has no room for the template), LNF_TOO_LONG (more bytes than a text
 * may have). */
LNF_API lnf_code lnf_encode(const lnf_tokenizer* tokenizer, const char* text, size_t bytes, const char* pair,
                            size_t pair_bytes, const lnf_encode_options* options, lnf_encoding* encoding,
                            lnf_status* status);
/* Of the last lnf_encode(), valid until the next one: lnf_encoding_size() elements. */
LNF_API size_t lnf_encoding_size(const lnf_encoding* encoding);
LNF_API const int32_t* lnf_encoding_ids(const lnf_encoding* encoding);
LNF_API const uint8_t* lnf_encoding_type_ids(const lnf_encoding* encoding);
LNF_API const uint32_t* lnf_encoding_offsets(const lnf_encoding* encoding); /* [size][2]: code points, begin and end */
LNF_API int64_t lnf_encoding_total(const lnf_encoding* encoding);           /* its size without truncation */
/* The text of ids, as snprintf; *bytes is what the whole text needs, the terminator included. LNF_TOO_LONG where it
 * doesn't fit; `text` may be NULL with capacity 0, which is no error. LNF_INVALID_ARGUMENT: ids outside the vocabulary.
 */
LNF_API lnf_code lnf_decode(const lnf_tokenizer* tokenizer, const int32_t* ids, size_t count, int32_t skip_special,
                            char* text, size_t capacity, size_t* bytes, lnf_status* status);

#ifdef __cplusplus
}
#endif

#endif
