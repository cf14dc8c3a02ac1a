/* Tests the converter's C interface from C99: conversions of golden checkpoints, each kind of failure, and cancelling.
 *   convert_test GOLDEN_FOLDER WORK_FOLDER */
#include <linformer_convert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;
#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                     \
    }                                                                 \
  } while (0)

static char tokenizer_folder[1024], classifier[1024], attention[1024], output[1024], altered[1024], nowhere[1024],
    absent[1024];

static void set_paths(const char* golden, const char* work) {
  snprintf(classifier, sizeof classifier, "%s/fairseq/classifier/checkpoint.pt", golden);
  snprintf(tokenizer_folder, sizeof tokenizer_folder, "%s/../tokenizers/bpe", golden);
  snprintf(attention, sizeof attention, "%s/lucidrains/glu_lm/checkpoint.safetensors", golden);
  snprintf(output, sizeof output, "%s/model.lnfr", work);
  snprintf(altered, sizeof altered, "%s/altered.safetensors", work);
  snprintf(nowhere, sizeof nowhere, "%s/absent/model.lnfr", work);
  snprintf(absent, sizeof absent, "%s/absent.pt", work);
}

static int exists(const char* path) {
  FILE* file = fopen(path, "rb");
  if (file != NULL) fclose(file);
  return file != NULL;
}

static lnf_convert_options options_for(const char* checkpoint) {
  lnf_convert_options options;
  lnf_convert_options_init(&options);
  options.checkpoint = checkpoint;
  options.output = output;
  return options;
}

/* Returns the code of a conversion. Checks that an error has a message, no report and no output. */
static lnf_code code_of(const lnf_convert_options* options) {
  lnf_status status;
  lnf_convert_report* report = (lnf_convert_report*)&status;
  const lnf_code code = lnf_convert_checkpoint(options, &report, &status);
  CHECK(status.code == code);
  CHECK((report != NULL) == (code == LNF_OK));
  CHECK((strlen(status.message) > 20) == (code != LNF_OK));
  CHECK(exists(output) == (code == LNF_OK));
  if (code != LNF_OK) printf("0x%x: %s\n", (unsigned)code, status.message);
  remove(output);
  lnf_convert_report_free(report);
  return code;
}

typedef struct progress_seen {
  int reading, writing, backwards, after_cancel;
  double last;
  lnf_cancel* cancel;
  const char* cancel_in;
  int cancelled;
} progress_seen;

static void see_progress(void* user, const char* phase, double share) {
  progress_seen* seen = (progress_seen*)user;
  int* calls = strcmp(phase, "reading") == 0 ? &seen->reading : &seen->writing;
  if (*calls == 0) seen->last = 0;
  ++*calls;
  if (share < seen->last || share > 1) ++seen->backwards;
  seen->last = share;
  if (seen->cancelled) ++seen->after_cancel;
  if (seen->cancel_in != NULL && strcmp(phase, seen->cancel_in) == 0) {
    lnf_cancel_set(seen->cancel, 1);
    seen->cancelled = 1;
  }
}

/* Sets `found` to the first entry of `list` whose name is `name`, or to the first of all entries if `name` is NULL.
 * Returns the number of such entries. Checks that each entry of the list has a text that isn't empty. */
static int find_entry(const lnf_convert_report* report, int32_t list, const char* name, lnf_convert_entry* found) {
  lnf_status status;
  int times = 0;
  const size_t count = lnf_convert_report_count(report, list);
  for (size_t i = 0; i < count; ++i) {
    lnf_convert_entry entry;
    entry.size = sizeof entry;
    CHECK(lnf_convert_report_get_entry(report, list, i, &entry, &status) == LNF_OK);
    CHECK(strlen(entry.name) + strlen(entry.value) + strlen(entry.source) + strlen(entry.note) > 0);
    if (name != NULL && strcmp(entry.name, name) != 0) continue;
    if (times++ == 0) *found = entry;
  }
  found->size = sizeof *found;
  CHECK(lnf_convert_report_get_entry(report, list, count, found, &status) == LNF_INVALID_ARGUMENT);
  return times;
}

static void check_report(const lnf_convert_report* report) {
  lnf_status status;
  lnf_convert_summary summary;
  lnf_convert_entry entry;
  summary.size = sizeof summary;
  CHECK(lnf_convert_report_get_summary(report, &summary, &status) == LNF_OK);
  CHECK(strcmp(summary.checkpoint, classifier) == 0);
  CHECK(strcmp(summary.output, output) == 0);
  CHECK(strcmp(summary.dialect, "fairseq") == 0);
  CHECK(strcmp(summary.format, "PyTorch zip") == 0);
  CHECK(strcmp(summary.weight_type, "int8") == 0);
  CHECK(summary.rounding_error > 0 && summary.rounding_error < 0.1);
  CHECK(summary.output_bytes > 10000 && summary.output_bytes < summary.bytes_in_f32);

  CHECK(find_entry(report, LNF_CONVERT_FACTS, "heads", &entry) == 1);
  CHECK(lnf_convert_report_count(report, LNF_CONVERT_MAPPED) > 50);
  CHECK(find_entry(report, LNF_CONVERT_LEFT_OUT, NULL, &entry) > 0);
  CHECK(strlen(entry.name) > 0 && strlen(entry.note) > 0);
  CHECK(find_entry(report, LNF_CONVERT_NOTES, NULL, &entry) > 0);
  CHECK(find_entry(report, LNF_CONVERT_UNUSED_SETTINGS, "activation_fnn", &entry) == 1);
  CHECK(strcmp(entry.value, "activation_fn") == 0);
  CHECK(find_entry(report, LNF_CONVERT_ROUNDED, NULL, &entry) > 10);
  CHECK(entry.error > 0 && entry.error < 0.1);
  CHECK(lnf_convert_report_count(report, LNF_CONVERT_ROUNDED + 1) == 0);
  CHECK(lnf_convert_report_count(report, -1) == 0);
  CHECK(lnf_convert_report_get_entry(report, -1, 0, &entry, &status) == LNF_INVALID_ARGUMENT);
  entry.size = 3;
  CHECK(lnf_convert_report_get_entry(report, LNF_CONVERT_MAPPED, 0, &entry, &status) == LNF_INVALID_ARGUMENT);
  CHECK(lnf_convert_report_get_summary(report, NULL, &status) == LNF_INVALID_ARGUMENT);
}

/* Leaves the model file `kept_output`. same_bytes_test.cmake compares it with that which linformer-convert writes. */
static void check_conversion(const char* kept_output) {
  const char* labels[] = {"mnli=contradiction,neutral,entailment"};
  const char* kinds[] = {"sentence_classification_head=multi_label"};
  const lnf_convert_keep keep[] = {{"*classif*", LNF_CONVERT_F32}};
  progress_seen seen;
  lnf_convert_report* report = NULL;
  lnf_model* model = NULL;
  lnf_status status;
  char error[64] = "x", label[32];
  lnf_convert_options options = options_for(classifier);
  memset(&seen, 0, sizeof seen);
  options.config = "{\"activation_fnn\": \"gelu\"}";
  options.labels = labels;
  options.label_count = 1;
  options.head_kinds = kinds;
  options.head_kind_count = 1;
  options.keep = keep;
  options.keep_count = 1;
  options.weight_type = LNF_CONVERT_INT8;
  options.progress = see_progress;
  options.user = &seen;
  options.error = error;
  options.error_capacity = sizeof error;
  CHECK(lnf_convert_checkpoint(&options, &report, &status) == LNF_OK);
  CHECK(status.code == LNF_OK && status.message[0] == '\0' && error[0] == '\0');
  CHECK(seen.reading > 1 && seen.writing > 1 && seen.backwards == 0 && seen.last == 1);
  if (report != NULL) check_report(report);
  lnf_convert_report_free(report);

  CHECK(lnf_model_load(output, NULL, &model, &status) == LNF_OK);
  CHECK(lnf_model_label(model, lnf_model_find_head(model, "mnli"), 1, label, sizeof label) == 8);
  CHECK(strcmp(label, "neutral") == 0);
  lnf_model_free(model);
  remove(kept_output);
  CHECK(rename(output, kept_output) == 0);

  options = options_for(classifier);
  options.read_all = 1;
  CHECK(lnf_convert_checkpoint(&options, NULL, NULL) == LNF_OK);
  CHECK(exists(output));
  remove(output);
}

/* Writes glu_lm with 1e30 as the first number of its embedding table, which f16 can't hold. */
static void write_altered(void) {
  static unsigned char bytes[65536];
  FILE* file = fopen(attention, "rb");
  const size_t size = file != NULL ? fread(bytes, 1, sizeof bytes, file) : 0;
  const float number = 1e30f;
  size_t data;
  if (file != NULL) fclose(file);
  CHECK(size > 1000 && size < sizeof bytes);
  data = 8 + bytes[0] + 256u * bytes[1];
  memcpy(bytes + data, &number, sizeof number);
  file = fopen(altered, "wb");
  CHECK(file != NULL && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

static void check_failures(void) {
  struct {
    lnf_convert_options options;
    uint64_t of_a_newer_version;
  } newer;
  char error[1024] = "";
  const char* nothing[] = {NULL};
  const lnf_convert_keep unknown_type[] = {{"*", 9}};
  const lnf_convert_keep no_pattern[] = {{NULL, LNF_CONVERT_F32}};
  const char* heads = "{\"heads\": 2}";
  lnf_status status;
  lnf_convert_options options = options_for(NULL);

  /* The caller passed wrong arguments. */
  CHECK(code_of(NULL) == LNF_INVALID_ARGUMENT);
  CHECK(code_of(&options) == LNF_INVALID_ARGUMENT);
  options = options_for(classifier);
  options.output = NULL;
  CHECK(code_of(&options) == LNF_INVALID_ARGUMENT);
  options = options_for(classifier);
  options.size = 4;
  CHECK(code_of(&options) == LNF_INVALID_ARGUMENT);
  options = options_for(classifier);
  options.label_count = 1;
  CHECK(code_of(&options) == LNF_INVALID_ARGUMENT);
  options.labels = nothing;
  CHECK(code_of(&options) == LNF_INVALID_ARGUMENT);
  options = options_for(classifier);
  options.keep_count = 1;
  CHECK(code_of(&options) == LNF_INVALID_ARGUMENT);
  options.keep = unknown_type;
  CHECK(code_of(&options) == LNF_INVALID_ARGUMENT);
  options.keep = no_pattern;
  CHECK(code_of(&options) == LNF_INVALID_ARGUMENT);
  options = options_for(classifier);
  options.weight_type = -1;
  CHECK(code_of(&options) == LNF_INVALID_ARGUMENT);
  memset(&newer, 0, sizeof newer);
  lnf_convert_options_init_sized(&newer.options, sizeof newer);
  newer.options.checkpoint = classifier;
  newer.options.output = output;
  CHECK(code_of(&newer.options) == LNF_OK);
  newer.of_a_newer_version = 1;
  CHECK(code_of(&newer.options) == LNF_UNSUPPORTED);
  CHECK(lnf_convert_checkpoint(NULL, NULL, NULL) == LNF_INVALID_ARGUMENT);
  CHECK(lnf_convert_report_count(NULL, LNF_CONVERT_FACTS) == 0);
  CHECK(lnf_convert_report_get_summary(NULL, NULL, &status) == LNF_INVALID_ARGUMENT);
  CHECK(lnf_convert_report_get_entry(NULL, 0, 0, NULL, &status) == LNF_INVALID_ARGUMENT);
  lnf_convert_report_free(NULL);

  /* The input is absent or is no checkpoint, the dialect is unknown, or a setting is missing. The whole message is
   * written to the memory that the caller provides. */
  options = options_for(absent);
  CHECK(code_of(&options) == LNF_INVALID_ARGUMENT);
  options = options_for("/dev/null");
  CHECK(code_of(&options) == LNF_INVALID_ARGUMENT);
  options = options_for(attention);
  options.dialect = "no such dialect";
  options.error = error;
  options.error_capacity = sizeof error;
  CHECK(code_of(&options) == LNF_INVALID_ARGUMENT);
  CHECK(strstr(error, "no such dialect") != NULL);
  options.dialect = NULL;
  CHECK(code_of(&options) == LNF_INVALID_ARGUMENT);
  CHECK(strstr(error, "{\"heads\": NUMBER}") != NULL);
  options.config = heads;
  CHECK(code_of(&options) == LNF_OK);
  CHECK(error[0] == '\0');

  /* The conversion needs more memory than the limit. */
  options.max_memory = 100;
  CHECK(code_of(&options) == LNF_INVALID_ARGUMENT);
  options.max_memory = 1 << 24;
  CHECK(code_of(&options) == LNF_OK);

  /* The checkpoint has a value that no model file can hold, and the output can't be written. */
  write_altered();
  options = options_for(altered);
  options.config = heads;
  CHECK(code_of(&options) == LNF_OK);
  options.weight_type = LNF_CONVERT_F16;
  CHECK(code_of(&options) == LNF_UNSUPPORTED);
  options = options_for(classifier);
  options.output = nowhere;
  CHECK(code_of(&options) == LNF_IO);
}

static void check_cancelling(void) {
  const char* phases[] = {NULL, "reading", "writing"};
  for (int i = 0; i < 3; ++i) {
    progress_seen seen;
    lnf_convert_options options = options_for(classifier);
    memset(&seen, 0, sizeof seen);
    seen.cancel = lnf_cancel_create();
    seen.cancel_in = phases[i];
    if (phases[i] == NULL) lnf_cancel_set(seen.cancel, 1);
    options.cancel = seen.cancel;
    options.progress = see_progress;
    options.user = &seen;
    CHECK(code_of(&options) == LNF_CANCELLED);
    CHECK(seen.after_cancel == 0);
    CHECK((seen.reading > 0) == (i > 0) && (seen.writing > 0) == (i > 1));
    lnf_cancel_set(seen.cancel, 0);
    options.progress = NULL;
    CHECK(code_of(&options) == LNF_OK);
    lnf_cancel_free(seen.cancel);
  }
}

static void check_tokenizer(void) {
  lnf_status status;
  lnf_tokenizer* tokenizer = NULL;
  lnf_encoding* encoding = NULL;
  CHECK(lnf_convert_read_tokenizer(tokenizer_folder, &tokenizer, &status) == LNF_OK);
  CHECK(lnf_encoding_create(&encoding, &status) == LNF_OK);
  CHECK(lnf_encode(tokenizer, "a b", 3, NULL, 0, NULL, encoding, &status) == LNF_OK);
  CHECK(lnf_encoding_size(encoding) >= 4); /* with special tokens */
  lnf_encoding_free(encoding);
  lnf_tokenizer_free(tokenizer);
  CHECK(lnf_convert_read_tokenizer(absent, &tokenizer, &status) == LNF_INVALID_ARGUMENT);
  CHECK(tokenizer == NULL);
  CHECK(strstr(status.message, "absent.pt") != NULL);
  CHECK(lnf_convert_read_tokenizer(NULL, &tokenizer, &status) == LNF_INVALID_ARGUMENT);
  CHECK(lnf_convert_read_tokenizer(tokenizer_folder, NULL, NULL) == LNF_INVALID_ARGUMENT);
}

int main(int count, char** arguments) {
  char kept[1024];
  if (count != 3) return 2;
  set_paths(arguments[1], arguments[2]);
  snprintf(kept, sizeof kept, "%s/kept.lnfr", arguments[2]);
  remove(output);
  check_conversion(kept);
  check_failures();
  check_cancelling();
  check_tokenizer();
  return failures == 0 ? 0 : 1;
}
