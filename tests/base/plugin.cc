// A library that contains the runtime. plugin_test.cc opens it with dlopen().
#include "linformer/model.h"
#include "linformer/session.h"

// Runs a model with two threads. Returns 0, or the number of the step that failed.
extern "C" __attribute__((visibility("default"))) int use_the_runtime(const char* path) {
  linformer::Result<std::shared_ptr<const linformer::Model>> model = linformer::Model::load(path);
  if (!model.ok()) return 1;
  linformer::SessionOptions options;
  options.cpu.threads = 2;
  options.memory.max_tokens = 8;
  options.memory.max_batch = 1;
  linformer::Result<linformer::Session> session = linformer::Session::create(model.value(), options);
  if (!session.ok()) return 2;
  const int32_t ids[] = {4, 5, 6, 7};
  const linformer::Tokens text = ids;
  float hidden[4 * 64];
  for (int call = 0; call < 3; ++call) {
    if (!session->run({&text, 1}, linformer::Output::hidden(hidden)).ok()) return 4;
  }
  return 0;
}
