/* cancel MODEL TEXT classifies a long list of texts, and cancels the call after the first 0.1 % of them. */
#include <linformer.h>
#include <stdio.h>
#include <stdlib.h>

/* Any thread may set the flag. Here the progress function sets it. */
static void progress(void* context, double share) {
  if (share > 0.001) lnf_cancel_set((lnf_cancel*)context, 1);
}

int main(int count, char** arguments) {
  const size_t texts = 100000;
  lnf_status status = {0, ""};
  lnf_model* model = NULL;
  lnf_classifier* classifier = NULL;
  lnf_cancel* cancel = lnf_cancel_create();
  lnf_control control;
  lnf_control_init(&control);
  control.cancel = cancel;
  control.progress = progress;
  control.context = cancel;
  if (count != 3) return 2;
  if (lnf_model_load(arguments[1], NULL, &model, &status) == LNF_OK &&
      lnf_classifier_create(model, NULL, 0, NULL, &classifier, &status) == LNF_OK) {
    const size_t floats = texts * (size_t)lnf_classifier_classes(classifier, 0);
    const char** list = malloc(texts * sizeof *list);
    float* probabilities = malloc(floats * sizeof *probabilities);
    for (size_t i = 0; i < texts; ++i) list[i] = arguments[2];
    lnf_classify(classifier, list, NULL, NULL, NULL, texts, probabilities, floats, &control, &status);
    free(list);
    free(probabilities);
  }
  printf("%s\n", status.message);
  lnf_classifier_free(classifier);
  lnf_cancel_free(cancel);
  lnf_model_free(model);
  return status.code == LNF_CANCELLED ? 0 : 1;
}
