// oneDNN's matmul for weights, its sgemm for plain right sides, the native row kernels for epilogues.
#pragma once

#include "gemm/gemm.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

Result<std::unique_ptr<GemmProvider>> make_onednn_provider(const Kernels& kernels, int threads);

}  // namespace LINFORMER_NAMESPACE
