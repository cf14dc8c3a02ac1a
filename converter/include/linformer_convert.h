/* linformer_convert: the converter's C form, in C99: a trained checkpoint in, a model file and a report out.
 *
 *   lnf_convert_options options;
 *   lnf_convert_report* report = NULL;
 *   lnf_status status;
 *   lnf_convert_options_init(&options);
 *   options.checkpoint = "checkpoint_best.pt";
 *   options.output = "sentiment.lnfr";
 *   options.tokenizer = "vocabulary/";
 *   if (lnf_convert_checkpoint(&options, &report, &status) != LNF_OK) puts(status.message);
 *   lnf_convert_report_free(report);
 *
 * What linformer.h says of codes, statuses, NULL, sizes of structs and texts holds here too. No function throws,
 * prints, handles a signal or ends the process. Functions may be called from any thread, and a conversion beside others
 * that have another output; a report is constant, and several threads may read it. These functions are in the
 * converter's library (CMake target linformer_convert_c_api), which is linked in the source tree and not installed:
 * what is installed is the runtime, and the program linformer-convert. */
#ifndef LINFORMER_CONVERT_C_API_H
#define LINFORMER_CONVERT_C_API_H

#include <linformer.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- What to convert --------------------------------------------------------------------------------------------- */

enum { LNF_CONVERT_F32 = 0, LNF_CONVERT_BF16, LNF_CONVERT_F16, LNF_CONVERT_INT8 };
/* Weights that are of another type than the others. */
typedef struct lnf_convert_keep {
  const char* pattern; /* of their names in the checkpoint: *, ? and [...] as a shell's */
  int32_t type;        /* LNF_CONVERT_F32 and so on */
} lnf_convert_keep;

/* Texts end with a 0, and stay the caller's. NULL or 0 where nothing else is said: what linformer-convert does without
 * the option. */
typedef struct lnf_convert_options {
  size_t size;
  const char* checkpoint;    /* needed: a file, the index of several, or a folder with a checkpoint of a usual name */
  const char* output;        /* needed: the .lnfr file; "-" is standard output */
  const char* tokenizer;     /* a file or folder; NULL: that of the checkpoint's folder */
  const char* config;        /* a JSON file with settings, or the JSON itself, which begins with a brace */
  const char* dialect;       /* the only one to try; NULL: the one that fits */
  const char* const* labels; /* "a,b", "HEAD=a,b" or a file with a name on each line */
  size_t label_count;
  const char* const* head_kinds; /* "KIND" or "HEAD=KIND": single_label, multi_label, score or regression */
  size_t head_kind_count;
  const lnf_convert_keep* keep; /* the first that fits a weight's name says its type */
  size_t keep_count;
  int32_t weight_type; /* of Linear weights, embedding tables and projections */
  int32_t replace_any; /* 1: an existing output that is no model file is replaced too */
  int32_t read_all;    /* 1: checkpoints are read instead of mapped. A mapped file that another process truncates ends
                          this one by SIGBUS */
  /* Bytes of memory that the structure of a checkpoint's file may take, beside the file and the values of its tensors;
   * 0: no limit but the one in proportion to the file. A file that asks for more is LNF_INVALID_ARGUMENT. */
  uint64_t max_memory;
  const lnf_cancel* cancel; /* may be NULL. Set: the conversion ends after the tensor at hand with LNF_CANCELLED */
  /* May be NULL: told the phase, "reading" or "writing", and the share of it that is done, 0 to 1, on the thread that
   * converts. It may set the flag. */
  void (*progress)(void* user, const char* phase, double share);
  void* user;
  /* May be NULL: the whole sentence of an error, which may be longer than lnf_status::message, as snprintf; "" where
   * all went well. */
  char* error;
  size_t error_capacity;
} lnf_convert_options;
LNF_API void lnf_convert_options_init_sized(lnf_convert_options* to, size_t size);
#define lnf_convert_options_init(to) lnf_convert_options_init_sized((to), sizeof *(to))

/* --- A tokenizer without a model --------------------------------------------------------------------------------- */

/* Of a file or folder as lnf_convert_options::tokenizer takes them; its ids are the files' own. Free it with
 * lnf_tokenizer_free(). Errors: LNF_INVALID_ARGUMENT (files that can't be read), LNF_UNSUPPORTED, LNF_CORRUPT. */
LNF_API lnf_code lnf_convert_read_tokenizer(const char* path, lnf_tokenizer** tokenizer, lnf_status* status);

/* --- The conversion, and what it did ------------------------------------------------------------------------------ */

typedef struct lnf_convert_report lnf_convert_report;

/* The output appears under its name complete or not at all: after an error it is as it was before. Equal inputs and
 * options give equal bytes. Nothing in a checkpoint is ever executed, and its cost is bounded by its size. *report is
 * NULL after an error; `report` may be NULL. Errors: LNF_INVALID_ARGUMENT (options, or an input that can't be
 * converted), LNF_UNSUPPORTED (no model file can hold what the checkpoint says, such as a weight beyond the range of
 * its type), LNF_IO (the output can't be written), LNF_CANCELLED, LNF_INTERNAL. */
LNF_API lnf_code lnf_convert_checkpoint(const lnf_convert_options* options, lnf_convert_report** report,
                                        lnf_status* status);
LNF_API void lnf_convert_report_free(lnf_convert_report* report);

/* Texts are valid as long as the report. */
typedef struct lnf_convert_summary {
  size_t size;
  const char *checkpoint, *output; /* as the options say, but the file that was chosen in a folder */
  const char *format, *dialect;    /* of the checkpoint: "safetensors", ...; "fairseq", ... */
  const char* recognised_by;       /* what showed the dialect */
  const char* weight_type;         /* "f32", "bf16", "f16" or "int8" */
  uint64_t output_bytes;
  uint64_t bytes_in_f32; /* of the output, were all its weights f32 */
  double rounding_error; /* |original - stored| / |original| of all weights that were rounded, as one vector */
} lnf_convert_summary;
/* The caller sets `summary->size` to its sizeof. */
LNF_API lnf_code lnf_convert_report_get_summary(const lnf_convert_report* report, lnf_convert_summary* summary,
                                                lnf_status* status);

/* The lists of a report, and what the fields of their entries hold; the others are "" and 0.
 *   FACTS            name: what was inferred; value; source: where it was read, or what it was inferred from
 *   MAPPED           name: of the tensor; value: its role in the model file; source: "[32, 32] f16", as it was in the
 *                    checkpoint; note
 *   LEFT_OUT         name: of the tensor; note: the reason
 *   NOTES            note: an assumption, or something else worth knowing
 *   CAUTIONS         note: an assumption with which the model may answer otherwise than the user expects
 *   UNUSED_SETTINGS  name: of a given setting that nothing asked for; value: the one that may have been meant; source
 *   ROUNDED          name: of the tensor; value: its type; error: |original - stored| / |original| */
enum {
  LNF_CONVERT_FACTS = 0,
  LNF_CONVERT_MAPPED,
  LNF_CONVERT_LEFT_OUT,
  LNF_CONVERT_NOTES,
  LNF_CONVERT_CAUTIONS,
  LNF_CONVERT_UNUSED_SETTINGS,
  LNF_CONVERT_ROUNDED
};
/* Texts are valid as long as the report. Names from files are printable: other bytes are written as \xNN, and long
 * names are cut. */
typedef struct lnf_convert_entry {
  size_t size;
  const char *name, *value, *source, *note;
  double error;
} lnf_convert_entry;
/* 0 where there is no such list, or no report. */
LNF_API size_t lnf_convert_report_count(const lnf_convert_report* report, int32_t list);
/* The caller sets `entry->size` to its sizeof. LNF_INVALID_ARGUMENT where there is no such list or entry. */
LNF_API lnf_code lnf_convert_report_get_entry(const lnf_convert_report* report, int32_t list, size_t index,
                                              lnf_convert_entry* entry, lnf_status* status);

#ifdef __cplusplus
}
#endif

#endif
