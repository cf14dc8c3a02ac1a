// OpenBLAS's sgemm for the products, the native row kernels for everything else. f32 arithmetic.
#pragma once

#include "backends/backend.h"

namespace linformer {

Result<std::unique_ptr<Backend>> make_openblas_backend(const Kernels& kernels);

}  // namespace linformer
