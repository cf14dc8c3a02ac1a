#include "models/tokenizer_source.h"

#include "command_line/errors.h"
#include "models/model_file.h"
#ifdef LINFORMER_WITH_TOKENIZER_FILES
#include "converter/readers/error.h"
#include "converter/tokenizers/tokenizer_files.h"
#endif

namespace linformer::cli {

TokenizerSource TokenizerSource::from_model(const std::string& path) {
  std::shared_ptr<const Model> model = load_model(path);
  Tokenizer tokenizer = load_tokenizer(*model, path);
  return {std::move(model), std::move(tokenizer)};
}

#ifdef LINFORMER_WITH_TOKENIZER_FILES
TokenizerSource TokenizerSource::from_directory(const std::string& path) {
  try {
    auto files = std::make_shared<const convert::OwnedTokenizer>(convert::load_tokenizer(path));
    Result<Tokenizer> tokenizer = Tokenizer::create(files->view());
    if (!tokenizer.ok()) throw DataError(path + ": " + tokenizer.status().message());
    return {std::move(files), std::move(tokenizer.value())};
  } catch (const convert::Error& error) {
    throw DataError(error.what());
  }
}
#else
TokenizerSource TokenizerSource::from_directory(const std::string& path) {
  throw DataError(path + ": this program was built without the converter, which reads tokenizer folders; name a model");
}
#endif

}  // namespace linformer::cli
