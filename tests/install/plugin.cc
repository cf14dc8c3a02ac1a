// A plugin that links the archive, with one function for its host: it loads a model, classifies ids with two threads
// and makes a tokenizer. 0 when all of that worked.
#include <memory>

#include "linformer/session.h"
#include "linformer/tokenizer.h"

extern "C" __attribute__((visibility("default"))) int plugin_classify(const char* model_file) {
  auto model = linformer::Model::load(model_file);
  if (!model.ok()) return 1;
  auto session = linformer::Session::create(*model, {.cpu = {.threads = 2}});
  if (!session.ok()) return 2;
  const int32_t ids[] = {4, 5, 6, 7};
  const linformer::Tokens text = ids;
  float probabilities[3];
  if (!session->run({&text, 1}, linformer::Output::probabilities(probabilities)).ok()) return 3;
  // The model has no tokenizer: the error is right, and what it takes to make one is linked.
  if (linformer::Tokenizer::create(*model).ok()) return 4;
  return 0;
}
