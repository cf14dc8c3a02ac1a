// oneDNN's matmul for weights, its sgemm for plain right sides, the native row kernels for epilogues.
#pragma once

#include "backends/backend.h"

namespace linformer {

Result<std::unique_ptr<Backend>> make_onednn_backend(const Kernels& kernels);

}  // namespace linformer
