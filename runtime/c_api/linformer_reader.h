/* What a model reads of a text, and what is in one call of a session: a part of linformer.h, which includes it and says
 * how handles, structs, texts, errors and threads are treated. */
#ifndef LINFORMER_C_API_READER_H
#define LINFORMER_C_API_READER_H

#include "linformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- What a model reads of a text -------------------------------------------------------------------------------- */

/* One sequence of a text: an element of each list for each token. Valid until the reader's next call. */
typedef struct lnf_sequence {
  size_t size;
  const int32_t* ids; /* pads that a session strips are still there */
  const uint8_t* type_ids;
  const int8_t* texts;     /* that a token is of: 0 or 1; -1 = the template */
  const uint32_t* offsets; /* [count][2], in the text that the token is of: code points, begin and end */
  size_t count;
  int64_t first[2]; /* of each text's tokens the first that is here: of windows */
  /* Of windows: those of the tokens of the text that is read by them which are in no other one farther from its ends,
   * begin and end. Each token is so in one window; of a sequence that is none, all are. */
  int64_t nearest[2];
} lnf_sequence;
/* Sets in `session`, which was initialised, what a session needs that runs the sequences of a reader with these
 * options: max_tokens, max_batch, max_rows, padding, precision, threads, backend and device. Its other fields stay. For
 * those who run sequences themselves; classifiers, embedders, runners and mask fillers create their own sessions.
 * `options` may be NULL. LNF_INVALID_ARGUMENT: a pad_to that doesn't fit the model. */
LNF_API lnf_code lnf_text_session_options(const lnf_model* model, const lnf_text_options* options,
                                          lnf_session_options* session, lnf_status* status);
/* Reads texts whole, cut or by windows, as the options say: max_tokens, overlap, on_long, truncation, keep, special
 * tokens and padding; the others are for those who run. `session` may be NULL, and isn't kept: its longest text and its
 * padding count instead of the options'. `apart` 1: the two texts of a pair are sequences of their own, as a head reads
 * them that compares two. `short_last_window` 1: the last window begins as far behind the one before as the others do,
 * and may be short; 0: it begins where it reaches the text's end. Errors: those of lnf_tokenizer_create(),
 * LNF_INVALID_ARGUMENT for limits that leave no room for a text. */
LNF_API lnf_code lnf_reader_create(const lnf_model* model, const lnf_text_options* options, const lnf_session* session,
                                   int32_t apart, int32_t short_last_window, lnf_reader** reader, lnf_status* status);
LNF_API void lnf_reader_free(lnf_reader* reader);
/* One that reads in the same way and shares the tokenizer, for another thread. */
LNF_API lnf_code lnf_reader_another(const lnf_reader* reader, lnf_reader** another, lnf_status* status);
/* One text, or two where `pair` isn't NULL; both must live until the sequences are read. *report (which may be NULL;
 * the caller sets its size) is valid until the next call; its code is the function's. */
LNF_API lnf_code lnf_reader_read(lnf_reader* reader, const char* text, size_t bytes, const char* pair,
                                 size_t pair_bytes, lnf_text_report* report, lnf_status* status);
/* Of the text that was read last: its windows, or 2 where the texts are apart; 0 after an error. */
LNF_API int64_t lnf_reader_sequences(const lnf_reader* reader);
/* Sequence i, from 0 on; the caller sets its size. LNF_INVALID_ARGUMENT where there is none. */
LNF_API lnf_code lnf_reader_sequence(lnf_reader* reader, int64_t i, lnf_sequence* sequence, lnf_status* status);
/* The longest sequence in tokens; 0 for NULL. */
LNF_API int64_t lnf_reader_max_tokens(const lnf_reader* reader);

/* Copies sequences until a call of the session, which isn't kept, is full. `max_rows`: tokens of the call at most; 0:
 * as many as the session planned. Sequences of fewer than `pad_to` ids are lengthened with `pad_id`; 0: none are.
 * LNF_INVALID_ARGUMENT: negative limits, pad_to without a pad id. */
LNF_API lnf_code lnf_batch_create(const lnf_session* session, int64_t max_rows, int64_t pad_to, int32_t pad_id,
                                  lnf_batch** batch, lnf_status* status);
LNF_API void lnf_batch_free(lnf_batch* batch);
LNF_API size_t lnf_batch_size(const lnf_batch* batch);  /* sequences */
LNF_API int64_t lnf_batch_rows(const lnf_batch* batch); /* that they take together */
/* Rows that a sequence of `count` ids takes, its pads and what the model puts before it among them. */
LNF_API int64_t lnf_batch_rows_of(const lnf_batch* batch, size_t count);
/* 1: `sequences` more, which take `rows` rows together, are in the limits of one call. */
LNF_API int32_t lnf_batch_fits(const lnf_batch* batch, int64_t rows, int64_t sequences);
/* `type_ids` may be NULL: all 0. What doesn't fit is taken too: the session says what is wrong with it. After an error
 * the batch is as before. */
LNF_API lnf_code lnf_batch_add(lnf_batch* batch, const int32_t* ids, const uint8_t* type_ids, size_t count,
                               lnf_status* status);
/* `count` vectors of `width` floats. */
LNF_API lnf_code lnf_batch_add_vectors(lnf_batch* batch, const float* vectors, size_t count, size_t width,
                                       lnf_status* status);
/* What lnf_run() takes: *inputs has lnf_batch_size() elements, valid until the batch's next call. */
LNF_API lnf_code lnf_batch_inputs(lnf_batch* batch, const lnf_input** inputs, lnf_status* status);
LNF_API void lnf_batch_clear(lnf_batch* batch); /* keeps its memory */

#ifdef __cplusplus
}
#endif

#endif
