/* linformer: the C API, in C99: text to vectors and scores on a CPU.
 *
 * Handles are opaque. No function throws, prints, ends the process or keeps a pointer of the caller's after it has
 * returned, but where its comment says so. Each returns LNF_OK or an error, and writes a sentence about that to
 * `status`, which may be NULL: it is the caller's memory, and nothing has to be freed. A NULL handle or pointer where
 * one is needed is LNF_INVALID_ARGUMENT, and so is a struct of a wrong size; LNF_UNSUPPORTED says that a struct sets a
 * field newer than the library, and LNF_OUT_OF_MEMORY may come from every function. Comments name what else there is.
 * lnf_..._free(NULL) does nothing.
 *
 * Structs begin with their size, so that a caller compiled with older headers works with a newer library of the same
 * minor version: call lnf_..._init(), which sets `size` and the defaults, then change fields; whoever can't use macros
 * calls lnf_..._init_sized() with the size of his struct. New fields go at the end. In arrays every struct has the size
 * of the first one. Texts are UTF-8 and need no end; invalid bytes are replaced.
 *
 * Threads: models, tokenizers and all functions without a handle: any thread at any time. All other handles: one call
 * at a time, from any thread. A model lives as long as what was made of it.
 * After fork() the child may make new ones of all these, and use and free the ones that it inherited, but for those
 * that another thread was using at that moment or that have a device: sessions then run on the calling thread alone,
 * with the same bits.
 *
 * Environment: LINFORMER_ISA (scalar, avx2, avx512, neon) names the instruction set of sessions. */
#ifndef LINFORMER_C_API_H
#define LINFORMER_C_API_H

#include <stddef.h>
#include <stdint.h>

/* Who links the shared library defines LNF_SHARED (its CMake target and linformer-shared.pc do): Windows wants to know.
 * LNF_BUILD_SHARED is for the library's own build. In the archive every function is hidden. */
#if defined(_WIN32) && defined(LNF_BUILD_SHARED)
#define LNF_API __declspec(dllexport)
#elif defined(_WIN32) && defined(LNF_SHARED)
#define LNF_API __declspec(dllimport)
#elif defined(LNF_BUILD_SHARED)
#define LNF_API __attribute__((visibility("default")))
#else
#define LNF_API
#endif

/* The version of this header. While the major version is 0, another minor version is another ABI. */
#define LNF_VERSION_MAJOR 0
#define LNF_VERSION_MINOR 1
#define LNF_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* --- The library ------------------------------------------------------------------------------------------------ */

/* Of the library that runs: major << 16 | minor << 8 | patch. */
LNF_API uint32_t lnf_version(void);
/* The newest version of the model file that it reads. */
LNF_API uint32_t lnf_format_version(void);
/* Version, backends, the instruction set that is used here and why, in a line for logs: writes up to `capacity` bytes,
 * the terminator included, and returns how many bytes the whole line needs. `text` may be NULL with capacity 0. */
LNF_API size_t lnf_build_info(char* text, size_t capacity);

/* Codes of `lnf_status`, and what functions return. */
typedef int32_t lnf_code;
enum {
  LNF_OK = 0,
  LNF_INVALID_ARGUMENT = 0x10, /* a value that the caller passed */
  LNF_TOO_LONG = 0x11,         /* more tokens, texts or bytes than were planned for, or than fit the memory given */
  LNF_CANCELLED = 0x12,
  LNF_IO = 0x20, /* the operating system refused */
  LNF_OUT_OF_MEMORY = 0x21,
  LNF_CORRUPT = 0x30,     /* the file contradicts the format or itself */
  LNF_UNSUPPORTED = 0x31, /* well-formed, but beyond this build or version */
  LNF_INTERNAL = 0x40
};
typedef struct lnf_status {
  lnf_code code;
  char message[384]; /* one sentence with the thing that is wrong and what to do; "" where all went well */
} lnf_status;

/* What lnf_build_info() says, for programs. */
typedef struct lnf_build {
  size_t size;
  uint32_t version, format;                   /* lnf_version(), lnf_format_version() */
  int32_t isa;                                /* LNF_ISA_...: what sessions with LNF_ISA_AUTO take; AUTO: they fail */
  int32_t has_onednn, has_openblas, has_cuda; /* built in */
} lnf_build;
/* The caller sets `build->size` to its sizeof. */
LNF_API lnf_code lnf_get_build(lnf_build* build, lnf_status* status);
/* LNF_INVALID_ARGUMENT where LINFORMER_ISA in the environment names no instruction set, as sessions with LNF_ISA_AUTO
 * then say: for programs that refuse it before they do anything. */
LNF_API lnf_code lnf_check_environment(lnf_status* status);

typedef struct lnf_model lnf_model;
typedef struct lnf_tokenizer lnf_tokenizer;
typedef struct lnf_encoding lnf_encoding;
typedef struct lnf_session lnf_session;
typedef struct lnf_classifier lnf_classifier;
typedef struct lnf_embedder lnf_embedder;
typedef struct lnf_runner lnf_runner;
typedef struct lnf_mask_filler lnf_mask_filler;
typedef struct lnf_reader lnf_reader;
typedef struct lnf_batch lnf_batch;
typedef struct lnf_masked_lm lnf_masked_lm;
typedef struct lnf_cancel lnf_cancel;

/* --- Models ----------------------------------------------------------------------------------------------------- */

enum { LNF_CHECKSUMS_AUTO = 0, LNF_CHECKSUMS_ALWAYS, LNF_CHECKSUMS_METADATA };
typedef struct lnf_load_options {
  size_t size;
  uint64_t verify_below; /* AUTO: tensors of files up to so many bytes are compared with their checksums */
  int32_t checksums;
  int32_t read_all; /* 1: the bytes are read at once, or copied, instead of mapped or used in place */
} lnf_load_options;
LNF_API void lnf_load_options_init_sized(lnf_load_options* to, size_t size);
#define lnf_load_options_init(to) lnf_load_options_init_sized((to), sizeof *(to))

/* Options may be NULL: the defaults. *model is NULL after an error. Work and memory are bounded by the bytes given.
 * Errors of all four: LNF_IO, LNF_CORRUPT, LNF_UNSUPPORTED (another version of the format).
 * The file is mapped; replace it by renaming another over it, never by writing into it. */
LNF_API lnf_code lnf_model_load(const char* path, const lnf_load_options* options, lnf_model** model,
                                lnf_status* status);
/* A whole file's bytes, at any address. release(user) is called exactly once, by the thread that last needs them (this
 * one after an error); with NULL they stay the caller's and must outlive the model. Bytes that aren't aligned to 64 are
 * copied, and no longer needed once this returns. */
LNF_API lnf_code lnf_model_load_memory(const void* bytes, size_t size, void (*release)(void* context), void* context,
                                       const lnf_load_options* options, lnf_model** model, lnf_status* status);
/* The bytes [offset, offset + size) of an open file, as an asset inside a package; size 0: to its end. The descriptor
 * stays the caller's, who may close it, and its position isn't moved. An offset that is no multiple of 64 is read into
 * memory instead of mapped. LNF_INVALID_ARGUMENT for a part beyond the file. */
LNF_API lnf_code lnf_model_load_fd(int fd, uint64_t offset, uint64_t size, const lnf_load_options* options,
                                   lnf_model** model, lnf_status* status);
/* `size` bytes from read(user, destination, offset, bytes), which returns 1 where it has written all of them. */
LNF_API lnf_code lnf_model_load_read(int (*read)(void* context, void* destination, uint64_t offset, size_t bytes),
                                     void* context, uint64_t size, const lnf_load_options* options, lnf_model** model,
                                     lnf_status* status);
LNF_API void lnf_model_free(lnf_model* model);
/* Compares every tensor with its checksum; any thread may do so while others run sessions. Errors: LNF_CORRUPT, which
 * names the tensor. */
LNF_API lnf_code lnf_model_verify(const lnf_model* model, lnf_status* status);
/* The same of one tensor, from 0 on, for those who show how far it is. LNF_INVALID_ARGUMENT where there is none. */
LNF_API lnf_code lnf_model_verify_tensor(const lnf_model* model, int32_t tensor, lnf_status* status);

/* LNF_TOKENIZER_BPE is byte-pair encoding of characters, LNF_TOKENIZER_BYTE_BPE that of bytes. */
enum {
  LNF_TOKENIZER_NONE = 0,
  LNF_TOKENIZER_BYTE_BPE,
  LNF_TOKENIZER_WORDPIECE,
  LNF_TOKENIZER_UNIGRAM,
  LNF_TOKENIZER_BPE
};
typedef struct lnf_model_info {
  size_t size;
  uint64_t file_bytes;
  int64_t max_tokens, prefix_rows; /* with what the model puts before a text: n tokens make n + prefix_rows rows */
  int64_t vocabulary, vector_width, width; /* vocabulary 0: it reads vectors of vector_width floats */
  int32_t layers, heads, tensors;          /* classification heads */
  int32_t pad_id, mask_id;                 /* -1: none */
  int32_t tokenizer, has_masked_lm, has_embedding, has_decoder;
} lnf_model_info;
/* The caller sets `info->size` to its sizeof. */
LNF_API lnf_code lnf_model_get_info(const lnf_model* model, lnf_model_info* info, lnf_status* status);

enum { LNF_SINGLE_LABEL = 0, LNF_MULTI_LABEL, LNF_SCORE, LNF_REGRESSION };
typedef struct lnf_head_info {
  size_t size;
  int64_t classes;
  int32_t kind, has_labels, compares_two, each_token;
  int32_t pooling;          /* LNF_POOL_...; DEFAULT: none, where it scores each token */
  int32_t norm, dense;      /* behind the pooling; dense: a linear with `activation`, before the outputs */
  int32_t norm_after_dense; /* the norm comes behind dense and its activation */
  const char *activation, *score_activation; /* static names, "none" without one; the latter makes the probability of a
                                                score */
  int32_t spans; /* each token's scores are the logits of a span's begin and end: lnf_answerer_create() */
} lnf_head_info;
/* As lnf_model_get_info(). LNF_INVALID_ARGUMENT where there is no such head. */
LNF_API lnf_code lnf_model_get_head(const lnf_model* model, int32_t head, lnf_head_info* info, lnf_status* status);
/* Names, as snprintf: up to `capacity` bytes with the terminator; returns the bytes that the whole name needs. 0: there
 * is no such head or class. A class without a name has an empty one, of 1 byte. */
LNF_API size_t lnf_model_head_name(const lnf_model* model, int32_t head, char* text, size_t capacity);
LNF_API size_t lnf_model_label(const lnf_model* model, int32_t head, int64_t label, char* text, size_t capacity);
/* The program that wrote the file and its version, and the dialect of the checkpoint ("fairseq", ...); as names. */
LNF_API size_t lnf_model_producer(const lnf_model* model, char* text, size_t capacity);
LNF_API size_t lnf_model_dialect(const lnf_model* model, char* text, size_t capacity);
/* -1: there is no head of this name. */
LNF_API int32_t lnf_model_find_head(const lnf_model* model, const char* name);

/* --- Calls that can be stopped ----------------------------------------------------------------------------------- */

/* A flag that any thread sets; calls that were given it end soon with LNF_CANCELLED. It outlives them. */
LNF_API lnf_cancel* lnf_cancel_create(void); /* NULL: no memory */
LNF_API void lnf_cancel_free(lnf_cancel* cancel);
LNF_API void lnf_cancel_set(lnf_cancel* cancel, int32_t cancelled);

typedef struct lnf_control {
  size_t size;
  const lnf_cancel* cancel; /* may be NULL */
  /* May be NULL: told the share of the work that is done, 0 to 1, on the thread that made the call. It may set the
   * flag, and calls nothing else with the same handle. */
  void (*progress)(void* context, double share);
  void* context;
} lnf_control;
LNF_API void lnf_control_init_sized(lnf_control* to, size_t size);
#define lnf_control_init(to) lnf_control_init_sized((to), sizeof *(to))

/* --- Sessions ---------------------------------------------------------------------------------------------------- */

/* What products with weights in bf16 and int8 are computed in, by the native backend. AUTO: int8, and bf16 where this
 * kind of processor is faster in it than in f32, else f32; NO_BF16: int8, and f32 in the place of bf16; F32: all
 * weights are widened; BF16: int8, and bf16 also where f32 is faster. Attention of such models is computed in bf16
 * where bf16 is computed in, else in f32, unless LNF_ATTENTION_F32 or LNF_ATTENTION_BF16 says so. */
enum { LNF_COMPUTE_AUTO = 0, LNF_COMPUTE_NO_BF16, LNF_COMPUTE_F32, LNF_COMPUTE_BF16 };
enum { LNF_ATTENTION_AUTO = 0, LNF_ATTENTION_F32, LNF_ATTENTION_BF16 };
enum { LNF_BACKEND_NATIVE = 0, LNF_BACKEND_ONEDNN, LNF_BACKEND_OPENBLAS };
enum { LNF_PADDING_STRIP = 0, LNF_PADDING_KEEP };
/* Instruction sets. AUTO: the best that the machine has, or what LINFORMER_ISA in the environment says. */
enum { LNF_ISA_AUTO = 0, LNF_ISA_SCALAR, LNF_ISA_AVX2, LNF_ISA_AVX512, LNF_ISA_NEON };
/* Calls task(argument, i) once for each i of [0, count), on any threads, at once or one after the other, and returns
 * when all have returned. */
typedef void (*lnf_parallel)(void* context, void (*task)(void* argument, int index), void* argument, int count);
typedef struct lnf_session_options {
  size_t size;
  /* What is computed. */
  int32_t part, padding, compute, attention_compute;
  /* Threads and kernels of the CPU. */
  int32_t threads, backend, isa;
  int32_t block_rows;    /* that a thread takes through a layer at once: a multiple of 32 up to 256; 0: the machine's */
  lnf_parallel parallel; /* not NULL: the caller's threads, and none are started. Kept as long as the session */
  void* parallel_context;
  /* A GPU, in builds with CUDA. */
  int32_t device;            /* -1: the CPU */
  int32_t tf32;              /* 1: products in f32 round their operands to 10 bits */
  void* stream;              /* the caller's cudaStream_t, which outlives the session; NULL: one of its own */
  int32_t outputs_on_device; /* 1: the data of outputs is in the device's memory */
  /* The largest call, which the arena is made for, and the arena. */
  int64_t max_tokens;         /* of a text; 0: the model's N */
  int64_t max_batch;          /* texts of a call; 0: 1 */
  int64_t max_rows;           /* tokens of a call; 0: their product */
  int64_t max_encoder_states; /* of a text, for cross attention; 0: max_tokens */
  void* arena;                /* not NULL: lnf_plan_bytes() bytes, aligned to 64. Kept as long as the session */
  size_t arena_bytes;
} lnf_session_options;
LNF_API void lnf_session_options_init_sized(lnf_session_options* to, size_t size);
#define lnf_session_options_init(to) lnf_session_options_init_sized((to), sizeof *(to))
/* The bytes of a session's arena: all memory that grows with its options. Before it exists, on this machine; on a
 * device as of one that computes in bf16. No backend is opened for it. Errors: LNF_INVALID_ARGUMENT, LNF_TOO_LONG,
 * LNF_UNSUPPORTED (a device in a build without CUDA, no instruction for a bf16 that the options ask for). */
LNF_API lnf_code lnf_plan_bytes(const lnf_model* model, const lnf_session_options* options, uint64_t* bytes,
                                lnf_status* status);
/* The sentence of lnf_session_precision() before there is a session, as snprintf: *bytes is what it needs, the
 * terminator included, and `text` may be NULL with capacity 0. Errors: those of lnf_plan_bytes(); LNF_TOO_LONG where it
 * doesn't fit. */
LNF_API lnf_code lnf_plan_precision(const lnf_model* model, const lnf_session_options* options, char* text,
                                    size_t capacity, size_t* bytes, lnf_status* status);
/* Errors: LNF_INVALID_ARGUMENT (options, an arena that is too small or not aligned: oneDNN may need some kilobytes more
 * than planned), LNF_TOO_LONG (more than can be addressed), LNF_UNSUPPORTED (no such instruction set, backend or device
 * here, no instruction for a bf16 that the options ask for), LNF_IO (a backend's library can't be opened), LNF_INTERNAL
 * (a backend failed). */
LNF_API lnf_code lnf_session_create(const lnf_model* model, const lnf_session_options* options, lnf_session** session,
                                    lnf_status* status);
LNF_API void lnf_session_free(lnf_session* session);
/* What the session multiplies and attends in, and why, in one English sentence; valid as long as the session. NULL: no
 * session. */
LNF_API const char* lnf_session_precision(const lnf_session* session);
/* Outputs of a classification head; 0: there is none, or no session. Rows of LNF_HIDDEN for a text of `count` tokens.
 */
LNF_API int64_t lnf_session_classes(const lnf_session* session, int32_t head);
LNF_API int64_t lnf_session_output_rows(const lnf_session* session, int64_t count);

/* One text of a call. Spans of counts that are 0 may be NULL. */
typedef struct lnf_input {
  size_t size;
  const int32_t* ids;   /* [count] */
  const float* vectors; /* instead, for models that read vectors: [count, vector_width] */
  size_t count;
  const uint8_t* type_ids;     /* [count] or NULL: all 0 */
  const uint8_t* mask;         /* [count] or NULL: all 1; 0 = masked */
  const float* encoder_states; /* for cross attention: [state_count, width], or NULL */
  size_t state_count;
  const uint8_t* state_mask; /* [state_count]; NULL: `mask` where state_count is count, else all 1 */
  const uint8_t* query_mask; /* [count] or NULL: all 1; 0 = its query is zero */
} lnf_input;
LNF_API void lnf_input_init_sized(lnf_input* to, size_t size);
#define lnf_input_init(to) lnf_input_init_sized((to), sizeof *(to))

enum { LNF_HIDDEN = 0, LNF_POOLED, LNF_LOGITS, LNF_PROBABILITIES, LNF_EMBEDDINGS, LNF_MASKED_LM };
/* LAST: the last token that isn't masked. WEIGHTED_MEAN: row i counts i + 1 times as much as row 0. */
enum {
  LNF_POOL_DEFAULT = -1,
  LNF_POOL_FIRST = 0,
  LNF_POOL_MEAN,
  LNF_POOL_MEAN_OVER_MAX,
  LNF_POOL_MAX,
  LNF_POOL_LAST = 5,
  LNF_POOL_WEIGHTED_MEAN
};
typedef struct lnf_position {
  int64_t text, position;
} lnf_position;
/* What to compute, and where to put it: rows x columns floats, row-major.
 *   LNF_HIDDEN         [rows of all texts, width]; layer -1 is the output, 0 the embedding
 *   LNF_POOLED         [texts, width]
 *   LNF_LOGITS         of a head, [texts, classes], or a row for two texts or for each token, as the head is
 *   LNF_PROBABILITIES  the same, as the head's kind says
 *   LNF_EMBEDDINGS     [texts, width]: the model's own sentence embedding
 *   LNF_MASKED_LM      [position_count, vocabulary] */
typedef struct lnf_output {
  size_t size;
  int32_t kind, layer, head, pooling;
  const lnf_position* positions;
  size_t position_count;
  float* data;           /* NULL: not computed */
  size_t capacity;       /* floats; more than needed are left as they are */
  int64_t rows, columns; /* set by lnf_shapes() and lnf_run() */
} lnf_output;
LNF_API void lnf_output_init_sized(lnf_output* to, size_t size, int32_t kind);
#define lnf_output_init(to, kind) lnf_output_init_sized((to), sizeof *(to), (kind))

/* Sets rows and columns of each output; `data`, `capacity` and the values of ids, masks and positions aren't looked at.
 * LNF_INVALID_ARGUMENT: a layer, head or kind of output that the session hasn't. */
LNF_API lnf_code lnf_shapes(const lnf_session* session, const lnf_input* inputs, size_t input_count,
                            lnf_output* outputs, size_t output_count, lnf_status* status);
/* One pass over the texts, from which all outputs come. Allocates only to list more inputs or outputs than any call
 * before. `control` may be NULL. Errors: LNF_INVALID_ARGUMENT (an id, mask, layer, head or position that isn't
 * there), LNF_TOO_LONG (more texts or tokens than planned for, a `data` that is too short): nothing is written then.
 * After LNF_CANCELLED and LNF_INTERNAL `data` is unspecified; the session can be used again. */
LNF_API lnf_code lnf_run(lnf_session* session, const lnf_input* inputs, size_t input_count, lnf_output* outputs,
                         size_t output_count, const lnf_control* control, lnf_status* status);
/* The token (or vector) that each row of LNF_HIDDEN belongs to, -1: none. *rows is how many the text has; LNF_TOO_LONG
 * where `capacity` is less, LNF_INVALID_ARGUMENT for ids where vectors are due and masks of another length. */
LNF_API lnf_code lnf_row_tokens(const lnf_session* session, const lnf_input* input, int64_t* tokens, size_t capacity,
                                size_t* rows, lnf_status* status);

/* The other way: the row of token `token`, which LNF_MASKED_LM takes as a position. LNF_INVALID_ARGUMENT where the
 * token has none, since it is stripped. */
LNF_API lnf_code lnf_token_row(const lnf_session* session, const lnf_input* input, size_t token, int64_t* row,
                               lnf_status* status);

/* --- Texts ------------------------------------------------------------------------------------------------------- */

enum { LNF_LONG_TRUNCATE = 0, LNF_LONG_WINDOW, LNF_LONG_ERROR };
typedef struct lnf_text_options {
  size_t size;
  int64_t max_tokens; /* of a text; 0: the model's N */
  int64_t overlap;    /* tokens that two windows share; -1: a quarter of a window */
  int64_t max_batch;  /* texts in one call of a session; 0: 16 */
  int64_t max_rows;   /* tokens in one call; 0: 4,096, or max_tokens where that is more */
  int64_t pad_to;     /* texts are lengthened with pads to so many tokens; 0: not */
  int32_t on_long;    /* WINDOW: read in windows that overlap, the mean of theirs */
  int32_t threads;    /* each takes whole texts; on other backends than NATIVE they share each */
  int32_t truncation, keep, add_special_tokens, match_special_tokens; /* as in lnf_encode_options */
  int32_t padding, compute, attention_compute;                        /* as in lnf_session_options */
  int32_t backend, isa, block_rows, device, tf32;                     /* as in lnf_session_options */
  lnf_parallel parallel; /* as in lnf_session_options; kept as long as what was created with it */
  void* parallel_context;
} lnf_text_options;
LNF_API void lnf_text_options_init_sized(lnf_text_options* to, size_t size);
#define lnf_text_options_init(to) lnf_text_options_init_sized((to), sizeof *(to))

/* Which limit a text is beyond: it has more tokens than are read; one text of a pair leaves the other no room in a
 * window, or no more than windows share. */
enum { LNF_LIMIT_NONE = 0, LNF_LIMIT_TOKENS, LNF_LIMIT_ROOM, LNF_LIMIT_OVERLAP };
/* What is said of one text; valid during the visit. */
typedef struct lnf_text_report {
  size_t size;
  size_t index;
  lnf_code code; /* not LNF_OK: this text has no answer, and `message` says why */
  const char* message;
  int64_t tokens, total_tokens, windows; /* read, there, and windows that they were read in */
  /* A classifier: of each head its logits, then its probabilities. An embedder: the vector. A runner: each output's
   * row. NULL where there are none. */
  const float* values;
  size_t count; /* of values */
  /* LNF_TOO_LONG in parts: the limit that the text is beyond, LNF_LIMIT_NONE with other codes; of a pair the text that
   * is too long, 0 or 1; the tokens that it has; those that it leaves to the other text in a window; those that are
   * read of a text or in a window; and 1 where windows over this text instead would have room for the other one. */
  int32_t limit, limit_text;
  int64_t limit_tokens, limit_room, limit_max_tokens;
  int32_t limit_other_fits;
  int32_t without_mask; /* 1: lnf_fill_masks() found no mask in what was read, and `code` says so */
} lnf_text_report;
/* Called for each text, in order, on the thread that called. 0: no more are wanted, and the call ends with LNF_OK. */
typedef int (*lnf_visit)(void* context, const lnf_text_report* report);

#ifdef __cplusplus
}
#endif

#include "linformer_masks.h"
#include "linformer_model_info.h"
#include "linformer_prompts.h"
#include "linformer_ranking.h"
#include "linformer_reader.h"
#include "linformer_spans.h"
#include "linformer_texts.h"
#include "linformer_tokenizer.h"

#endif
