/* Entities of texts, and answers to questions from their contexts: a part of linformer.h, which includes it and says
 * how handles, structs, texts, errors and threads are treated. */
#ifndef LINFORMER_C_API_SPANS_H
#define LINFORMER_C_API_SPANS_H

#include "linformer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lnf_tagger lnf_tagger;
typedef struct lnf_answerer lnf_answerer;

/* --- Entities ---------------------------------------------------------------------------------------------------- */

/* How the tokens of a text become its entities, as the token classification pipeline of Hugging Face's transformers
 * does it: SIMPLE joins tokens whose labels, less "B-" or "I-", are the same, until a "B-" begins the next; FIRST,
 * AVERAGE and MAX join words, each with the scores of its first token, their means, or those of the token with the
 * highest one; with NONE each token is by itself, with its label as it is. */
enum { LNF_AGGREGATE_SIMPLE = 0, LNF_AGGREGATE_NONE, LNF_AGGREGATE_FIRST, LNF_AGGREGATE_AVERAGE, LNF_AGGREGATE_MAX };
typedef struct lnf_entity {
  size_t size;
  const char* label;  /* the model's, or where it has none the class's number; lives as long as the tagger */
  const char* text;   /* in the text that was given: no 0 at its end */
  size_t bytes;       /* of `text` */
  uint32_t offset[2]; /* in the text: code points, begin and end */
  float score;        /* a probability: the mean of those of its tokens or words */
} lnf_entity;
/* What was found in one text; valid during the visit. */
typedef struct lnf_tagging {
  size_t size;
  const lnf_text_report* report;
  const lnf_entity* entities; /* in the order of the text; none where the report has an error */
  size_t entity_count;
} lnf_tagging;
/* Called for each text, in order, on the thread that called. 0: no more are wanted, and the call ends with LNF_OK. */
typedef int (*lnf_tag_visit)(void* context, const lnf_tagging* tagging);

/* `aggregation`: LNF_AGGREGATE_... `head`: of the model's heads one that gives each token a label (each_token,
 * LNF_SINGLE_LABEL); -1: the first such. With options NULL long texts are read by windows; otherwise as on_long says.
 * A token that is in several windows counts once. Errors: those of lnf_session_create() and lnf_tokenizer_create(),
 * LNF_INVALID_ARGUMENT for a model without such a head, and for another head. */
LNF_API lnf_code lnf_tagger_create(const lnf_model* model, int32_t aggregation, int32_t head,
                                   const lnf_text_options* options, lnf_tagger** tagger, lnf_status* status);
LNF_API void lnf_tagger_free(lnf_tagger* tagger);
LNF_API int32_t lnf_tagger_head(const lnf_tagger* tagger); /* that is asked; -1 for NULL */
/* Arguments as lnf_classify_each(), without pairs. A text that can't be read doesn't end the call: its report has the
 * error. Results don't depend on what runs beside a text, nor on threads; memory is bounded whatever the number of
 * texts. What has the label "O" is no entity. */
LNF_API lnf_code lnf_tag(lnf_tagger* tagger, const char* const* texts, const size_t* bytes, size_t text_count,
                         lnf_tag_visit visit, void* context, const lnf_control* control, lnf_status* status);

/* --- Answers ----------------------------------------------------------------------------------------------------- */

typedef struct lnf_answer_span {
  size_t size;
  const char* text; /* in the context that was given: no 0 at its end */
  size_t bytes;     /* of `text`; 0 where there is no answer */
  uint32_t
      offset[2];     /* in the context: code points, begin and end; of several spans of the same text the first one's */
  float score;       /* the sum of the probabilities of the spans of this text; may be above 1 */
  int32_t no_answer; /* 1: that the context doesn't answer the question */
} lnf_answer_span;
/* The answers to one question; valid during the visit. */
typedef struct lnf_answers {
  size_t size;
  const lnf_text_report* report;
  const lnf_answer_span* answers; /* best first; none where the report has an error, and where nothing can be one */
  size_t answer_count;
} lnf_answers;
/* Called for each question, in order, on the thread that called. 0: no more are wanted, and the call ends with LNF_OK.
 */
typedef int (*lnf_answer_visit)(void* context, const lnf_answers* answers);

/* `max_answer_tokens`: of a span; 0: 15. `top_k`: answers to a question; 0: 1. `no_answer` 1: an answer may be that
 * there is none, for models that learned it. `head`: of the model's heads one that answers (lnf_head_info.spans); -1:
 * the first such. Contexts are read by windows of max_tokens, or of 384 tokens or the model's N where that is less,
 * that share `overlap`, or 128 or half a window where that is less; with options NULL too. on_long may also be TRUNCATE
 * or ERROR; truncation and keep aren't looked at. Errors: those of lnf_session_create() and lnf_tokenizer_create(),
 * LNF_INVALID_ARGUMENT for a model without such a head, for another head, and for negative numbers. */
LNF_API lnf_code lnf_answerer_create(const lnf_model* model, int64_t max_answer_tokens, int64_t top_k,
                                     int32_t no_answer, int32_t head, const lnf_text_options* options,
                                     lnf_answerer** answerer, lnf_status* status);
LNF_API void lnf_answerer_free(lnf_answerer* answerer);
LNF_API int32_t lnf_answerer_head(const lnf_answerer* answerer); /* that is asked; -1 for NULL */
/* The answers to each question from the context in its place, in order. Arguments as lnf_classify_each(), with the
 * questions as texts and the contexts as pairs; neither is NULL. A question that can't be read doesn't end the call:
 * its report has the error. Results don't depend on what runs beside a question, nor on threads; memory is bounded
 * whatever their number. */
LNF_API lnf_code lnf_answer(lnf_answerer* answerer, const char* const* questions, const size_t* question_bytes,
                            const char* const* contexts, const size_t* context_bytes, size_t count,
                            lnf_answer_visit visit, void* context, const lnf_control* control, lnf_status* status);

#ifdef __cplusplus
}
#endif

#endif
