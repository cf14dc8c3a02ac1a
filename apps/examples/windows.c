/* windows MODEL TEXT splits a long text into windows, prints them, and computes the text's logits and its mean vector
   in one pass. */
#include <linformer.h>
#include <stdio.h>
#include <string.h>

static int print(void* runner, const lnf_text_report* text) {
  if (text->code == LNF_OK) printf("%d logits of %zu numbers\n", (int)lnf_runner_columns(runner, 0), text->count);
  return 1;
}

int main(int count, char** arguments) {
  lnf_status status = {LNF_OK, ""};
  lnf_model* model = NULL;
  lnf_reader* reader = NULL;
  lnf_runner* runner = NULL;
  lnf_text_options options;
  lnf_output outputs[2];
  lnf_sequence window = {sizeof window, NULL, NULL, NULL, NULL, 0, {0, 0}, {0, 0}};
  if (count != 3) return 2;
  lnf_text_options_init(&options);
  options.on_long = LNF_LONG_WINDOW;
  options.max_tokens = 8;
  lnf_output_init(&outputs[0], LNF_LOGITS);
  lnf_output_init(&outputs[1], LNF_POOLED);
  outputs[1].pooling = LNF_POOL_MEAN;
  if (lnf_model_load(arguments[1], NULL, &model, &status) == LNF_OK &&
      lnf_reader_create(model, &options, NULL, 0, 0, &reader, &status) == LNF_OK &&
      lnf_reader_read(reader, arguments[2], strlen(arguments[2]), NULL, 0, NULL, &status) == LNF_OK &&
      lnf_runner_create(model, outputs, 2, &options, &runner, &status) == LNF_OK) {
    for (int64_t i = 0; lnf_reader_sequence(reader, i, &window, NULL) == LNF_OK; ++i)
      printf("%zu tokens from %d on\n", window.count, (int)window.first[0]);
    lnf_run_each(runner, (const char* const*)arguments + 2, NULL, NULL, NULL, 1, print, runner, NULL, &status);
  }
  if (status.code != LNF_OK) fprintf(stderr, "%s\n", status.message);
  lnf_runner_free(runner);
  lnf_reader_free(reader);
  lnf_model_free(model);
  return status.code == LNF_OK ? 0 : 1;
}
