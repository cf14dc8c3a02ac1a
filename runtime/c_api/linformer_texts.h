/* Scores, vectors and any outputs of texts: a part of linformer.h, which includes it and says how handles, structs,
 * texts, errors and threads are treated. */
#ifndef LINFORMER_C_API_TEXTS_H
#define LINFORMER_C_API_TEXTS_H

#include "linformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- Strings to scores and vectors ------------------------------------------------------------------------------- */

/* Of some of the model's heads, all in one pass; `heads` NULL: the first one. Heads that compare two texts don't go
 * with others, and heads that score each token with none. Errors: those of lnf_session_create() and
 * lnf_tokenizer_create(); LNF_UNSUPPORTED for a model that reads vectors. */
LNF_API lnf_code lnf_classifier_create(const lnf_model* model, const int32_t* heads, size_t head_count,
                                       const lnf_text_options* options, lnf_classifier** classifier,
                                       lnf_status* status);
LNF_API void lnf_classifier_free(lnf_classifier* classifier);
/* Of the head with this index in the list that the classifier was created with; 0: there is none. */
LNF_API int64_t lnf_classifier_classes(const lnf_classifier* classifier, size_t index);
/* probabilities[text_count][classes], of the first head. `bytes` may be NULL: the texts end with a 0. `pairs`: the
 * second text of each where the model reads pairs or the head compares two, else NULL. Batched by length; memory beside
 * the probabilities is bounded whatever the number of texts. The first text that has no answer is the error, and named:
 * LNF_INVALID_ARGUMENT, LNF_TOO_LONG as the options say, LNF_CORRUPT (the tokenizer has ids that the model hasn't),
 * LNF_INTERNAL (its numbers aren't finite). LNF_TOO_LONG also says that `capacity` is too little: nothing is written
 * then. After another error, and after LNF_CANCELLED, the values are unspecified. */
LNF_API lnf_code lnf_classify(lnf_classifier* classifier, const char* const* texts, const size_t* bytes,
                              const char* const* pairs, const size_t* pair_bytes, size_t text_count,
                              float* probabilities, size_t capacity, const lnf_control* control, lnf_status* status);
/* The same for each text by itself: one that can't be read doesn't end the call, its report has the error. */
LNF_API lnf_code lnf_classify_each(lnf_classifier* classifier, const char* const* texts, const size_t* bytes,
                                   const char* const* pairs, const size_t* pair_bytes, size_t text_count,
                                   lnf_visit visit, void* context, const lnf_control* control, lnf_status* status);

/* `pooling` LNF_POOL_DEFAULT: as the model says. `normalize`: 1 to divide by the length, 0 not, -1 as the model says.
 * Errors: those of lnf_session_create() and lnf_tokenizer_create(). */
LNF_API lnf_code lnf_embedder_create(const lnf_model* model, int32_t pooling, int32_t normalize,
                                     const lnf_text_options* options, lnf_embedder** embedder, lnf_status* status);
LNF_API void lnf_embedder_free(lnf_embedder* embedder);
LNF_API int64_t lnf_embedder_width(const lnf_embedder* embedder); /* 0 for NULL */
/* vectors[text_count][width]; otherwise as lnf_classify(). */
LNF_API lnf_code lnf_embed(lnf_embedder* embedder, const char* const* texts, const size_t* bytes, size_t text_count,
                           float* vectors, size_t capacity, const lnf_control* control, lnf_status* status);
LNF_API lnf_code lnf_embed_each(lnf_embedder* embedder, const char* const* texts, const size_t* bytes,
                                size_t text_count, lnf_visit visit, void* context, const lnf_control* control,
                                lnf_status* status);

/* Any outputs that give a row for each text, in one pass: LNF_LOGITS, LNF_PROBABILITIES, LNF_POOLED, LNF_EMBEDDINGS.
 * Of `outputs` kind, head and pooling are read. Errors: those of lnf_session_create() and lnf_tokenizer_create(), and
 * LNF_INVALID_ARGUMENT for outputs that have a row for each token, or for a text beside others for two. */
LNF_API lnf_code lnf_runner_create(const lnf_model* model, const lnf_output* outputs, size_t output_count,
                                   const lnf_text_options* options, lnf_runner** runner, lnf_status* status);
LNF_API void lnf_runner_free(lnf_runner* runner);
/* Floats of a text's row of the output with this index; 0: there is none. */
LNF_API int64_t lnf_runner_columns(const lnf_runner* runner, size_t output);
/* As lnf_classify_each(); the values of a report are the outputs' rows, one after the other. */
LNF_API lnf_code lnf_run_each(lnf_runner* runner, const char* const* texts, const size_t* bytes,
                              const char* const* pairs, const size_t* pair_bytes, size_t text_count, lnf_visit visit,
                              void* context, const lnf_control* control, lnf_status* status);

#ifdef __cplusplus
}
#endif

#endif
