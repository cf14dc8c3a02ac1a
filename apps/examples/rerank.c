/* rerank MODEL QUERY DOCUMENT... prints the three documents that a cross-encoder scores best for the query. */
#include <linformer.h>
#include <stdio.h>
#include <string.h>

int main(int count, char** arguments) {
  lnf_status status = {0, ""};
  lnf_model* model = NULL;
  lnf_reranker* reranker = NULL;
  lnf_scored best[3];
  size_t found = 0;
  if (count < 4) return 2;
  if (lnf_model_load(arguments[1], NULL, &model, &status) == LNF_OK &&
      lnf_reranker_create(model, -1, 0, NULL, &reranker, &status) == LNF_OK &&
      lnf_rerank(reranker, arguments[2], strlen(arguments[2]), (const char* const*)arguments + 3, NULL,
                 (size_t)count - 3, best, 3, &found, NULL, &status) == LNF_OK) {
    for (size_t i = 0; i < found; ++i) printf("%.3f %s\n", (double)best[i].score, arguments[3 + best[i].index]);
  }
  if (status.code != LNF_OK) fprintf(stderr, "%s\n", status.message);
  lnf_reranker_free(reranker);
  lnf_model_free(model);
  return status.code == LNF_OK ? 0 : 1;
}
