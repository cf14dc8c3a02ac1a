#include "models/model_file.h"

#include "command_line/errors.h"
#include "files/hub_name.h"
#include "input_files/open_model.h"

namespace linformer::cli {

bool read_whole_models = false;

Access model_access() { return read_whole_models ? Access::read : Access::map; }

std::shared_ptr<const Model> load_model(const std::string& path) {
  LoadOptions options;
  options.access = model_access();
  Result<std::shared_ptr<const Model>> loaded = files::open_model(path, options);
  const std::string advice = loaded.ok() ? "" : files::hub_name_advice(path);
  if (!advice.empty()) {
    throw DataError(std::string(loaded.status().message()) + ". " + advice +
                    " and make a model file of that folder with linformer-convert");
  }
  return value_or_throw(std::move(loaded));
}

void require_tokens(const Model& model, const std::string& path) {
  const ModelInfo info = model.info();
  if (info.vector_width == 0) return;
  throw DataError(
      path + ": this model reads vectors of " + std::to_string(info.vector_width) + " numbers and no text; run " +
      (info.heads == 0 ? "'linformer encode'" : "'linformer classify' or 'encode'") + " with --vectors FILE.npy");
}

void require_vectors(const Model& model, const std::string& path) {
  if (model.info().vector_width > 0) return;
  throw DataError(path + ": this model reads tokens and no vectors; give it texts instead of --vectors");
}

void require_masked_lm(const Model& model, const std::string& path) {
  if (!model.info().has_masked_lm) {
    throw DataError(path + ": this model has no masked-LM head; 'linformer inspect' shows what it has");
  }
  if (model.info().has_decoder) {
    throw DataError(path + ": this model's masked-LM head needs the decoder, which only the library runs");
  }
}

void require_tokenizer(const Model& model, const std::string& path) {
  require_tokens(model, path);
  if (model.info().tokenizer == TokenizerKind::none) {
    throw DataError(path + ": this model has no tokenizer; convert it again with linformer-convert --tokenizer DIR");
  }
}

Tokenizer load_tokenizer(const std::shared_ptr<const Model>& model, const std::string& path) {
  require_tokenizer(*model, path);
  return value_or_throw(Tokenizer::create(model));
}

}  // namespace linformer::cli
