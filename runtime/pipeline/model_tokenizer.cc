#include "base/description.h"
#include "linformer/model.h"
#include "linformer/tokenizer.h"
#include "text/tokenizer_state.h"

namespace LINFORMER_NAMESPACE {

Result<Tokenizer> Tokenizer::create(std::shared_ptr<const Model> model) {
  if (model == nullptr) return Status::error(Code::invalid_argument, "no model: load one first");
  if (model->description().tokenizer.kind == TokenizerKind::none) {
    return Status::error(Code::unsupported,
                         "this model has no tokenizer: convert it again with one, or pass it tokens");
  }
  Result<Tokenizer> made = create(model->description().tokenizer);
  if (made.ok()) made->state_->model = std::move(model);
  return made;
}

}  // namespace LINFORMER_NAMESPACE
