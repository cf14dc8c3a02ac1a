#include "linformer/verify.h"

#include "base/description.h"
#include "io/hash.h"

namespace LINFORMER_NAMESPACE {

Status verify_tensor(const Model& model, int tensor) {
  const auto& tensors = model.description().tensors;
  if (tensor < 0 || static_cast<size_t>(tensor) >= tensors.size()) {
    return Status::error(Code::invalid_argument, "there is no tensor %d: the model has %zu", tensor, tensors.size());
  }
  const TensorDescription& described = tensors[static_cast<size_t>(tensor)];
  if (hash_bytes({model.data(tensor), static_cast<size_t>(described.bytes)}) == described.checksum) return {};
  return Status::error(Code::corrupt_file,
                       "the checksum of tensor %d (%.80s) differs: the file is damaged, copy or convert it again",
                       tensor, described.name.c_str());
}

Status Model::verify() const {
  for (size_t i = 0; i < description().tensors.size(); ++i) {
    LINFORMER_TRY(verify_tensor(*this, static_cast<int>(i)));
  }
  return {};
}

}  // namespace LINFORMER_NAMESPACE
