/* Filling masks, and the logits of a masked-LM head. This header is a part of linformer.h, which includes it and has
 * the rules for handles, structs, texts, errors and threads. */
#ifndef LINFORMER_C_API_MASKS_H
#define LINFORMER_C_API_MASKS_H

#include "linformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- Masked tokens ----------------------------------------------------------------------------------------------- */

/* A token that may stand in the place of a mask. */
typedef struct lnf_mask_candidate {
  int32_t id;
  float probability; /* The softmax over the whole vocabulary. */
} lnf_mask_candidate;
/* A mask of a text, with the tokens that the model would put in its place. */
typedef struct lnf_masked_token {
  size_t size;
  size_t token; /* The index into the ids that were read. */
  /* The likeliest candidate comes first. Candidates of equal probability are ordered by id. */
  const lnf_mask_candidate* candidates;
  size_t candidate_count;
  int32_t text;       /* Which text of a pair the mask is in: 0 or 1. */
  uint32_t offset[2]; /* The place in that text: code points, begin and end. */
} lnf_masked_token;
/* The filled masks of one text. It is valid during the visit. */
typedef struct lnf_mask_filling {
  size_t size;
  const lnf_text_report* report;
  const int32_t* ids; /* The ids that the model read. Pads are missing if they were stripped. */
  size_t id_count;
  const lnf_masked_token* masks; /* In the order of the text. There are none if the report has an error. */
  size_t mask_count;
} lnf_mask_filling;
/* Called for each text, in order, on the thread that made the call. If it returns 0, the call ends with LNF_OK. */
typedef int (*lnf_fill_visit)(void* context, const lnf_mask_filling* filling);

/* Creates a mask filler. `top_k` is the number of candidates for each mask; 0: 5. The option on_long must be TRUNCATE
 * or ERROR. Without match_special_tokens, the mask token is still recognised, but other special tokens are plain
 * characters. Returns the errors of lnf_session_create() and lnf_tokenizer_create(), LNF_UNSUPPORTED if the tokenizer
 * has no mask token, and LNF_INVALID_ARGUMENT for a model without a masked-LM head. */
LNF_API lnf_code lnf_mask_filler_create(const lnf_model* model, int64_t top_k, const lnf_text_options* options,
                                        lnf_mask_filler** filler, lnf_status* status);
LNF_API void lnf_mask_filler_free(lnf_mask_filler* filler);
/* Writes the mask token as it is written in a text, such as "[MASK]", in the same way as lnf_build_info(). */
LNF_API size_t lnf_mask_filler_mask(const lnf_mask_filler* filler, char* text, size_t capacity);
/* Fills the masks of texts. The arguments are those of lnf_classify_each(). A text that can't be read, or that has no
 * mask, has an error in its report and doesn't end the call. Results depend neither on the other texts nor on the
 * threads. Memory is bounded whatever the number of texts. */
LNF_API lnf_code lnf_fill_masks(lnf_mask_filler* filler, const char* const* texts, const size_t* bytes,
                                const char* const* pairs, const size_t* pair_bytes, size_t text_count,
                                lnf_fill_visit visit, void* context, const lnf_control* control, lnf_status* status);

/* Creates an object that computes the logits of a masked-LM head at chosen positions. It holds the logits of
 * `positions_at_once` positions at a time; 0: 256 MiB of them. It can be used with this session and with other sessions
 * of the same model, and doesn't keep any session. Returns LNF_INVALID_ARGUMENT if the model has no such head. */
LNF_API lnf_code lnf_masked_lm_create(const lnf_session* session, int64_t positions_at_once, lnf_masked_lm** masked_lm,
                                      lnf_status* status);
LNF_API void lnf_masked_lm_free(lnf_masked_lm* masked_lm);
/* Both functions return 0 for NULL. */
LNF_API int64_t lnf_masked_lm_vocabulary(const lnf_masked_lm* masked_lm);
LNF_API int64_t lnf_masked_lm_positions_at_once(const lnf_masked_lm* masked_lm);
/* Called with the logits of one position, which are valid during the visit. If it returns 0, the call ends with
 * LNF_OK. */
typedef int (*lnf_logits_visit)(void* context, size_t position, const float* logits, size_t count);
/* Visits each of `positions`, on the thread that made the call. Positions must be in the order of their sequences.
 * Sequences without a position are not run, and a sequence is run more than once only if it has more positions than are
 * held at once. Returns the errors of lnf_run(), and LNF_INVALID_ARGUMENT for positions out of order. */
LNF_API lnf_code lnf_masked_lm_run(lnf_masked_lm* masked_lm, lnf_session* session, const lnf_input* inputs,
                                   size_t input_count, const lnf_position* positions, size_t position_count,
                                   lnf_logits_visit visit, void* context, const lnf_control* control,
                                   lnf_status* status);
/* Returns log(sum(exp(logits))). The probability of token i is exp(logits[i] - lnf_log_sum_exp(logits, count)). Returns
 * NaN if a logit isn't finite. */
LNF_API double lnf_log_sum_exp(const float* logits, size_t count);

#ifdef __cplusplus
}
#endif

#endif
