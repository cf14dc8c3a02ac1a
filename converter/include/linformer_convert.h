/* The converter's C API, in C99. It reads a trained checkpoint, writes a model file and returns a report.
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
 * The rules of linformer.h for codes, statuses, NULL, sizes of structs and texts hold here too. No function throws,
 * prints, handles a signal or ends the process. Functions may be called from any thread, and several conversions may
 * run at once if their outputs differ. A report is constant, and several threads may read it. These functions are in
 * the converter's library (CMake target linformer_convert_c_api). It can be linked in the source tree, but it is not
 * installed; only the runtime and the program linformer-convert are. */
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
/* Weights that get a type of their own. */
typedef struct lnf_convert_keep {
  const char* pattern; /* The names of the weights in the checkpoint, with *, ? and [...] as in a shell. */
  int32_t type;        /* LNF_CONVERT_F32 and so on. */
} lnf_convert_keep;

/* Texts end with a 0 byte, and the caller keeps their ownership. Unless a field says otherwise, NULL or 0 stands for
 * the default of linformer-convert. */
typedef struct lnf_convert_options {
  size_t size;
  /* Required: a checkpoint file, the index file of a checkpoint in several files, or a folder with a checkpoint of a
   * usual name. */
  const char* checkpoint;
  const char* output;        /* Required: the path of the .lnfr file; "-" is standard output. */
  const char* tokenizer;     /* A file or folder. If NULL, the tokenizer of the checkpoint's folder, if there is one. */
  const char* config;        /* The path of a JSON file with settings, or the JSON itself, which begins with a brace. */
  const char* dialect;       /* If not NULL, only this dialect is tried. */
  const char* const* labels; /* Each is "a,b", "HEAD=a,b" or the path of a file with one label on each line. */
  size_t label_count;
  const char* const* head_kinds; /* "KIND" or "HEAD=KIND": single_label, multi_label, score or regression. */
  size_t head_kind_count;
  const lnf_convert_keep* keep; /* The first element whose pattern fits a weight's name sets the type of the weight. */
  size_t keep_count;
  int32_t weight_type; /* The type of Linear weights, embedding tables and projections. */
  int32_t replace_any; /* If 1, an existing output that is not a model file may be replaced. */
  /* If 1, checkpoints are read into memory instead of mapped. If another process truncates a mapped file, this process
   * receives SIGBUS. */
  int32_t read_all;
  /* The memory, in bytes, that the structure of a checkpoint's file may take, beside the file and the values of its
   * tensors. A file that needs more is refused with LNF_INVALID_ARGUMENT. 0 means that only the limit in proportion to
   * the file's size holds. */
  uint64_t max_memory;
  /* May be NULL. If the flag is set, the conversion ends with LNF_CANCELLED after the current tensor. */
  const lnf_cancel* cancel;
  /* May be NULL. Called on the thread that converts with the phase, "reading" or "writing", and the share of it that is
   * done, 0 to 1. It may set the flag `cancel`. */
  void (*progress)(void* user, const char* phase, double share);
  void* user; /* Passed to `progress`. */
  /* May be NULL. Receives the whole message of an error, which may be longer than lnf_status::message, or "" if there
   * is no error. A message longer than error_capacity - 1 bytes is cut, as by snprintf. */
  char* error;
  size_t error_capacity;
} lnf_convert_options;
LNF_API void lnf_convert_options_init_sized(lnf_convert_options* to, size_t size);
#define lnf_convert_options_init(to) lnf_convert_options_init_sized((to), sizeof *(to))

/* --- A tokenizer without a model --------------------------------------------------------------------------------- */

/* Reads a tokenizer from a file or folder of the kinds that lnf_convert_options::tokenizer accepts. Its token ids are
 * those of the files. Free it with lnf_tokenizer_free(). Errors: LNF_INVALID_ARGUMENT (files that can't be read),
 * LNF_UNSUPPORTED, LNF_CORRUPT. */
LNF_API lnf_code lnf_convert_read_tokenizer(const char* path, lnf_tokenizer** tokenizer, lnf_status* status);

/* --- The conversion, and what it did ------------------------------------------------------------------------------ */

typedef struct lnf_convert_report lnf_convert_report;

/* Converts a checkpoint. The output file appears under its name only when it is complete: after an error, a file that
 * existed before is unchanged. Equal inputs and options give equal bytes. Nothing in a checkpoint is ever executed, and
 * the cost of reading it is bounded by its size. `report` may be NULL; *report is NULL after an error. Errors:
 * LNF_INVALID_ARGUMENT (invalid options, or an input that can't be converted), LNF_UNSUPPORTED (no model file can hold
 * what the checkpoint says, such as a weight beyond the range of its type), LNF_IO (the output can't be written),
 * LNF_CANCELLED, LNF_INTERNAL. */
LNF_API lnf_code lnf_convert_checkpoint(const lnf_convert_options* options, lnf_convert_report** report,
                                        lnf_status* status);
LNF_API void lnf_convert_report_free(lnf_convert_report* report);

/* Texts are valid as long as the report. */
typedef struct lnf_convert_summary {
  size_t size;
  /* The paths of the options. If the options name a folder, `checkpoint` is the file that was chosen in it. */
  const char *checkpoint, *output;
  const char *format, *dialect; /* Of the checkpoint, such as "safetensors" and "fairseq". */
  const char* recognised_by;    /* What the dialect was recognised by. */
  const char* weight_type;      /* "f32", "bf16", "f16" or "int8". */
  uint64_t output_bytes;
  uint64_t bytes_in_f32; /* The size that the output would have if all its weights were f32. */
  double rounding_error; /* |original - stored| / |original| of all rounded weights together, as one vector. */
} lnf_convert_summary;
/* The caller must set `summary->size` to sizeof *summary before the call. */
LNF_API lnf_code lnf_convert_report_get_summary(const lnf_convert_report* report, lnf_convert_summary* summary,
                                                lnf_status* status);

/* The lists of a report, and the fields that their entries use. Fields that an entry does not use are "" or 0.
 *   FACTS            name: what was found out; value; source: where it was read, or what it was inferred from
 *   MAPPED           name: the tensor's name; value: its role in the model file; source: its shape and type in the
 *                    checkpoint, such as "[32, 32] f16"; note
 *   LEFT_OUT         name: the tensor's name; note: the reason
 *   NOTES            note: an assumption, or another remark
 *   CAUTIONS         note: an assumption that may make the model answer differently from what the user expects
 *   UNUSED_SETTINGS  name: a setting that was given and not used; value: the name that may have been meant; source
 *   ROUNDED          name: the tensor's name; value: its type; error: |original - stored| / |original| */
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
/* Returns the number of entries in a list, or 0 if `list` is not a list or `report` is NULL. */
LNF_API size_t lnf_convert_report_count(const lnf_convert_report* report, int32_t list);
/* The caller must set `entry->size` to sizeof *entry before the call. Returns LNF_INVALID_ARGUMENT if the list or the
 * entry does not exist. */
LNF_API lnf_code lnf_convert_report_get_entry(const lnf_convert_report* report, int32_t list, size_t index,
                                              lnf_convert_entry* entry, lnf_status* status);

#ifdef __cplusplus
}
#endif

#endif
