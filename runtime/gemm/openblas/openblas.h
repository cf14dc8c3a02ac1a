// The OpenBLAS provider. It uses OpenBLAS's sgemm for products and the native row kernels for everything else. It
// computes in f32.
#pragma once

#include "gemm/gemm.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

Result<std::unique_ptr<GemmProvider>> make_openblas_provider(const Kernels& kernels, int threads);

}  // namespace LINFORMER_NAMESPACE
