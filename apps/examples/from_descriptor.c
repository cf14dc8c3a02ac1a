/* from_descriptor FILE OFFSET BYTES loads a model that is a part of another file, such as an app's package. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <linformer.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char** arguments) {
  lnf_status status = {0, ""};
  lnf_model* model = NULL;
  lnf_model_info info;
  if (count != 4) return 2;
  const int file = open(arguments[1], O_RDONLY);
  lnf_model_load_fd(file, strtoull(arguments[2], NULL, 10), strtoull(arguments[3], NULL, 10), NULL, &model, &status);
  close(file); /* The model doesn't need the descriptor any more. */
  info.size = sizeof info;
  if (status.code == LNF_OK && lnf_model_get_info(model, &info, &status) == LNF_OK) {
    printf("%ld tokens, %d layers, %d heads\n", (long)info.max_tokens, (int)info.layers, (int)info.heads);
  } else {
    fprintf(stderr, "%s\n", status.message);
  }
  lnf_model_free(model);
  return status.code == LNF_OK ? 0 : 1;
}
