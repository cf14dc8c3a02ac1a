// The oneDNN provider. It uses oneDNN's matmul primitives for weights, its sgemm for other right sides, and the native
// row kernels for epilogues.
#pragma once

#include "gemm/gemm.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

Result<std::unique_ptr<GemmProvider>> make_onednn_provider(const Kernels& kernels, int threads);

}  // namespace LINFORMER_NAMESPACE
