/* own_memory MODEL runs a session in memory of the caller. A function of the caller, parallel(), runs the session's
   tasks, here one after the other. */
#include <linformer.h>
#include <stdio.h>
#include <stdlib.h>

static void parallel(void* context, void (*task)(void* argument, int index), void* argument, int count) {
  for (int i = 0; i < count; ++i) task(argument, i);
  (void)context;
}

int main(int count, char** arguments) {
  lnf_status status = {0, ""};
  lnf_model* model = NULL;
  lnf_session* session = NULL;
  lnf_session_options options;
  lnf_input input;
  lnf_output output;
  const int32_t ids[] = {0, 31, 32, 2};
  float scores[2];
  uint64_t bytes = 0;
  void* memory = NULL;
  lnf_session_options_init(&options), lnf_input_init(&input), lnf_output_init(&output, LNF_PROBABILITIES);
  options.max_tokens = 64, options.threads = 2, options.parallel = parallel;
  input.ids = ids, input.count = 4, output.data = scores, output.capacity = 2;
  if (count == 2 && lnf_model_load(arguments[1], NULL, &model, &status) == LNF_OK &&
      lnf_plan_bytes(model, &options, &bytes, &status) == LNF_OK && (memory = malloc((size_t)bytes + 64)) != NULL) {
    options.arena = (char*)memory + (64 - (uintptr_t)memory % 64);
    options.arena_bytes = (size_t)bytes;
    if (lnf_session_create(model, &options, &session, &status) == LNF_OK) {
      lnf_run(session, &input, 1, &output, 1, NULL, &status);
    }
  }
  printf("%lu bytes, %s\n", (unsigned long)bytes, session && status.code == LNF_OK ? "ok" : status.message);
  lnf_session_free(session), lnf_model_free(model), free(memory);
  return session && status.code == LNF_OK ? 0 : 1;
}
