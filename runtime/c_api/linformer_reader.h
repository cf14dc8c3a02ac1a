/* Readers, which turn texts into the sequences that a model reads, and batches of sequences for sessions. It is a part
 * of linformer.h, which includes it and has the rules for handles, structs, texts, errors and threads. */
#ifndef LINFORMER_C_API_READER_H
#define LINFORMER_C_API_READER_H

#include "linformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- Readers and batches ----------------------------------------------------------------------------------------- */

/* One sequence of a text. Each list has an element for each token. It is valid until the reader's next call. */
typedef struct lnf_sequence {
  size_t size;
  const int32_t* ids; /* Pads that a session strips are still there. */
  const uint8_t* type_ids;
  const int8_t* texts;     /* Which text each token belongs to: 0 or 1, or -1 for the template. */
  const uint32_t* offsets; /* [count][2]: the token's place in its text, in code points, begin and end. */
  size_t count;
  /* For windows: for each text, the index of its first token that is in this sequence. */
  int64_t first[2];
  /* For windows: a range [begin, end) of the tokens of the text that is read by windows. These tokens are at least as
   * far from the ends of this window as from the ends of any other window that has them. The ranges of all windows
   * cover each token exactly once. In a sequence that isn't a window, the range covers all tokens. */
  int64_t nearest[2];
} lnf_sequence;
/* Changes the fields of `session` (which must be initialised) that a session needs to run the sequences of a reader
 * with these options: max_tokens, max_batch, max_rows, padding, precision, threads, backend and device. The other
 * fields stay. It is for code that runs sequences itself; classifiers, embedders, runners and mask fillers create their
 * own sessions. `options` may be NULL. Returns LNF_INVALID_ARGUMENT for a pad_to that doesn't fit the model. */
LNF_API lnf_code lnf_text_session_options(const lnf_model* model, const lnf_text_options* options,
                                          lnf_session_options* session, lnf_status* status);
/* Creates a reader, which reads texts whole, cut or by windows. Of the options it uses max_tokens, overlap, on_long,
 * truncation, keep, the special tokens and padding; the other options are for the code that runs the sequences.
 * `session` may be NULL. If it isn't, its longest sequence and its padding are used instead of those in the options;
 * the reader doesn't keep it. `apart` 1: the two texts of a pair are sequences of their own, as a head that compares
 * two texts reads them. `short_last_window` 1: the last window begins at the same distance from the window before it as
 * the other windows, and may be short; 0: it ends where the text ends. Returns the errors of lnf_tokenizer_create(),
 * and LNF_INVALID_ARGUMENT for limits that leave no room for a text. */
LNF_API lnf_code lnf_reader_create(const lnf_model* model, const lnf_text_options* options, const lnf_session* session,
                                   int32_t apart, int32_t short_last_window, lnf_reader** reader, lnf_status* status);
LNF_API void lnf_reader_free(lnf_reader* reader);
/* Creates a reader that reads in the same way and shares the tokenizer, for another thread. */
LNF_API lnf_code lnf_reader_another(const lnf_reader* reader, lnf_reader** another, lnf_status* status);
/* Reads one text, or two if `pair` isn't NULL. Both texts must live until their sequences were read. `report` may be
 * NULL. If it isn't, the caller sets report->size, the report is valid until the next call, and its code is the one
 * that the function returns. */
LNF_API lnf_code lnf_reader_read(lnf_reader* reader, const char* text, size_t bytes, const char* pair,
                                 size_t pair_bytes, lnf_text_report* report, lnf_status* status);
/* Returns the number of sequences of the text that was read last: its windows, or 2 if its two texts are apart, or 0
 * after an error. */
LNF_API int64_t lnf_reader_sequences(const lnf_reader* reader);
/* Gets sequence i, from 0 on. The caller sets the size of `sequence`. Returns LNF_INVALID_ARGUMENT if there is none. */
LNF_API lnf_code lnf_reader_sequence(lnf_reader* reader, int64_t i, lnf_sequence* sequence, lnf_status* status);
/* Returns the most tokens of a sequence, without prefix_rows, or 0 for NULL. */
LNF_API int64_t lnf_reader_max_tokens(const lnf_reader* reader);

/* Creates a batch, which copies sequences until a call of the session is full. The batch doesn't keep the session.
 * `max_rows` is the most rows of a call; 0: as many as the session planned for. Sequences of fewer than `pad_to` ids
 * are lengthened with `pad_id`; 0: none are. Returns LNF_INVALID_ARGUMENT for negative limits, and for pad_to without a
 * pad id. */
LNF_API lnf_code lnf_batch_create(const lnf_session* session, int64_t max_rows, int64_t pad_to, int32_t pad_id,
                                  lnf_batch** batch, lnf_status* status);
LNF_API void lnf_batch_free(lnf_batch* batch);
LNF_API size_t lnf_batch_size(const lnf_batch* batch);  /* The number of sequences. */
LNF_API int64_t lnf_batch_rows(const lnf_batch* batch); /* The rows of all sequences together. */
/* Returns the rows of a sequence of `count` ids, including its pads and the rows that the model puts before it. */
LNF_API int64_t lnf_batch_rows_of(const lnf_batch* batch, size_t count);
/* Returns 1 if one call has room for `sequences` more sequences of `rows` rows in all, and 0 otherwise. */
LNF_API int32_t lnf_batch_fits(const lnf_batch* batch, int64_t rows, int64_t sequences);
/* Adds a sequence. `type_ids` may be NULL for all 0. A sequence that doesn't fit is added, too; lnf_run() then returns
 * the error. After an error the batch is unchanged. */
LNF_API lnf_code lnf_batch_add(lnf_batch* batch, const int32_t* ids, const uint8_t* type_ids, size_t count,
                               lnf_status* status);
/* Adds a sequence of `count` vectors of `width` floats each. */
LNF_API lnf_code lnf_batch_add_vectors(lnf_batch* batch, const float* vectors, size_t count, size_t width,
                                       lnf_status* status);
/* Gets the inputs for lnf_run(). *inputs has lnf_batch_size() elements, which are valid until the batch's next call. */
LNF_API lnf_code lnf_batch_inputs(lnf_batch* batch, const lnf_input** inputs, lnf_status* status);
LNF_API void lnf_batch_clear(lnf_batch* batch); /* Keeps the memory. */

#ifdef __cplusplus
}
#endif

#endif
