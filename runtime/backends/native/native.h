// The self-contained backend: the kernels of this machine's instruction set and nothing else.
#pragma once

#include "backends/backend.h"

namespace linformer {

Result<std::unique_ptr<Backend>> make_native_backend(const Kernels& kernels);

}  // namespace linformer
