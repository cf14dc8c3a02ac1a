// Compares a model's tensors with their checksums one by one, for those who show how far that is or stop it between two.
#pragma once

#include "linformer/model.h"
#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Model::verify() of one tensor, 0 to info().tensors - 1: O(bytes) of it, no allocation. Any thread may call it while
// others run sessions of this model. Errors: corrupt_file, which names the tensor; invalid_argument where there is no
// such tensor.
Status verify_tensor(const Model& model, int tensor);

}  // namespace LINFORMER_NAMESPACE
