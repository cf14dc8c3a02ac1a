/* Masked tokens and a masked-LM head's logits: a part of linformer.h, which includes it and says how handles, structs,
 * texts, errors and threads are treated. */
#ifndef LINFORMER_C_API_MASKS_H
#define LINFORMER_C_API_MASKS_H

#include "linformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- Masked tokens ----------------------------------------------------------------------------------------------- */

typedef struct lnf_mask_candidate {
  int32_t id;
  float probability; /* of all the vocabulary */
} lnf_mask_candidate;
/* A mask of a text, and what the model would put there. */
typedef struct lnf_masked_token {
  size_t size;
  size_t token;                         /* index into the ids that were read */
  const lnf_mask_candidate* candidates; /* best first, equal ones by id */
  size_t candidate_count;
  int32_t text;       /* of a pair the one that it is in: 0 or 1 */
  uint32_t offset[2]; /* in that text: code points, begin and end */
} lnf_masked_token;
/* What was filled in of one text; valid during the visit. */
typedef struct lnf_mask_filling {
  size_t size;
  const lnf_text_report* report;
  const int32_t* ids; /* that the model read: without pads that were stripped, with those that were kept */
  size_t id_count;
  const lnf_masked_token* masks; /* in their order; none where the report has an error */
  size_t mask_count;
} lnf_mask_filling;
/* Called for each text, in order, on the thread that called. 0: no more are wanted, and the call ends with LNF_OK. */
typedef int (*lnf_fill_visit)(void* context, const lnf_mask_filling* filling);

/* `top_k`: candidates of each mask; 0: 5. The option on_long is TRUNCATE or ERROR; without match_special_tokens a mask
 * is still one, and other special tokens are plain characters. Errors: those of lnf_session_create() and
 * lnf_tokenizer_create(), LNF_UNSUPPORTED where the tokenizer has no mask token, LNF_INVALID_ARGUMENT for a model
 * without a masked-LM head. */
LNF_API lnf_code lnf_mask_filler_create(const lnf_model* model, int64_t top_k, const lnf_text_options* options,
                                        lnf_mask_filler** filler, lnf_status* status);
LNF_API void lnf_mask_filler_free(lnf_mask_filler* filler);
/* How the tokenizer writes its mask, such as "[MASK]": as lnf_build_info(). */
LNF_API size_t lnf_mask_filler_mask(const lnf_mask_filler* filler, char* text, size_t capacity);
/* Arguments as lnf_classify_each(). A text that can't be read, or has no mask, doesn't end the call: its report has the
 * error. Results don't depend on what runs beside a text, nor on threads; memory is bounded whatever the number of
 * texts. */
LNF_API lnf_code lnf_fill_masks(lnf_mask_filler* filler, const char* const* texts, const size_t* bytes,
                                const char* const* pairs, const size_t* pair_bytes, size_t text_count,
                                lnf_fill_visit visit, void* context, const lnf_control* control, lnf_status* status);

/* The logits of a masked-LM head at chosen positions, of `positions_at_once` of them at a time; 0: 256 MiB. For this
 * session and others of its model, none of which it keeps. LNF_INVALID_ARGUMENT: the model has no such head. */
LNF_API lnf_code lnf_masked_lm_create(const lnf_session* session, int64_t positions_at_once, lnf_masked_lm** masked_lm,
                                      lnf_status* status);
LNF_API void lnf_masked_lm_free(lnf_masked_lm* masked_lm);
LNF_API int64_t lnf_masked_lm_vocabulary(const lnf_masked_lm* masked_lm); /* 0 for NULL, as the next one */
LNF_API int64_t lnf_masked_lm_positions_at_once(const lnf_masked_lm* masked_lm);
/* The logits of one position, valid during the visit. 0: no more are wanted, and the call ends with LNF_OK. */
typedef int (*lnf_logits_visit)(void* context, size_t position, const float* logits, size_t count);
/* Visits each of `positions`, which are in the order of their texts, on the thread that called. Texts without a
 * position are not run, and one is run twice only where it has more positions than are held at once. Errors: those of
 * lnf_run(), and LNF_INVALID_ARGUMENT for positions out of order. */
LNF_API lnf_code lnf_masked_lm_run(lnf_masked_lm* masked_lm, lnf_session* session, const lnf_input* inputs,
                                   size_t input_count, const lnf_position* positions, size_t position_count,
                                   lnf_logits_visit visit, void* context, const lnf_control* control,
                                   lnf_status* status);
/* log(sum(exp(logits))): the probability of token i is exp(logits[i] - it). NaN where a logit isn't finite. */
LNF_API double lnf_log_sum_exp(const float* logits, size_t count);

#ifdef __cplusplus
}
#endif

#endif
