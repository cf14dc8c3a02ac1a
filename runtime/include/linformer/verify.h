// Compares a model's tensors with their checksums one by one, for callers that show the progress or may stop in
// between.
#pragma once

#include "linformer/model.h"
#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Compares one tensor, 0 to info().tensors - 1, with its checksum. It takes O(bytes) time and allocates nothing. Any
// thread may call it while others run sessions of this model. Returns corrupt_file with the name of the tensor, or
// invalid_argument if there is no such tensor.
Status verify_tensor(const Model& model, int tensor);

}  // namespace LINFORMER_NAMESPACE
