/* What a model is made of. This header is a part of linformer.h, which includes it and has the rules for handles,
 * structs, texts, errors and threads. */
#ifndef LINFORMER_C_API_MODEL_INFO_H
#define LINFORMER_C_API_MODEL_INFO_H

#include "linformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a model is made of, for programs that show or check it. Strings and arrays live as long as the model; names such
 * as "gelu" are static. The caller must set `info->size` to the size of its struct before. The functions take O(1)
 * time, except for layers, where it is the layer's number of projections. They return LNF_INVALID_ARGUMENT if the model
 * has no such part, layer, projection or tensor. */
enum { LNF_PART_ENCODER = 0, LNF_PART_DECODER }; /* The parts of an encoder-decoder. */
typedef struct lnf_encoder_info {
  size_t size;
  int64_t max_tokens, vocabulary, width, output_width;
  int64_t encoder_states_width; /* The width of the rows that cross attention reads. 0: no layer has cross attention. */
  int32_t pad_id;               /* -1: there is no pad token. */
  int32_t layers, projections;
  int32_t final_norm, output_linear; /* They come after the last layer. */
  int32_t zero_masked_rows;          /* 1: masked rows of the output are set to zero. */
  const char* norm;                  /* "post": norms come after attention and feed-forward network; "pre": before. */
  const char* residual;              /* "standard", "reversible" or "none" */
} lnf_encoder_info;
LNF_API lnf_code lnf_model_get_encoder(const lnf_model* model, int32_t part, lnf_encoder_info* info,
                                       lnf_status* status);
/* How tokens or vectors become the rows of the first layer. */
typedef struct lnf_embedding_info {
  size_t size;
  /* vector_width is 0 if the model reads tokens. vector_linear_width is 0 if vectors go through no linear layer. */
  int64_t vector_width, vector_linear_width;
  int64_t position_offset;           /* For learned positions: the row of the table that the first token uses. */
  int64_t token_types, factor_width; /* 0: there is no table of token types; the token embedding isn't factorised. */
  int32_t reads_tokens, vector_norm_in, vector_norm_out;
  int32_t prefix_token; /* -1: there is none. */
  int32_t positions_count_non_pad, norm, transform;
  int32_t norm_before_factor; /* 1: the norm comes before the factor, and has factor_width elements. */
  const char* prefix;         /* What is put before a sequence: "none", "row" or "token". */
  const char* positions;      /* "none", "learned", "sinusoidal_halves" or "sinusoidal_interleaved". */
} lnf_embedding_info;
LNF_API lnf_code lnf_model_get_embedding(const lnf_model* model, int32_t part, lnf_embedding_info* info,
                                         lnf_status* status);
typedef struct lnf_layer_info {
  size_t size;
  /* Each group of heads / kv_heads query heads shares one head of keys and values. */
  int64_t heads, kv_heads, head_dim;
  /* A row sees the uncompressed rows that are at most this many positions away. 0: all rows in full attention, and none
   * if keys are compressed. */
  int64_t window;
  /* width: of the rows that the layer reads. ffn_width 0: there is no feed-forward network. */
  int64_t width, ffn_width;
  /* Indices for lnf_model_get_projection(): one if all heads share a projection, or one for each head. */
  const uint32_t *key_projections, *value_projections;
  size_t key_projection_count, value_projection_count;
  float scale, rotary_base; /* scale multiplies the scores. rotary_base 0: there are no rotary positions. */
  float rotary_scale;       /* The factor that positions are multiplied by before the rotation. */
  int32_t value_is_key, causal, position_bias, full_attention, gated;
  int32_t query_key_norms; /* 1: queries or keys have norms of their own. */
  int32_t outer_norm;      /* 1: the sum of the layer's input and the normalised attention output has a norm, too. */
  const char* key_source;  /* Where keys and values come from: "own", "encoder_states" or "encoder_states_or_own". */
  const char* row_mask;    /* What attention does with masked rows: "none", "zeroed" or "excluded". */
  const char *output_activation, *activation; /* The activations of attention and of the feed-forward network. */
  const char* norm_kind;                      /* The kind of the layer's norms: "layer" or "rms". */
} lnf_layer_info;
LNF_API lnf_code lnf_model_get_layer(const lnf_model* model, int32_t part, int32_t layer, lnf_layer_info* info,
                                     lnf_status* status);
typedef struct lnf_projection_info {
  size_t size;
  int64_t k;
  int64_t kernel, stride; /* For convolution and pooling: the positions in a window, and the distance of two windows. */
  int32_t weight, bias;   /* Indices for lnf_model_get_tensor(). -1: there is no such tensor. */
  const char* kind;       /* "linear", "convolution", "mean_pool", "max_pool" or "none" (full attention). */
  /* Whether the projection comes before or after the linear layer of keys and values: "before_linear" or
   * "after_linear". */
  const char* order;
  /* The factor of each of the k compressed rows in a sequence of n tokens: "none", "inverse_root" (1 / sqrt(n)) or
   * "restored_norm" (the norm of the row of the weight divided by the norm of that row's first n elements). */
  const char* length_scale;
  /* If `span` is 0, all k compressed rows take part in attention in every sequence. Otherwise there is one row for each
   * of the e exact tokens, followed by k - e rows that divide the positions 0 to span - 1 among them, in order. In a
   * sequence of n tokens, the first
   *   min(k, e + ceil((k - e) n / span))
   * rows take part, or none if each token's window covers the whole sequence. */
  int64_t span;
  /* Token ids. In a sequence that contains exact_tokens[i], the key and the value in compressed row i are copies of the
   * key and value of the first such token that isn't masked, and row i of the weight is not used. The array is valid as
   * long as the model. */
  const uint32_t* exact_tokens;
  int64_t exact_token_count;
} lnf_projection_info;
LNF_API lnf_code lnf_model_get_projection(const lnf_model* model, int32_t part, int32_t projection,
                                          lnf_projection_info* info, lnf_status* status);
typedef struct lnf_masked_lm_info {
  size_t size;
  int32_t present;        /* 0: the model has no masked-LM head, which is no error. */
  int32_t tied;           /* Its weight is the token embedding. */
  int32_t dense, norm;    /* dense: a linear layer with `activation` comes before the logits. */
  const char* activation; /* "none" if there is no activation. */
} lnf_masked_lm_info;
LNF_API lnf_code lnf_model_get_masked_lm(const lnf_model* model, lnf_masked_lm_info* info, lnf_status* status);
/* How the model makes one vector of a text. */
typedef struct lnf_sentence_embedding_info {
  size_t size;
  int64_t linear_width; /* The width of the vector after a linear layer. 0: there is no such layer. */
  int32_t present;      /* 0: the model doesn't say how, which is no error. */
  int32_t pooling; /* LNF_POOL_... */
  int32_t norm;    /* A LayerNorm comes after the linear layer, or after the pooling if there is no linear layer. */
  int32_t normalize;
  const char* activation; /* The activation of the linear layer. */
  int32_t prompts;        /* The number of prompts for lnf_model_get_prompt(). */
  int32_t default_prompt; /* The prompt that is used if the caller chooses none. -1: the model has no default prompt. */
  int32_t excludes_prompt; /* 1: the tokens of a prompt are left out of the vector. */
  /* If not 0: a text that is cut to n tokens is first cut to n times as many code points. */
  int64_t characters_per_token;
} lnf_sentence_embedding_info;
LNF_API lnf_code lnf_model_get_sentence_embedding(const lnf_model* model, lnf_sentence_embedding_info* info,
                                                  lnf_status* status);
enum { LNF_FIRST_TEXT = -1, LNF_SECOND_TEXT = -2 }; /* They stand for the texts in templates. */
typedef struct lnf_tokenizer_info {
  size_t size;
  int64_t tokens, merges, added_tokens;
  /* The ids around one text and around two, with LNF_FIRST_TEXT and LNF_SECOND_TEXT in the places of the texts. */
  const int32_t *single_template, *pair_template;
  const uint8_t* pair_types; /* The token types of pair_template's items. If there are none, all are 0. */
  size_t single_template_count, pair_template_count, pair_type_count;
  int32_t kind;                                    /* LNF_TOKENIZER_... */
  int32_t unk_id, bos_id, eos_id, pad_id, mask_id; /* -1: the tokenizer has no such token. */
  int32_t lowercase, strip_accents;
} lnf_tokenizer_info;
LNF_API lnf_code lnf_model_get_tokenizer(const lnf_model* model, lnf_tokenizer_info* info, lnf_status* status);
typedef struct lnf_tensor_info {
  size_t size;
  const char* name;      /* The tensor's name in the checkpoint. */
  const char* type;      /* "f32", "bf16", "f16" or "int8" */
  const char* layout;    /* "row_major", "panel16" or "padded_rows" */
  const uint64_t* shape; /* The shape in the checkpoint. */
  size_t dimensions;
  uint64_t offset, bytes; /* offset is from the beginning of the file's tensors. */
  uint64_t checksum;      /* XXH3-64 of the bytes. */
} lnf_tensor_info;
LNF_API lnf_code lnf_model_get_tensor(const lnf_model* model, int32_t tensor, lnf_tensor_info* info,
                                      lnf_status* status);

#ifdef __cplusplus
}
#endif

#endif
