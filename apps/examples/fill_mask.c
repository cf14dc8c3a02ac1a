/* fill_mask MODEL TEXT... prints the most probable tokens for each mask, the best first. */
#include <linformer.h>
#include <stdio.h>

static int print(void* context, const lnf_mask_filling* made) {
  (void)context;
  if (made->report->code != LNF_OK) printf("text %zu: %s\n", made->report->index, made->report->message);
  for (size_t m = 0; m < made->mask_count; ++m) {
    const lnf_masked_token* mask = &made->masks[m];
    printf("text %zu, token %zu:", made->report->index, mask->token);
    for (size_t i = 0; i < mask->candidate_count; ++i) {
      printf(" %d %.3f", (int)mask->candidates[i].id, (double)mask->candidates[i].probability);
    }
    printf("\n");
  }
  return 1;
}

int main(int count, char** arguments) {
  lnf_status status = {LNF_OK, ""};
  lnf_model* model = NULL;
  lnf_mask_filler* filler = NULL;
  if (count < 3) return 2;
  if (lnf_model_load(arguments[1], NULL, &model, &status) == LNF_OK &&
      lnf_mask_filler_create(model, 3, NULL, &filler, &status) == LNF_OK) {
    lnf_fill_masks(filler, (const char* const*)arguments + 2, NULL, NULL, NULL, (size_t)count - 2, print, NULL, NULL,
                   &status);
  }
  if (status.code != LNF_OK) fprintf(stderr, "%s\n", status.message);
  lnf_mask_filler_free(filler);
  lnf_model_free(model);
  return status.code == LNF_OK ? 0 : 1;
}
