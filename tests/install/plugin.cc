// A plugin that links the archive, with one function for its host. The function loads a model, classifies ids with two
// threads and tries to create a tokenizer. It returns 0 if everything is as expected.
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
  // The model has no tokenizer, so an error is expected. The call links the code of tokenizers into the plugin.
  if (linformer::Tokenizer::create(*model).ok()) return 4;
  return 0;
}
