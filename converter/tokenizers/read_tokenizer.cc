#include <memory>
#include <utility>

#include "converter/tokenizers/tokenizer_files.h"
#include "linformer/convert.h"
#include "text/tokenizer_factory.h"

namespace linformer::convert {

Tokenizer read_tokenizer(const std::string& path) {
  auto files = std::make_shared<const OwnedTokenizer>(load_tokenizer(path));
  const TokenizerDescription description = files->view();
  Result<Tokenizer> made = TokenizerFactory::create(description, std::move(files));
  if (!made.ok()) throw Error(path + ": " + made.status().message(), made.status().code());
  return std::move(made.value());
}

}  // namespace linformer::convert
