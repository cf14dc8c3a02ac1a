/* embed MODEL FIRST SECOND prints how similar two texts are: the cosine of their vectors. */
#include <linformer.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char** arguments) {
  lnf_status status = {0, ""};
  lnf_model* model = NULL;
  lnf_embedder* embedder = NULL;
  if (count != 4) return 2;
  if (lnf_model_load(arguments[1], NULL, &model, &status) == LNF_OK) {
    lnf_embedder_create(model, LNF_POOL_MEAN, 1, NULL, &embedder, &status);
  }
  if (status.code == LNF_OK) {
    const size_t width = (size_t)lnf_embedder_width(embedder);
    float* vectors = malloc(2 * width * sizeof(float));
    if (lnf_embed(embedder, (const char* const*)arguments + 2, NULL, 2, vectors, 2 * width, NULL, &status) == LNF_OK) {
      float cosine = 0;
      for (size_t i = 0; i < width; ++i) cosine += vectors[i] * vectors[width + i];
      printf("%.3f\n", (double)cosine);
    }
    free(vectors);
  }
  if (status.code != LNF_OK) fprintf(stderr, "%s\n", status.message);
  lnf_embedder_free(embedder);
  lnf_model_free(model);
  return status.code == LNF_OK ? 0 : 1;
}
