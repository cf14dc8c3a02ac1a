// The oneDNN provider. It uses oneDNN's matmul primitives for weights in panels if oneDNN has generated code for them,
// oneDNN's sgemm for all other right operands, and the native row kernels for epilogues.
#pragma once

#include "gemm/gemm.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

Result<std::unique_ptr<GemmProvider>> make_onednn_provider(const Kernels& kernels, int threads);

}  // namespace LINFORMER_NAMESPACE
