#include "models/tokenizer_source.h"

#include "command_line/errors.h"
#include "models/model_file.h"
#ifdef LINFORMER_WITH_TOKENIZER_FILES
#include "linformer/convert.h"
#endif

namespace linformer::cli {

Tokenizer tokenizer_of_model(const std::string& path) { return load_tokenizer(load_model(path), path); }

#ifdef LINFORMER_WITH_TOKENIZER_FILES
Tokenizer tokenizer_of_folder(const std::string& path) {
  try {
    return convert::read_tokenizer(path);
  } catch (const convert::Error& error) {
    throw DataError(error.what());
  }
}
#else
Tokenizer tokenizer_of_folder(const std::string& path) {
  throw DataError(path +
                  ": this program was built without the converter, which reads tokenizer folders; name a model file");
}
#endif

}  // namespace linformer::cli
