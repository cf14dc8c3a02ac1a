/* Reranking, labels of one's own, search in vectors, and vectors for it that are shorter or sparse: a part of
 * linformer.h, which includes it and says how handles, structs, texts, errors and threads are treated. */
#ifndef LINFORMER_C_API_RANKING_H
#define LINFORMER_C_API_RANKING_H

#include "linformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A score, and what it is of: a document's or a row's number, from 0 on. */
typedef struct lnf_scored {
  int64_t index;
  float score;
} lnf_scored;

/* --- Documents by a query ---------------------------------------------------------------------------------------- */

typedef struct lnf_reranker lnf_reranker;
/* `head`: a classification head with one output that reads two texts, or one that compares two; -1: the model's first.
 * `logits` 1: scores are its outputs as they are; 0: what the model's own activation makes of them, else their sigmoid.
 * Errors: those of lnf_session_create() and lnf_tokenizer_create(), LNF_UNSUPPORTED where the model has no such head,
 * LNF_INVALID_ARGUMENT for a head that is not one. */
LNF_API lnf_code lnf_reranker_create(const lnf_model* model, int32_t head, int32_t logits,
                                     const lnf_text_options* options, lnf_reranker** reranker, lnf_status* status);
LNF_API void lnf_reranker_free(lnf_reranker* reranker);
LNF_API int32_t lnf_reranker_head(const lnf_reranker* reranker); /* that gives the scores; -1 for NULL */
/* The best of `document_count` documents for a query, best first, equal ones in their order, into best[capacity]:
 * *count of them, at most `capacity`. `query_bytes` is the query's length; `bytes` may be NULL: the documents end with
 * a 0. The first document without a score is the error, as lnf_classify() says it. Memory doesn't grow with the number
 * of documents. */
LNF_API lnf_code lnf_rerank(lnf_reranker* reranker, const char* query, size_t query_bytes, const char* const* documents,
                            const size_t* bytes, size_t document_count, lnf_scored* best, size_t capacity,
                            size_t* count, const lnf_control* control, lnf_status* status);
/* The score of each query with the document in its place, in order: the one value of a report. Arguments as
 * lnf_classify_each(), with the queries as texts and the documents as pairs; neither is NULL. */
LNF_API lnf_code lnf_rerank_each(lnf_reranker* reranker, const char* const* queries, const size_t* query_bytes,
                                 const char* const* documents, const size_t* bytes, size_t count, lnf_visit visit,
                                 void* context, const lnf_control* control, lnf_status* status);

/* --- Labels of one's own ----------------------------------------------------------------------------------------- */

typedef struct lnf_zero_shot lnf_zero_shot;
typedef struct lnf_label_score {
  size_t label; /* index into the labels */
  float probability;
} lnf_label_score;
/* What is said of one text; valid during the visit. */
typedef struct lnf_zero_shot_scores {
  size_t size;
  const lnf_text_report* report; /* of the label whose sentence made the text the longest */
  const lnf_label_score* scores; /* of each label, best first, equal ones in their order; none after an error */
  size_t score_count;
} lnf_zero_shot_scores;
/* Called for each text, in order, on the thread that called. 0: no more are wanted, and the call ends with LNF_OK. */
typedef int (*lnf_zero_shot_visit)(void* context, const lnf_zero_shot_scores* scores);

/* For a model that was trained for natural language inference; `head` is its classification head. `label_bytes` may be
 * NULL: the labels end with a 0. `hypothesis`: the sentence of a label, whose place is {}, ended by a 0; NULL: "This
 * example is {}.". `multi_label` 1: each label by itself; 0: the probabilities of all labels add up to 1. The option
 * truncation is not looked at: the text is cut, and never the sentence. Errors: those of lnf_session_create() and
 * lnf_tokenizer_create(), LNF_UNSUPPORTED where the head says nothing of entailment, LNF_INVALID_ARGUMENT for labels
 * and a hypothesis that are wrong. */
LNF_API lnf_code lnf_zero_shot_create(const lnf_model* model, int32_t head, const char* const* labels,
                                      const size_t* label_bytes, size_t label_count, const char* hypothesis,
                                      int32_t multi_label, const lnf_text_options* options, lnf_zero_shot** zero_shot,
                                      lnf_status* status);
LNF_API void lnf_zero_shot_free(lnf_zero_shot* zero_shot);
/* The scores of each text, which doesn't end the call where it can't be read: its report has the error. */
LNF_API lnf_code lnf_zero_shot_each(lnf_zero_shot* zero_shot, const char* const* texts, const size_t* bytes,
                                    size_t text_count, lnf_zero_shot_visit visit, void* context,
                                    const lnf_control* control, lnf_status* status);

/* --- Search in vectors ------------------------------------------------------------------------------------------- */

typedef struct lnf_search lnf_search;
/* How near two vectors are: the cosine of their angle, or the sum of the products of their elements. */
enum { LNF_COSINE = 0, LNF_DOT };
/* The rows of rows[row_count][width] that are nearest to a query, by looking at all of them. The rows stay the
 * caller's, unchanged as long as they are searched; they may be a mapped file of any size. `top_k`: rows that are found
 * for a query. `threads`: the caller's and threads - 1 more; 0: 1. LNF_INVALID_ARGUMENT: a number out of range. */
LNF_API lnf_code lnf_search_create(const float* rows, size_t row_count, int64_t width, int32_t similarity,
                                   int64_t top_k, int32_t threads, lnf_search** search, lnf_status* status);
LNF_API void lnf_search_free(lnf_search* search);
/* Other rows of the same width in their place. */
LNF_API lnf_code lnf_search_set_rows(lnf_search* search, const float* rows, size_t row_count, lnf_status* status);
/* queries[query_count][width]; best[query_count][top_k] are the nearest rows of each query, best first, equal ones by
 * index, and counts[query_count] how many these are. A row whose score is no finite number is never found. Scores don't
 * depend on threads. `capacity` is that of `best`; LNF_TOO_LONG where it is too little. */
LNF_API lnf_code lnf_search_run(lnf_search* search, const float* queries, size_t query_count, lnf_scored* best,
                                size_t capacity, size_t* counts, const lnf_control* control, lnf_status* status);

/* --- Shorter and sparse vectors ---------------------------------------------------------------------------------- */

/* As lnf_embedder_create(), but of each vector the first `dimensions` numbers alone are kept, before it is divided by
 * its length; 0: all. LNF_INVALID_ARGUMENT: more than the model's vectors have. */
LNF_API lnf_code lnf_embedder_create_cut(const lnf_model* model, int32_t pooling, int32_t normalize, int64_t dimensions,
                                         const lnf_text_options* options, lnf_embedder** embedder, lnf_status* status);

typedef struct lnf_sparse_embedder lnf_sparse_embedder;
typedef struct lnf_token_weight {
  int32_t id;
  float weight; /* more than 0 */
} lnf_token_weight;
/* The tokens of one text, valid during the visit: the largest weight first, equal ones by id. The report has no values.
 * 0: no more are wanted, and the call ends with LNF_OK. */
typedef int (*lnf_sparse_visit)(void* context, const lnf_text_report* report, const lnf_token_weight* tokens,
                                size_t count);
/* A weight for some tokens of the vocabulary, by the masked-LM head: log(1 + logit) of the largest logit at any token
 * of the text, where that is more than 0 (SPLADE). The option on_long is TRUNCATE or ERROR. Errors: those of
 * lnf_session_create() and lnf_tokenizer_create(), LNF_INVALID_ARGUMENT for a model without such a head. */
LNF_API lnf_code lnf_sparse_embedder_create(const lnf_model* model, const lnf_text_options* options,
                                            lnf_sparse_embedder** embedder, lnf_status* status);
LNF_API void lnf_sparse_embedder_free(lnf_sparse_embedder* embedder);
LNF_API int64_t lnf_sparse_embedder_vocabulary(const lnf_sparse_embedder* embedder); /* 0 for NULL */
/* Arguments as lnf_classify_each(). A text that can't be read doesn't end the call: its report has the error. */
LNF_API lnf_code lnf_embed_sparse(lnf_sparse_embedder* embedder, const char* const* texts, const size_t* bytes,
                                  size_t text_count, lnf_sparse_visit visit, void* context, const lnf_control* control,
                                  lnf_status* status);

#ifdef __cplusplus
}
#endif

#endif
