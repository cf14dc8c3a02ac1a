// oneDNN's matmul for weights, its sgemm for plain right sides, the native row kernels for epilogues.
#pragma once

#include "gemm/gemm.h"

namespace linformer {

Result<std::unique_ptr<GemmProvider>> make_onednn_provider(const Kernels& kernels, int threads);

}  // namespace linformer
