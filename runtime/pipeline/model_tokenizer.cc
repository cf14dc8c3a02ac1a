#include "base/description.h"
#include "linformer/model.h"
#include "linformer/tokenizer.h"
#include "text/tokenizer_factory.h"

namespace LINFORMER_NAMESPACE {

Result<Tokenizer> Tokenizer::create(std::shared_ptr<const Model> model) {
  if (model == nullptr) return Status::error(Code::invalid_argument, "no model: load one first");
  const TokenizerDescription& description = model->description().tokenizer;
  if (description.kind == TokenizerKind::none) {
    return Status::error(Code::unsupported,
                         "this model has no tokenizer: convert it again with one, or pass it tokens");
  }
  return TokenizerFactory::create(description, std::move(model));
}

}  // namespace LINFORMER_NAMESPACE
