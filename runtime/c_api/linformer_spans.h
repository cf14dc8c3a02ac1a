/* Entities of texts, and answers to questions from their contexts. This header is a part of linformer.h, which includes
 * it and has the rules for handles, structs, texts, errors and threads. */
#ifndef LINFORMER_C_API_SPANS_H
#define LINFORMER_C_API_SPANS_H

#include "linformer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lnf_tagger lnf_tagger;
typedef struct lnf_answerer lnf_answerer;

/* --- Entities ---------------------------------------------------------------------------------------------------- */

/* How the tokens of a text become entities, as in the token classification pipeline of Hugging Face's transformers.
 * SIMPLE joins neighbouring tokens whose labels without "B-" or "I-" are the same, until a "B-" begins the next entity.
 * FIRST, AVERAGE and MAX join words in the same way. Each word has the scores of its first token (FIRST), the means of
 * its tokens' scores (AVERAGE), or the scores of the token whose best score is the highest (MAX). With NONE each token
 * is an entity by itself, with its whole label. */
enum { LNF_AGGREGATE_SIMPLE = 0, LNF_AGGREGATE_NONE, LNF_AGGREGATE_FIRST, LNF_AGGREGATE_AVERAGE, LNF_AGGREGATE_MAX };
typedef struct lnf_entity {
  size_t size;
  /* The model's label, or the number of the class if it has no name. It lives as long as the tagger. */
  const char* label;
  const char* text;   /* It points into the text that was given, and has no 0 at its end. */
  size_t bytes;       /* The length of `text`. */
  uint32_t offset[2]; /* The place in the text: code points, begin and end. */
  float score;        /* A probability: the mean of the scores of its tokens or words. */
} lnf_entity;
/* The entities of one text. It is valid during the visit. */
typedef struct lnf_tagging {
  size_t size;
  const lnf_text_report* report;
  const lnf_entity* entities; /* In the order of the text. There are none if the report has an error. */
  size_t entity_count;
} lnf_tagging;
/* Called for each text, in order, on the thread that made the call. If it returns 0, the call ends with LNF_OK. */
typedef int (*lnf_tag_visit)(void* context, const lnf_tagging* tagging);

/* Creates a tagger. `aggregation` is LNF_AGGREGATE_... `head` is the index of a head that gives each token a label
 * (each_token, LNF_SINGLE_LABEL); -1: the first such head. If `options` is NULL, long texts are read by windows;
 * otherwise they are read as on_long says. A token that is in several windows counts once. Returns the errors of
 * lnf_session_create() and lnf_tokenizer_create(), and LNF_INVALID_ARGUMENT for a model without such a head and for a
 * head of another kind. */
LNF_API lnf_code lnf_tagger_create(const lnf_model* model, int32_t aggregation, int32_t head,
                                   const lnf_text_options* options, lnf_tagger** tagger, lnf_status* status);
LNF_API void lnf_tagger_free(lnf_tagger* tagger);
/* Returns the index of the head that scores the tokens, or -1 for NULL. */
LNF_API int32_t lnf_tagger_head(const lnf_tagger* tagger);
/* Finds the entities of texts. The arguments are those of lnf_classify_each(), without pairs. A text that can't be read
 * has an error in its report and doesn't end the call. Results depend neither on the other texts nor on the threads.
 * Memory is bounded whatever the number of texts. Tokens with the label "O" belong to no entity. */
LNF_API lnf_code lnf_tag(lnf_tagger* tagger, const char* const* texts, const size_t* bytes, size_t text_count,
                         lnf_tag_visit visit, void* context, const lnf_control* control, lnf_status* status);

/* --- Answers ----------------------------------------------------------------------------------------------------- */

typedef struct lnf_answer_span {
  size_t size;
  const char* text; /* It points into the context that was given, and has no 0 at its end. */
  size_t bytes;     /* The length of `text`. 0 if there is no answer. */
  /* The place in the context: code points, begin and end. If several spans have this text, it is the first one's. */
  uint32_t offset[2];
  float score;       /* The sum of the probabilities of the spans with this text. It may be above 1. */
  int32_t no_answer; /* 1: the answer is that the context doesn't answer the question. */
} lnf_answer_span;
/* The answers to one question. It is valid during the visit. */
typedef struct lnf_answers {
  size_t size;
  const lnf_text_report* report;
  /* The best answer comes first. There are none if the report has an error, and if no span can be an answer. */
  const lnf_answer_span* answers;
  size_t answer_count;
} lnf_answers;
/* Called for each question, in order, on the thread that made the call. If it returns 0, the call ends with LNF_OK. */
typedef int (*lnf_answer_visit)(void* context, const lnf_answers* answers);

/* Creates an answerer. `max_answer_tokens` is the most tokens of a span; 0: 15. `top_k` is the number of answers to a
 * question; 0: 1. `no_answer` 1: one of the answers may be that there is none, for models that learned this. `head` is
 * the index of the head that gives the answers (lnf_head_info.spans); -1: the first such head. Contexts are read by
 * windows, also if `options` is NULL. A window has max_tokens tokens; 0: 384, or the model's maximum if that is less.
 * Two windows share `overlap` tokens; -1: 128, or half a window if that is less. on_long may also be TRUNCATE or ERROR.
 * truncation and keep are ignored. Returns the errors of lnf_session_create() and lnf_tokenizer_create(), and
 * LNF_INVALID_ARGUMENT for a model without such a head, for a head of another kind, and for negative numbers. */
LNF_API lnf_code lnf_answerer_create(const lnf_model* model, int64_t max_answer_tokens, int64_t top_k,
                                     int32_t no_answer, int32_t head, const lnf_text_options* options,
                                     lnf_answerer** answerer, lnf_status* status);
LNF_API void lnf_answerer_free(lnf_answerer* answerer);
/* Returns the index of the head that gives the answers, or -1 for NULL. */
LNF_API int32_t lnf_answerer_head(const lnf_answerer* answerer);
/* Answers each question from the context at the same place, in order. The arguments are those of lnf_classify_each(),
 * with the questions as texts and the contexts as pairs. Neither may be NULL. A question that can't be read has an
 * error in its report and doesn't end the call. Results depend neither on the other questions nor on the threads.
 * Memory is bounded whatever the number of questions. */
LNF_API lnf_code lnf_answer(lnf_answerer* answerer, const char* const* questions, const size_t* question_bytes,
                            const char* const* contexts, const size_t* context_bytes, size_t count,
                            lnf_answer_visit visit, void* context, const lnf_control* control, lnf_status* status);

#ifdef __cplusplus
}
#endif

#endif
