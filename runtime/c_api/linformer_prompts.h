/* Prompts: texts that are put before each text that becomes a vector. This header is a part of linformer.h, which
 * includes it and has the rules for handles, structs, texts, errors and threads. */
#ifndef LINFORMER_C_API_PROMPTS_H
#define LINFORMER_C_API_PROMPTS_H

#include "linformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One of a model's prompts. lnf_model_get_sentence_embedding() says how many there are. Both strings live as long as
 * the model. */
typedef struct lnf_prompt_info {
  size_t size;
  const char* name;
  const char* text; /* If the prompt ends with a space, the space is included. */
} lnf_prompt_info;
/* Returns LNF_INVALID_ARGUMENT for an index out of range. */
LNF_API lnf_code lnf_model_get_prompt(const lnf_model* model, int32_t prompt, lnf_prompt_info* info,
                                      lnf_status* status);

/* As lnf_embedder_create_cut(), but puts one of the model's prompts before each text. `prompt` is its name. "" means no
 * prompt. NULL means the model's default prompt, if it has one, as with the other functions. Returns
 * LNF_INVALID_ARGUMENT for a name that the model lacks, with a message that lists the names that it has, and
 * LNF_UNSUPPORTED for a prompt whose tokens the model leaves out of its vectors. */
LNF_API lnf_code lnf_embedder_create_prompted(const lnf_model* model, int32_t pooling, int32_t normalize,
                                              int64_t dimensions, const char* prompt, const lnf_text_options* options,
                                              lnf_embedder** embedder, lnf_status* status);

#ifdef __cplusplus
}
#endif

#endif
