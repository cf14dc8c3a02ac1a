/* linformer: the C API, in C99. It makes vectors and scores of texts on a CPU.
 *
 * Functions: none of them throws, prints or ends the process. A function keeps no pointer of the caller's after it has
 * returned, unless its comment says so. Most functions return LNF_OK or an error code, and write a sentence about the
 * error to `status`. `status` may be NULL. It is the caller's memory, and nothing in it has to be freed. Every such
 * function may return LNF_INVALID_ARGUMENT (a handle or pointer that it needs is NULL, or a struct has a wrong size),
 * LNF_UNSUPPORTED (a struct sets a field that this version of the library doesn't know) and LNF_OUT_OF_MEMORY. The
 * comments name the other errors.
 *
 * Handles are opaque. The caller frees each one with its lnf_..._free(), which does nothing for NULL. Everything that
 * is made of a model keeps it alive, so the model's handle may be freed first.
 *
 * Structs that may grow begin with their size, so that a caller that was compiled with older headers works with a newer
 * library of the same minor version. Call lnf_..._init(), which sets `size` and the defaults, and then change fields. A
 * language without macros calls lnf_..._init_sized() with the size of its struct. New fields are added at the end. All
 * structs of an array have the size of its first struct.
 *
 * Texts are UTF-8. A text with a length needs no 0 at its end. Invalid bytes are replaced.
 *
 * Threads: any thread may use models, tokenizers and functions without a handle at any time. Every other handle takes
 * one call at a time, from any thread. After fork(), the child may make new handles, and may use and free the handles
 * that it inherited, except those that another thread was using at that moment and those that have a device. Inherited
 * sessions run on the calling thread alone, and their results are bit-identical.
 *
 * Environment: LINFORMER_ISA (scalar, avx2, avx512 or neon) names the instruction set of sessions with LNF_ISA_AUTO. */
#ifndef LINFORMER_C_API_H
#define LINFORMER_C_API_H

#include <stddef.h>
#include <stdint.h>

/* A program that links the shared library must define LNF_SHARED, because Windows needs it. The CMake target and
 * linformer-shared.pc define it. LNF_BUILD_SHARED is only for building the library. In the static library every
 * function has hidden visibility. */
#if defined(_WIN32) && defined(LNF_BUILD_SHARED)
#define LNF_API __declspec(dllexport)
#elif defined(_WIN32) && defined(LNF_SHARED)
#define LNF_API __declspec(dllimport)
#elif defined(LNF_BUILD_SHARED)
#define LNF_API __attribute__((visibility("default")))
#else
#define LNF_API
#endif

/* The version of this header. While the major version is 0, each minor version has an ABI of its own. */
#define LNF_VERSION_MAJOR 0
#define LNF_VERSION_MINOR 1
#define LNF_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* --- The library ------------------------------------------------------------------------------------------------ */

/* Returns the version of the library that runs: major << 16 | minor << 8 | patch. */
LNF_API uint32_t lnf_version(void);
/* Returns the newest version of the model file that the library reads. */
LNF_API uint32_t lnf_format_version(void);
/* Writes one line for logs: the version, the backends, and the instruction set that is used here, with the reason. It
 * writes up to `capacity` bytes, including the terminator, and returns the bytes that the whole line needs. `text` may
 * be NULL if `capacity` is 0. */
LNF_API size_t lnf_build_info(char* text, size_t capacity);

/* The codes that functions return, and that `lnf_status` holds. */
typedef int32_t lnf_code;
enum {
  LNF_OK = 0,
  LNF_INVALID_ARGUMENT = 0x10, /* A value that the caller passed is wrong. */
  LNF_TOO_LONG = 0x11, /* There are more tokens, texts or bytes than were planned for, or than fit the given memory. */
  LNF_CANCELLED = 0x12,
  LNF_IO = 0x20, /* The operating system reported an error. */
  LNF_OUT_OF_MEMORY = 0x21,
  LNF_CORRUPT = 0x30,     /* The file contradicts the format or itself. */
  LNF_UNSUPPORTED = 0x31, /* The input is well-formed, but this build or version can't process it. */
  LNF_INTERNAL = 0x40
};
typedef struct lnf_status {
  lnf_code code;
  char message[384]; /* One sentence that names what is wrong and says what to do, or "" if all went well. */
} lnf_status;

/* The content of lnf_build_info(), for programs. */
typedef struct lnf_build {
  size_t size;
  uint32_t version, format; /* lnf_version() and lnf_format_version(). */
  int32_t isa; /* LNF_ISA_...: the set that sessions with LNF_ISA_AUTO take. If it is AUTO, such sessions fail. */
  int32_t has_onednn, has_openblas, has_cuda; /* Whether the build has them. */
} lnf_build;
/* Writes *build. The caller must set `build->size` to sizeof(lnf_build) before. */
LNF_API lnf_code lnf_get_build(lnf_build* build, lnf_status* status);
/* Returns LNF_INVALID_ARGUMENT if LINFORMER_ISA in the environment names no instruction set. Sessions with LNF_ISA_AUTO
 * return the same error; this function is for programs that want to report it before they do any work. */
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
  uint64_t verify_below; /* For AUTO: the tensors of files up to this many bytes are compared with their checksums. */
  int32_t checksums;
  int32_t read_all; /* 1: all bytes are read at once, or copied, instead of being mapped or used in place. */
} lnf_load_options;
LNF_API void lnf_load_options_init_sized(lnf_load_options* to, size_t size);
#define lnf_load_options_init(to) lnf_load_options_init_sized((to), sizeof *(to))

/* Loads a model from a file. `options` may be NULL for the defaults. After an error *model is NULL. Work and memory are
 * bounded by the bytes of the file. All four load functions return LNF_IO, LNF_CORRUPT and LNF_UNSUPPORTED (another
 * version of the format). The file is mapped by default: replace it by renaming another file over it, never by writing
 * into it. */
LNF_API lnf_code lnf_model_load(const char* path, const lnf_load_options* options, lnf_model** model,
                                lnf_status* status);
/* Loads a model from the bytes of a whole file, at any address. If `release` isn't NULL, release(context) is called
 * exactly once, by the thread that drops the last use of the bytes, or before this function returns if the bytes were
 * copied or if there is an error. If `release` is NULL, the bytes stay the caller's and must outlive the model. Bytes
 * that aren't aligned to 64 are copied, and aren't needed once this function has returned. */
LNF_API lnf_code lnf_model_load_memory(const void* bytes, size_t size, void (*release)(void* context), void* context,
                                       const lnf_load_options* options, lnf_model** model, lnf_status* status);
/* Loads the bytes [offset, offset + size) of an open file, such as an asset inside a package. If `size` is 0, they
 * reach to the end of the file. The descriptor stays the caller's, who may close it, and its position isn't moved. If
 * `offset` isn't a multiple of 64, the bytes are read instead of mapped. Returns LNF_INVALID_ARGUMENT if the file has
 * no such bytes. */
LNF_API lnf_code lnf_model_load_fd(int fd, uint64_t offset, uint64_t size, const lnf_load_options* options,
                                   lnf_model** model, lnf_status* status);
/* Loads `size` bytes that read(context, destination, offset, bytes) delivers, part by part and in order. read() returns
 * 1 if it has written all of the requested bytes. */
LNF_API lnf_code lnf_model_load_read(int (*read)(void* context, void* destination, uint64_t offset, size_t bytes),
                                     void* context, uint64_t size, const lnf_load_options* options, lnf_model** model,
                                     lnf_status* status);
LNF_API void lnf_model_free(lnf_model* model);
/* Compares every tensor with its checksum. Any thread may call it while others run sessions. Returns LNF_CORRUPT, with
 * the name of the tensor. */
LNF_API lnf_code lnf_model_verify(const lnf_model* model, lnf_status* status);
/* Compares the tensor with this index, from 0 on, with its checksum, for callers that show the progress. Returns
 * LNF_CORRUPT, and LNF_INVALID_ARGUMENT if there is no such tensor. */
LNF_API lnf_code lnf_model_verify_tensor(const lnf_model* model, int32_t tensor, lnf_status* status);

/* LNF_TOKENIZER_BPE is byte-pair encoding of characters, LNF_TOKENIZER_BYTE_BPE is byte-pair encoding of bytes. */
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
  /* max_tokens includes the rows that the model puts before a sequence: n tokens make n + prefix_rows rows. */
  int64_t max_tokens, prefix_rows;
  int64_t vocabulary, vector_width, width; /* If vocabulary is 0, the model reads vectors of vector_width floats. */
  int32_t layers, heads, tensors;          /* heads is the number of classification heads. */
  int32_t pad_id, mask_id;                 /* -1: the model has no such token. */
  int32_t tokenizer, has_masked_lm, has_embedding, has_decoder;
} lnf_model_info;
/* Writes *info. The caller must set `info->size` to sizeof(lnf_model_info) before. */
LNF_API lnf_code lnf_model_get_info(const lnf_model* model, lnf_model_info* info, lnf_status* status);

enum { LNF_SINGLE_LABEL = 0, LNF_MULTI_LABEL, LNF_SCORE, LNF_REGRESSION };
typedef struct lnf_head_info {
  size_t size;
  int64_t classes;
  int32_t kind, has_labels, compares_two, each_token;
  int32_t pooling;     /* LNF_POOL_...; LNF_POOL_DEFAULT if the head scores each token, since it doesn't pool. */
  int32_t norm, dense; /* They come after the pooling. dense is a linear layer with `activation`, before the outputs. */
  int32_t norm_after_dense; /* 1: the norm comes after dense and its activation. */
  /* Static names, "none" if there is no activation. score_activation makes the probability of a score. */
  const char *activation, *score_activation;
  int32_t spans; /* 1: each token's scores are the logits of a span's begin and end, as lnf_answerer_create() needs. */
} lnf_head_info;
/* Writes *info. The caller must set `info->size` to sizeof(lnf_head_info) before. Returns LNF_INVALID_ARGUMENT if there
 * is no such head. */
LNF_API lnf_code lnf_model_get_head(const lnf_model* model, int32_t head, lnf_head_info* info, lnf_status* status);
/* These functions write a name as snprintf does: up to `capacity` bytes, including the terminator. They return the
 * bytes that the whole name needs, or 0 if there is no such head or class. A class without a name has an empty name of
 * 1 byte. */
LNF_API size_t lnf_model_head_name(const lnf_model* model, int32_t head, char* text, size_t capacity);
LNF_API size_t lnf_model_label(const lnf_model* model, int32_t head, int64_t label, char* text, size_t capacity);
/* The program that wrote the file, with its version, and the dialect of the checkpoint ("fairseq", ...). Both are
 * written in the same way as the name of a head. */
LNF_API size_t lnf_model_producer(const lnf_model* model, char* text, size_t capacity);
LNF_API size_t lnf_model_dialect(const lnf_model* model, char* text, size_t capacity);
/* Returns the index of the head with this name, or -1 if there is none. */
LNF_API int32_t lnf_model_find_head(const lnf_model* model, const char* name);

/* --- Calls that can be stopped ----------------------------------------------------------------------------------- */

/* A flag that any thread may set. Calls that were given the flag then end soon with LNF_CANCELLED. It must outlive
 * them. */
LNF_API lnf_cancel* lnf_cancel_create(void); /* NULL if there is no memory. */
LNF_API void lnf_cancel_free(lnf_cancel* cancel);
LNF_API void lnf_cancel_set(lnf_cancel* cancel, int32_t cancelled);

typedef struct lnf_control {
  size_t size;
  const lnf_cancel* cancel; /* May be NULL. */
  /* May be NULL. It is called with the share of the work that is done, 0 to 1, on the thread that made the call. It may
   * set the flag, but must not call anything else with the same handle. */
  void (*progress)(void* context, double share);
  void* context;
} lnf_control;
LNF_API void lnf_control_init_sized(lnf_control* to, size_t size);
#define lnf_control_init(to) lnf_control_init_sized((to), sizeof *(to))

/* --- Sessions ---------------------------------------------------------------------------------------------------- */

/* The type in which the native backend computes products with weights in bf16 and int8. AUTO: int8 weights in int8;
 * bf16 weights in bf16 if this kind of processor is faster in bf16 than in f32, and otherwise in f32. NO_BF16: int8
 * weights in int8, bf16 weights in f32. F32: both in f32. BF16: as AUTO, but bf16 weights in bf16 even if f32 is
 * faster. The attention of such layers is computed in bf16 with BF16, and with AUTO if this kind of processor is faster
 * in bf16, and otherwise in f32. LNF_ATTENTION_F32 and LNF_ATTENTION_BF16 override this for all layers. */
enum { LNF_COMPUTE_AUTO = 0, LNF_COMPUTE_NO_BF16, LNF_COMPUTE_F32, LNF_COMPUTE_BF16 };
enum { LNF_ATTENTION_AUTO = 0, LNF_ATTENTION_F32, LNF_ATTENTION_BF16 };
enum { LNF_BACKEND_NATIVE = 0, LNF_BACKEND_ONEDNN, LNF_BACKEND_OPENBLAS };
enum { LNF_PADDING_STRIP = 0, LNF_PADDING_KEEP };
/* Instruction sets. AUTO: the set that LINFORMER_ISA in the environment names, or else the best set of the machine. */
enum { LNF_ISA_AUTO = 0, LNF_ISA_SCALAR, LNF_ISA_AVX2, LNF_ISA_AVX512, LNF_ISA_NEON };
/* A function of the caller's that must call task(argument, i) once for each i of [0, count), on any threads, at the
 * same time or one after the other, and must return when all calls have returned. */
typedef void (*lnf_parallel)(void* context, void (*task)(void* argument, int index), void* argument, int count);
typedef struct lnf_session_options {
  size_t size;
  /* What is computed. */
  int32_t part, padding, compute, attention_compute;
  /* Threads and kernels of the CPU. */
  int32_t threads, backend, isa;
  /* Rows that a thread takes through a layer at once: a multiple of 32, at most 256. 0: the best for the machine. */
  int32_t block_rows;
  /* If not NULL, the caller's threads do the work, and none are started. Used as long as the session lives. */
  lnf_parallel parallel;
  void* parallel_context;
  /* A GPU, in builds with CUDA. */
  int32_t device;            /* -1: the CPU. 0 or more: the CUDA device with this number. */
  int32_t tf32;              /* 1: products in f32 may round their operands to TF32 (10 mantissa bits). */
  void* stream;              /* The caller's cudaStream_t, which must outlive the session. NULL: a stream of its own. */
  int32_t outputs_on_device; /* 1: the data of outputs is in the device's memory. */
  /* The limits of a call, which decide the size of the arena, and the arena itself. */
  int64_t max_tokens;         /* Of a sequence, including prefix_rows. 0: the model's maximum. */
  int64_t max_batch;          /* Sequences in a call. 0: 1. */
  int64_t max_rows;           /* Rows in a call: tokens, and prefix_rows of each sequence. 0: max_tokens * max_batch. */
  int64_t max_encoder_states; /* Of a sequence, for cross attention. 0: max_tokens. */
  /* If not NULL: lnf_plan_bytes() bytes, aligned to 64. The session uses them as long as it lives. */
  void* arena;
  size_t arena_bytes;
} lnf_session_options;
LNF_API void lnf_session_options_init_sized(lnf_session_options* to, size_t size);
#define lnf_session_options_init(to) lnf_session_options_init_sized((to), sizeof *(to))
/* Computes the bytes of a session's arena on this machine, before the session exists: all memory that grows with its
 * options. For a device, it assumes one that computes in bf16. It opens no backend. Returns LNF_INVALID_ARGUMENT,
 * LNF_TOO_LONG and LNF_UNSUPPORTED (a device in a build without CUDA, or bf16 in the options without an instruction for
 * it). */
LNF_API lnf_code lnf_plan_bytes(const lnf_model* model, const lnf_session_options* options, uint64_t* bytes,
                                lnf_status* status);
/* Writes the sentence of lnf_session_precision() before there is a session. *bytes gets the bytes that it needs,
 * including the terminator. `text` may be NULL if `capacity` is 0. Returns the errors of lnf_plan_bytes(), and
 * LNF_TOO_LONG if the sentence doesn't fit. */
LNF_API lnf_code lnf_plan_precision(const lnf_model* model, const lnf_session_options* options, char* text,
                                    size_t capacity, size_t* bytes, lnf_status* status);
/* Creates a session. Returns LNF_INVALID_ARGUMENT (wrong options, or an arena that is too small or not aligned; oneDNN
 * may need some kilobytes more than planned), LNF_TOO_LONG (more memory than can be addressed), LNF_UNSUPPORTED (an
 * instruction set, backend, device or bf16 that isn't available here), LNF_IO (a backend's library can't be opened) and
 * LNF_INTERNAL (a backend failed). */
LNF_API lnf_code lnf_session_create(const lnf_model* model, const lnf_session_options* options, lnf_session** session,
                                    lnf_status* status);
LNF_API void lnf_session_free(lnf_session* session);
/* Returns one English sentence about the types in which the session computes products and attention, and the reasons.
 * It is valid as long as the session. Returns NULL if `session` is NULL. */
LNF_API const char* lnf_session_precision(const lnf_session* session);
/* The first function returns the number of outputs of a classification head, or 0 if there is no such head or no
 * session. The second one returns the rows of LNF_HIDDEN for a sequence of `count` tokens. */
LNF_API int64_t lnf_session_classes(const lnf_session* session, int32_t head);
LNF_API int64_t lnf_session_output_rows(const lnf_session* session, int64_t count);

/* One sequence of a call. Arrays that have 0 elements may be NULL. */
typedef struct lnf_input {
  size_t size;
  const int32_t* ids;   /* [count] */
  const float* vectors; /* Instead of ids, for models that read vectors: [count, vector_width]. */
  size_t count;
  const uint8_t* type_ids;     /* [count], or NULL for all 0. */
  const uint8_t* mask;         /* [count], or NULL for all 1. 0 = masked. */
  const float* encoder_states; /* For cross attention: [state_count, encoder_states_width], or NULL. */
  size_t state_count;
  const uint8_t* state_mask; /* [state_count]. NULL: `mask` if state_count is count, otherwise all 1. */
  const uint8_t* query_mask; /* [count], or NULL for all 1. 0 = the token's query is zero. */
} lnf_input;
LNF_API void lnf_input_init_sized(lnf_input* to, size_t size);
#define lnf_input_init(to) lnf_input_init_sized((to), sizeof *(to))

enum { LNF_HIDDEN = 0, LNF_POOLED, LNF_LOGITS, LNF_PROBABILITIES, LNF_EMBEDDINGS, LNF_MASKED_LM };
/* LAST: the last token that isn't masked. WEIGHTED_MEAN: the weight of row i is i + 1 times the weight of row 0. */
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
  int64_t sequence, position;
} lnf_position;
/* What to compute, and where to write it: rows x columns floats, row-major.
 *   LNF_HIDDEN         [rows of all sequences, width]; layer -1 is the encoder's output, 0 the embedding
 *   LNF_POOLED         [sequences, width]
 *   LNF_LOGITS         of a head: [sequences, classes], or a row for each two sequences or for each token
 *   LNF_PROBABILITIES  the probabilities that the head's kind makes of the logits, in the same shape
 *   LNF_EMBEDDINGS     [sequences, width], the model's own sentence embeddings
 *   LNF_MASKED_LM      [position_count, vocabulary] */
typedef struct lnf_output {
  size_t size;
  int32_t kind, layer, head, pooling;
  const lnf_position* positions;
  size_t position_count;
  float* data;           /* NULL: the output is not computed. */
  size_t capacity;       /* In floats. Floats that aren't needed stay unchanged. */
  int64_t rows, columns; /* lnf_shapes() and lnf_run() set them. */
} lnf_output;
LNF_API void lnf_output_init_sized(lnf_output* to, size_t size, int32_t kind);
#define lnf_output_init(to, kind) lnf_output_init_sized((to), sizeof *(to), (kind))

/* Sets the rows and columns of each output. It doesn't look at `data`, `capacity` or the values of ids, masks and
 * positions. Returns LNF_INVALID_ARGUMENT for a layer, head or kind of output that the session doesn't have. */
LNF_API lnf_code lnf_shapes(const lnf_session* session, const lnf_input* inputs, size_t input_count,
                            lnf_output* outputs, size_t output_count, lnf_status* status);
/* Runs one pass over the sequences, which computes all outputs. It allocates only if there are more inputs or outputs
 * than in any call before. `control` may be NULL. Returns LNF_INVALID_ARGUMENT (an id, mask, layer, head or position is
 * wrong) or LNF_TOO_LONG (there are more sequences or tokens than planned for, or a `data` is too short); nothing is
 * written then. After LNF_CANCELLED and LNF_INTERNAL, `data` is unspecified, and the session can be used again. */
LNF_API lnf_code lnf_run(lnf_session* session, const lnf_input* inputs, size_t input_count, lnf_output* outputs,
                         size_t output_count, const lnf_control* control, lnf_status* status);
/* Writes the index of the token (or vector) that each row of LNF_HIDDEN belongs to, or -1 for a row that belongs to
 * none. *rows gets the number of rows of the sequence. Returns LNF_TOO_LONG if `capacity` is less, and
 * LNF_INVALID_ARGUMENT for ids if the model reads vectors and for masks of another length. */
LNF_API lnf_code lnf_row_tokens(const lnf_session* session, const lnf_input* input, int64_t* tokens, size_t capacity,
                                size_t* rows, lnf_status* status);

/* Computes the row of token `token`, as LNF_MASKED_LM needs it for a position. Returns LNF_INVALID_ARGUMENT if the
 * token has no row because it is stripped. */
LNF_API lnf_code lnf_token_row(const lnf_session* session, const lnf_input* input, size_t token, int64_t* row,
                               lnf_status* status);

/* --- Texts ------------------------------------------------------------------------------------------------------- */

enum { LNF_LONG_TRUNCATE = 0, LNF_LONG_WINDOW, LNF_LONG_ERROR };
typedef struct lnf_text_options {
  size_t size;
  int64_t max_tokens; /* Of a text or window, including its template and prefix_rows. 0: the model's maximum. */
  int64_t overlap;    /* The tokens that two windows share. -1: a quarter of a window. */
  int64_t max_batch;  /* Sequences in one call of a session. 0: 16. */
  int64_t max_rows;   /* Rows in one call. 0: 4,096. It is raised if the longest text has more rows. */
  int64_t pad_to;     /* Texts are lengthened with pads to this many tokens. 0: they aren't. */
  int32_t on_long;    /* WINDOW: a text is read in windows that overlap, and the windows' values are averaged. */
  int32_t threads;    /* Each thread takes whole texts. On other backends than NATIVE, all threads share each text. */
  int32_t truncation, keep, add_special_tokens, match_special_tokens; /* As in lnf_encode_options. */
  int32_t padding, compute, attention_compute;                        /* As in lnf_session_options. */
  int32_t backend, isa, block_rows, device, tf32;                     /* As in lnf_session_options. */
  lnf_parallel parallel; /* As in lnf_session_options. Used as long as the created handle lives. */
  void* parallel_context;
} lnf_text_options;
LNF_API void lnf_text_options_init_sized(lnf_text_options* to, size_t size);
#define lnf_text_options_init(to) lnf_text_options_init_sized((to), sizeof *(to))

/* Which limit a text exceeds. TOKENS: it has more tokens than are read. ROOM: one text of a pair leaves the other no
 * room in a window. OVERLAP: it leaves the other at most as many tokens in a window as two windows share. */
enum { LNF_LIMIT_NONE = 0, LNF_LIMIT_TOKENS, LNF_LIMIT_ROOM, LNF_LIMIT_OVERLAP };
/* What is reported about one text. It is valid during the visit. */
typedef struct lnf_text_report {
  size_t size;
  size_t index;
  lnf_code code; /* If it isn't LNF_OK, this text has no answer, and `message` says why. */
  const char* message;
  /* Tokens that were read, tokens that the text has, and windows that were read. */
  int64_t tokens, total_tokens, windows;
  /* From a classifier: for each head its logits, then its probabilities. From an embedder: the vector. From a runner:
   * the rows of the outputs. NULL if there are none. */
  const float* values;
  size_t count; /* Of values. */
  /* The details of LNF_TOO_LONG: the limit that the text exceeds (LNF_LIMIT_NONE with other codes); which text of a
   * pair is too long, 0 or 1; the tokens that it has; the tokens that it leaves the other text in a window; the most
   * tokens that are read of a text or in a window; and 1 if the other text would fit if this text were read by windows
   * instead. */
  int32_t limit, limit_text;
  int64_t limit_tokens, limit_room, limit_max_tokens;
  int32_t limit_other_fits;
  int32_t without_mask; /* 1: lnf_fill_masks() found no mask in what was read, and `code` is the error. */
} lnf_text_report;
/* Called for each text, in order, on the thread that made the call. If it returns 0, the call ends with LNF_OK. */
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
