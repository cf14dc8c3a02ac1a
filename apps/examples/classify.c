/* classify MODEL TEXT... prints the probability of each label for each text. */
#include <linformer.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char** arguments) {
  lnf_status status = {0, ""};
  lnf_model* model = NULL;
  lnf_classifier* classifier = NULL;
  if (count < 3) return 2;
  if (lnf_model_load(arguments[1], NULL, &model, &status) == LNF_OK) {
    lnf_classifier_create(model, NULL, 0, NULL, &classifier, &status);
  }
  if (status.code == LNF_OK) {
    const size_t texts = (size_t)count - 2, classes = (size_t)lnf_classifier_classes(classifier, 0);
    float* probabilities = malloc(texts * classes * sizeof(float));
    if (lnf_classify(classifier, (const char* const*)arguments + 2, NULL, NULL, NULL, texts, probabilities,
                     texts * classes, NULL, &status) == LNF_OK) {
      for (size_t t = 0; t < texts; ++t) {
        for (size_t c = 0; c < classes; ++c) {
          char label[64];
          lnf_model_label(model, 0, (int64_t)c, label, sizeof label);
          printf("%s%s %.3f", c == 0 ? "" : ", ", label, (double)probabilities[t * classes + c]);
        }
        printf("\n");
      }
    }
    free(probabilities);
  }
  if (status.code != LNF_OK) fprintf(stderr, "%s\n", status.message);
  lnf_classifier_free(classifier);
  lnf_model_free(model);
  return status.code == LNF_OK ? 0 : 1;
}
