// OpenBLAS's sgemm for the products, the native row kernels for everything else. f32 arithmetic.
#pragma once

#include "gemm/gemm.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

Result<std::unique_ptr<GemmProvider>> make_openblas_provider(const Kernels& kernels, int threads);

}  // namespace LINFORMER_NAMESPACE
