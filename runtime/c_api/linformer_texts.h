/* Classifiers, embedders and runners of any outputs, which take texts. This header is a part of linformer.h, which
 * includes it and has the rules for handles, structs, texts, errors and threads. */
#ifndef LINFORMER_C_API_TEXTS_H
#define LINFORMER_C_API_TEXTS_H

#include "linformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- Strings to scores and vectors ------------------------------------------------------------------------------- */

/* Creates a classifier that computes some of the model's heads, all in one pass. If `heads` is NULL, it computes the
 * first head. A head that compares two texts can't be combined with heads that don't, and a head that scores each token
 * can't be used. Returns the errors of lnf_session_create() and lnf_tokenizer_create(), and LNF_UNSUPPORTED for a model
 * that reads vectors. */
LNF_API lnf_code lnf_classifier_create(const lnf_model* model, const int32_t* heads, size_t head_count,
                                       const lnf_text_options* options, lnf_classifier** classifier,
                                       lnf_status* status);
LNF_API void lnf_classifier_free(lnf_classifier* classifier);
/* Returns the outputs of the head with this index in the list that the classifier was created with, or 0 if there is
 * none. */
LNF_API int64_t lnf_classifier_classes(const lnf_classifier* classifier, size_t index);
/* Writes the probabilities of the first head to probabilities[text_count][classes].
 *
 *   const char* const texts[] = {"A lovely, moving film.", "What a waste of two hours!"};
 *   float probabilities[2 * 2]; // two texts, two classes
 *   lnf_code code = lnf_classify(classifier, texts, NULL, NULL, NULL, 2, probabilities, 4, NULL, &status);
 *
 * `bytes` has the lengths of the texts; it may be NULL if each text ends with a 0. `pairs` has the second text of each
 * pair if the model reads pairs or the head compares two texts; otherwise it is NULL. `capacity` is the number of
 * floats in `probabilities`. Apart from the probabilities, memory is bounded whatever the number of texts. If a text
 * can't be classified, the function returns an error that names the first such text: LNF_INVALID_ARGUMENT, LNF_TOO_LONG
 * if the options say so, LNF_CORRUPT (the tokenizer has ids that the model lacks) or LNF_INTERNAL (its numbers aren't
 * finite). It also returns LNF_TOO_LONG if `capacity` is too small; nothing is written then. After any other error, and
 * after LNF_CANCELLED, the values are unspecified. */
LNF_API lnf_code lnf_classify(lnf_classifier* classifier, const char* const* texts, const size_t* bytes,
                              const char* const* pairs, const size_t* pair_bytes, size_t text_count,
                              float* probabilities, size_t capacity, const lnf_control* control, lnf_status* status);
/* Calls visit() for each text with its report. A text that can't be read has an error in its report and doesn't end the
 * call. The other arguments are those of lnf_classify(). */
LNF_API lnf_code lnf_classify_each(lnf_classifier* classifier, const char* const* texts, const size_t* bytes,
                                   const char* const* pairs, const size_t* pair_bytes, size_t text_count,
                                   lnf_visit visit, void* context, const lnf_control* control, lnf_status* status);

/* Creates an embedder. `pooling` may be LNF_POOL_DEFAULT: the model's own way. `normalize` is 1 to divide each vector
 * by its length, 0 not to, and -1 to do what the model says. Returns the errors of lnf_session_create() and
 * lnf_tokenizer_create(). */
LNF_API lnf_code lnf_embedder_create(const lnf_model* model, int32_t pooling, int32_t normalize,
                                     const lnf_text_options* options, lnf_embedder** embedder, lnf_status* status);
LNF_API void lnf_embedder_free(lnf_embedder* embedder);
LNF_API int64_t lnf_embedder_width(const lnf_embedder* embedder); /* 0 for NULL. */
/* Write the vectors: lnf_embed() to vectors[text_count][width], as lnf_classify() does, and lnf_embed_each() to the
 * reports, as lnf_classify_each() does. */
LNF_API lnf_code lnf_embed(lnf_embedder* embedder, const char* const* texts, const size_t* bytes, size_t text_count,
                           float* vectors, size_t capacity, const lnf_control* control, lnf_status* status);
LNF_API lnf_code lnf_embed_each(lnf_embedder* embedder, const char* const* texts, const size_t* bytes,
                                size_t text_count, lnf_visit visit, void* context, const lnf_control* control,
                                lnf_status* status);

/* Creates a runner for any outputs that give a row for each text, in one pass: LNF_LOGITS, LNF_PROBABILITIES,
 * LNF_POOLED and LNF_EMBEDDINGS. Of `outputs`, kind, head and pooling are read. Returns the errors of
 * lnf_session_create() and lnf_tokenizer_create(), and LNF_INVALID_ARGUMENT if an output has a row for each token, or
 * if one has a row for each text and another a row for each two texts. */
LNF_API lnf_code lnf_runner_create(const lnf_model* model, const lnf_output* outputs, size_t output_count,
                                   const lnf_text_options* options, lnf_runner** runner, lnf_status* status);
LNF_API void lnf_runner_free(lnf_runner* runner);
/* Returns the floats in a row of the output with this index, or 0 if there is none. */
LNF_API int64_t lnf_runner_columns(const lnf_runner* runner, size_t output);
/* As lnf_classify_each(). The values of a report are the rows of the outputs, one after the other. */
LNF_API lnf_code lnf_run_each(lnf_runner* runner, const char* const* texts, const size_t* bytes,
                              const char* const* pairs, const size_t* pair_bytes, size_t text_count, lnf_visit visit,
                              void* context, const lnf_control* control, lnf_status* status);

#ifdef __cplusplus
}
#endif

#endif
