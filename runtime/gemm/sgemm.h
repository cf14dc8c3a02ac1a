// Computes a GEMM by a BLAS-style sgemm. The OpenBLAS provider does this for all GEMMs, and the oneDNN provider for
// those that no primitive fits. Right operands that sgemm can't read (panel16, or not f32) are unpacked into scratch, a
// chunk of columns at a time. The native row kernels compute the epilogue.
#pragma once

#include "gemm/gemm.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// A function that computes C = A B + beta C in row-major f32, on the calling thread alone. `b` is B[K, N], or B^T if
// `transposed`. beta is 0 or 1. If it is 0, C is not read.
using Sgemm = Status (*)(const ConstMatrix& a, bool transposed, const ConstMatrix& b, float beta,
                         const MutableMatrix& c);

// Returns the scratch memory of gemm_by_sgemm() in bytes. Every build has it, because planned_scratch_bytes() uses it.
uint64_t sgemm_scratch_bytes(const GemmDesc& desc);
Status gemm_by_sgemm(Sgemm sgemm, const Kernels& kernels, const GemmDesc& desc, const GemmArgs& args, void* scratch);

// Returns whether the residual is C itself. The sums must then not overwrite C before its values are added or copied.
bool residual_is_c(const GemmArgs& args);

// Applies an epilogue to the sums in C: row_bias and bias unless they are null, the activation, and the residual unless
// its data is null.
void apply_epilogue(const Kernels& kernels, const Epilogue& epilogue, const MutableMatrix& c);

}  // namespace LINFORMER_NAMESPACE
