/* search MODEL QUERY TEXT... prints the three texts whose vectors are nearest to the query's. */
#include <linformer.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char** arguments) {
  lnf_status status = {0, ""};
  lnf_model* model = NULL;
  lnf_embedder* embedder = NULL;
  lnf_search* search = NULL;
  lnf_scored best[3];
  size_t found = 0;
  if (count < 4) return 2;
  if (lnf_model_load(arguments[1], NULL, &model, &status) == LNF_OK) {
    lnf_embedder_create(model, LNF_POOL_MEAN, 0, NULL, &embedder, &status);
  }
  if (status.code == LNF_OK) {
    const size_t texts = (size_t)count - 2, width = (size_t)lnf_embedder_width(embedder);
    float* vectors = malloc(texts * width * sizeof(float));
    const char* const* given = (const char* const*)arguments + 2;
    if (lnf_embed(embedder, given, NULL, texts, vectors, texts * width, NULL, &status) == LNF_OK &&
        lnf_search_create(vectors + width, texts - 1, (int64_t)width, LNF_COSINE, 3, 1, &search, &status) == LNF_OK &&
        lnf_search_run(search, vectors, 1, best, 3, &found, NULL, &status) == LNF_OK) {
      for (size_t i = 0; i < found; ++i) printf("%.3f %s\n", (double)best[i].score, arguments[3 + best[i].index]);
    }
    lnf_search_free(search);
    free(vectors);
  }
  if (status.code != LNF_OK) fprintf(stderr, "%s\n", status.message);
  lnf_embedder_free(embedder);
  lnf_model_free(model);
  return status.code == LNF_OK ? 0 : 1;
}
