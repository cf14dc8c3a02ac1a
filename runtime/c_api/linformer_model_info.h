/* What a model is made of: a part of linformer.h, which includes it and says how handles, structs, texts, errors and
 * threads are treated. */
#ifndef LINFORMER_C_API_MODEL_INFO_H
#define LINFORMER_C_API_MODEL_INFO_H

#include "linformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a model is made of, for programs that show or check it. Texts and arrays live as long as the model; names such
 * as "gelu" are static. The caller sets `info->size` to its sizeof. O(1), or the layer's number of projections.
 * LNF_INVALID_ARGUMENT where the model has no such part, layer, projection or tensor. */
enum { LNF_PART_ENCODER = 0, LNF_PART_DECODER }; /* of an encoder-decoder */
typedef struct lnf_encoder_info {
  size_t size;
  int64_t max_tokens, vocabulary, width, output_width;
  int64_t encoder_states_width; /* of the rows that cross attention reads; 0: no layer does */
  int32_t pad_id;               /* -1: none */
  int32_t layers, projections;
  int32_t final_norm, output_linear; /* behind the last layer */
  int32_t zero_masked_rows;          /* of its output */
  const char* norm;                  /* "post" or "pre" */
  const char* residual;              /* "standard", "reversible" or "none" */
} lnf_encoder_info;
LNF_API lnf_code lnf_model_get_encoder(const lnf_model* model, int32_t part, lnf_encoder_info* info,
                                       lnf_status* status);
/* How tokens or vectors become the rows of the first layer. */
typedef struct lnf_embedding_info {
  size_t size;
  int64_t vector_width, vector_linear_width; /* 0: it reads tokens; there is no linear on the vectors */
  int64_t position_offset;                   /* row of the first token, of learned positions */
  int64_t token_types, factor_width;         /* 0: no table of types; the token embedding is not factorised */
  int32_t reads_tokens, vector_norm_in, vector_norm_out;
  int32_t prefix_token; /* -1: none */
  int32_t positions_count_non_pad, norm, transform;
  int32_t norm_before_factor; /* and is of factor_width */
  const char* prefix;         /* put before a text: "none", "row" or "token" */
  const char* positions;      /* "none", "learned", "sinusoidal_halves" or "sinusoidal_interleaved" */
} lnf_embedding_info;
LNF_API lnf_code lnf_model_get_embedding(const lnf_model* model, int32_t part, lnf_embedding_info* info,
                                         lnf_status* status);
typedef struct lnf_layer_info {
  size_t size;
  int64_t heads, kv_heads, head_dim; /* heads / kv_heads heads of queries share a head of keys and values */
  /* Rows on each side that a row sees as they are. 0: all, of full attention; else none. */
  int64_t window;
  int64_t width, ffn_width; /* of the rows that it reads; 0: it has no feed-forward network */
  /* Indices for lnf_model_get_projection(): one for all heads, or one for each. */
  const uint32_t *key_projections, *value_projections;
  size_t key_projection_count, value_projection_count;
  float scale, rotary_base; /* of the scores; 0: no rotary positions */
  float rotary_scale;       /* what those multiply positions by */
  int32_t value_is_key, causal, position_bias, full_attention, gated;
  int32_t query_key_norms; /* queries or keys have norms of their own */
  int32_t outer_norm;      /* the sum of the layer's input and the normalised attention has a norm too */
  const char* key_source;  /* "own", "encoder_states" or "encoder_states_or_own" */
  const char* row_mask;    /* "none", "zeroed" or "excluded" */
  const char *output_activation, *activation; /* of attention, of the feed-forward network */
  const char* norm_kind;                      /* of the norms around both: "layer" or "rms" */
} lnf_layer_info;
LNF_API lnf_code lnf_model_get_layer(const lnf_model* model, int32_t part, int32_t layer, lnf_layer_info* info,
                                     lnf_status* status);
typedef struct lnf_projection_info {
  size_t size;
  int64_t k;
  int64_t kernel, stride; /* of convolution and pooling */
  int32_t weight, bias;   /* indices for lnf_model_get_tensor(); -1: none */
  const char* kind;       /* "linear", "convolution", "mean_pool", "max_pool" or "none" (full attention) */
  const char* order;      /* "before_linear" or "after_linear" of keys and values */
  /* Of each of the k rows of a text of n tokens: "none", "inverse_root" (1 / sqrt(n)) or "restored_norm" (the norm of
   * its row of the weight over that of the row's first n elements). */
  const char* length_scale;
  /* 0: all k compressed rows take part in attention in every text. Otherwise one row for each of the e exact tokens is
   * followed by k - e rows that stand in order for `span` positions. In a text of n tokens, the first
   *   min(k, e + ceil((k - e) n / span))
   * rows take part, or none if the window of each token shows the whole text. */
  int64_t span;
  /* This array has token ids. If a text contains the token exact_tokens[i], compressed row i is a copy of the key and
   * the value of its first unmasked occurrence, and row i of E is not used. The array is valid as long as the model. */
  const uint32_t* exact_tokens;
  int64_t exact_token_count;
} lnf_projection_info;
LNF_API lnf_code lnf_model_get_projection(const lnf_model* model, int32_t part, int32_t projection,
                                          lnf_projection_info* info, lnf_status* status);
typedef struct lnf_masked_lm_info {
  size_t size;
  int32_t present, tied;  /* its weight is the token embedding */
  int32_t dense, norm;    /* dense: a linear with `activation` before the logits */
  const char* activation; /* "none" without one */
} lnf_masked_lm_info;
LNF_API lnf_code lnf_model_get_masked_lm(const lnf_model* model, lnf_masked_lm_info* info, lnf_status* status);
/* How the model makes one vector of a text. */
typedef struct lnf_sentence_embedding_info {
  size_t size;
  int64_t linear_width; /* of the vector behind a linear; 0: there is none */
  int32_t present;
  int32_t pooling; /* LNF_POOL_... */
  int32_t norm;    /* a LayerNorm behind the linear, or the pooling */
  int32_t normalize;
  const char* activation;       /* of the linear */
  int32_t prompts;              /* for lnf_model_get_prompt() */
  int32_t default_prompt;       /* put before texts where none is chosen; -1: none is */
  int32_t excludes_prompt;      /* tokens of a prompt are left out of the vector */
  int64_t characters_per_token; /* not 0: a text cut to n tokens is cut to n times as many code points before */
} lnf_sentence_embedding_info;
LNF_API lnf_code lnf_model_get_sentence_embedding(const lnf_model* model, lnf_sentence_embedding_info* info,
                                                  lnf_status* status);
enum { LNF_FIRST_TEXT = -1, LNF_SECOND_TEXT = -2 }; /* where the texts stand in templates */
typedef struct lnf_tokenizer_info {
  size_t size;
  int64_t tokens, merges, added_tokens;
  const int32_t *single_template, *pair_template; /* ids around one text and two, with LNF_FIRST_TEXT ... */
  const uint8_t* pair_types;                      /* of pair_template's items; none: all 0 */
  size_t single_template_count, pair_template_count, pair_type_count;
  int32_t kind;                                    /* LNF_TOKENIZER_... */
  int32_t unk_id, bos_id, eos_id, pad_id, mask_id; /* -1: none */
  int32_t lowercase, strip_accents;
} lnf_tokenizer_info;
LNF_API lnf_code lnf_model_get_tokenizer(const lnf_model* model, lnf_tokenizer_info* info, lnf_status* status);
typedef struct lnf_tensor_info {
  size_t size;
  const char* name;      /* the checkpoint's */
  const char* type;      /* "f32", "bf16", "f16" or "int8" */
  const char* layout;    /* "row_major", "panel16" or "padded_rows" */
  const uint64_t* shape; /* as in the checkpoint */
  size_t dimensions;
  uint64_t offset, bytes; /* from the beginning of the file's tensors */
  uint64_t checksum;      /* XXH3-64 */
} lnf_tensor_info;
LNF_API lnf_code lnf_model_get_tensor(const lnf_model* model, int32_t tensor, lnf_tensor_info* info,
                                      lnf_status* status);

#ifdef __cplusplus
}
#endif

#endif
