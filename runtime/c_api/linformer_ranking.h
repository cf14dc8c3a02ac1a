/* Reranking, classification by any labels, search in vectors, and embedders of shorter or sparse vectors. It is a part
 * of linformer.h, which includes it and has the rules for handles, structs, texts, errors and threads. */
#ifndef LINFORMER_C_API_RANKING_H
#define LINFORMER_C_API_RANKING_H

#include "linformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A score and the number, from 0 on, of the document or row that it belongs to. */
typedef struct lnf_scored {
  int64_t index;
  float score;
} lnf_scored;

/* --- Reranking --------------------------------------------------------------------------------------------------- */

typedef struct lnf_reranker lnf_reranker;
/* Creates a reranker. `head` is the index of a classification head that has one output and reads two texts as a pair,
 * or that compares two texts and has one output or two. -1: the model's first head of the first kind, or else of the
 * second. `logits` 1: the scores are the head's outputs. `logits` 0: the scores are the model's own activation of the
 * outputs if the head is of the kind LNF_SCORE, and otherwise their sigmoid. Returns the errors of lnf_session_create()
 * and lnf_tokenizer_create(), LNF_UNSUPPORTED if the model has no such head, and LNF_INVALID_ARGUMENT if `head` is
 * another kind of head. */
LNF_API lnf_code lnf_reranker_create(const lnf_model* model, int32_t head, int32_t logits,
                                     const lnf_text_options* options, lnf_reranker** reranker, lnf_status* status);
LNF_API void lnf_reranker_free(lnf_reranker* reranker);
/* Returns the index of the head that gives the scores, or -1 for NULL. */
LNF_API int32_t lnf_reranker_head(const lnf_reranker* reranker);
/* Writes the documents with the highest scores to best[capacity], the best first and documents of equal scores in their
 * order. *count gets their number. `query_bytes` is the length of the query. `bytes` may be NULL if each document ends
 * with a 0. If a document can't be scored, it returns an error that names the first such document, as lnf_classify()
 * does. Memory doesn't grow with the number of documents. */
LNF_API lnf_code lnf_rerank(lnf_reranker* reranker, const char* query, size_t query_bytes, const char* const* documents,
                            const size_t* bytes, size_t document_count, lnf_scored* best, size_t capacity,
                            size_t* count, const lnf_control* control, lnf_status* status);
/* Scores each query with the document at the same place, in order. The score is the only value of a report. The
 * arguments are those of lnf_classify_each(), with the queries as texts and the documents as pairs. Neither may be
 * NULL. */
LNF_API lnf_code lnf_rerank_each(lnf_reranker* reranker, const char* const* queries, const size_t* query_bytes,
                                 const char* const* documents, const size_t* bytes, size_t count, lnf_visit visit,
                                 void* context, const lnf_control* control, lnf_status* status);

/* --- Zero-shot classification ------------------------------------------------------------------------------------ */

typedef struct lnf_zero_shot lnf_zero_shot;
typedef struct lnf_label_score {
  size_t label; /* The index into the labels. */
  float probability;
} lnf_label_score;
/* The scores of one text. It is valid during the visit. */
typedef struct lnf_zero_shot_scores {
  size_t size;
  const lnf_text_report* report; /* The report of the longest sequence: the text and one label's sentence. */
  /* One for each label: the best first, and labels of equal scores in their order. There are none after an error. */
  const lnf_label_score* scores;
  size_t score_count;
} lnf_zero_shot_scores;
/* Called for each text, in order, on the thread that made the call. If it returns 0, the call ends with LNF_OK. */
typedef int (*lnf_zero_shot_visit)(void* context, const lnf_zero_shot_scores* scores);

/* Creates a zero-shot classifier for a model that was trained for natural language inference. `head` is its
 * classification head. `label_bytes` may be NULL if each label ends with a 0. `hypothesis` is the sentence of a label,
 * with {} in the place of the label and a 0 at its end. NULL: "This example is {}.". `multi_label` 1: each label is
 * judged by itself. `multi_label` 0: the probabilities of all labels add up to 1. The option truncation is ignored: the
 * text is cut, and never the sentence. Returns the errors of lnf_session_create() and lnf_tokenizer_create(),
 * LNF_UNSUPPORTED if the head has no class for entailment, and LNF_INVALID_ARGUMENT for labels and a hypothesis that
 * are wrong. */
LNF_API lnf_code lnf_zero_shot_create(const lnf_model* model, int32_t head, const char* const* labels,
                                      const size_t* label_bytes, size_t label_count, const char* hypothesis,
                                      int32_t multi_label, const lnf_text_options* options, lnf_zero_shot** zero_shot,
                                      lnf_status* status);
LNF_API void lnf_zero_shot_free(lnf_zero_shot* zero_shot);
/* Scores each text. A text that can't be read has an error in its report and doesn't end the call. */
LNF_API lnf_code lnf_zero_shot_each(lnf_zero_shot* zero_shot, const char* const* texts, const size_t* bytes,
                                    size_t text_count, lnf_zero_shot_visit visit, void* context,
                                    const lnf_control* control, lnf_status* status);

/* --- Search in vectors ------------------------------------------------------------------------------------------- */

typedef struct lnf_search lnf_search;
/* How near two vectors are: the cosine of the angle between them, or their dot product. */
enum { LNF_COSINE = 0, LNF_DOT };
/* Creates a search for the rows of rows[row_count][width] that are nearest to a query. It looks at all rows. The rows
 * stay the caller's and must not change while they are searched. They may be a mapped file of any size. `top_k` is the
 * number of rows that are found for a query. `threads` is the number of threads, including the caller's; 0: 1. Returns
 * LNF_INVALID_ARGUMENT for a number out of range. */
LNF_API lnf_code lnf_search_create(const float* rows, size_t row_count, int64_t width, int32_t similarity,
                                   int64_t top_k, int32_t threads, lnf_search** search, lnf_status* status);
LNF_API void lnf_search_free(lnf_search* search);
/* Replaces the rows by others of the same width. */
LNF_API lnf_code lnf_search_set_rows(lnf_search* search, const float* rows, size_t row_count, lnf_status* status);
/* Searches for queries[query_count][width]. best[query_count][top_k] gets the nearest rows of each query, the best
 * first and rows of equal scores ordered by index. counts[query_count] gets the number of rows that were found. A row
 * whose score isn't a finite number is never found. Scores don't depend on the threads. `capacity` is the size of
 * `best`. Returns LNF_TOO_LONG if it is too small. */
LNF_API lnf_code lnf_search_run(lnf_search* search, const float* queries, size_t query_count, lnf_scored* best,
                                size_t capacity, size_t* counts, const lnf_control* control, lnf_status* status);

/* --- Shorter and sparse vectors ---------------------------------------------------------------------------------- */

/* As lnf_embedder_create(), but keeps only the first `dimensions` elements of each vector. If vectors are divided by
 * their length, this is done afterwards. 0: all elements are kept. Returns LNF_INVALID_ARGUMENT for more elements than
 * the model's vectors have. */
LNF_API lnf_code lnf_embedder_create_cut(const lnf_model* model, int32_t pooling, int32_t normalize, int64_t dimensions,
                                         const lnf_text_options* options, lnf_embedder** embedder, lnf_status* status);

typedef struct lnf_sparse_embedder lnf_sparse_embedder;
typedef struct lnf_token_weight {
  int32_t id;
  float weight; /* Greater than 0. */
} lnf_token_weight;
/* Called for each text with its tokens, which are valid during the visit: the largest weight first, and tokens of equal
 * weight ordered by id. The report has no values. If it returns 0, the call ends with LNF_OK. */
typedef int (*lnf_sparse_visit)(void* context, const lnf_text_report* report, const lnf_token_weight* tokens,
                                size_t count);
/* Creates a sparse embedder (SPLADE). The weight of a token of the vocabulary is log(1 + m), where m is the largest of
 * its logits by the masked-LM head at all tokens of the text. A token whose m isn't greater than 0 has no weight. The
 * option on_long must be TRUNCATE or ERROR. Returns the errors of lnf_session_create() and lnf_tokenizer_create(), and
 * LNF_INVALID_ARGUMENT for a model without such a head. */
LNF_API lnf_code lnf_sparse_embedder_create(const lnf_model* model, const lnf_text_options* options,
                                            lnf_sparse_embedder** embedder, lnf_status* status);
LNF_API void lnf_sparse_embedder_free(lnf_sparse_embedder* embedder);
LNF_API int64_t lnf_sparse_embedder_vocabulary(const lnf_sparse_embedder* embedder); /* 0 for NULL. */
/* Embeds texts. The arguments are those of lnf_classify_each(). A text that can't be read has an error in its report
 * and doesn't end the call. */
LNF_API lnf_code lnf_embed_sparse(lnf_sparse_embedder* embedder, const char* const* texts, const size_t* bytes,
                                  size_t text_count, lnf_sparse_visit visit, void* context, const lnf_control* control,
                                  lnf_status* status);

#ifdef __cplusplus
}
#endif

#endif
