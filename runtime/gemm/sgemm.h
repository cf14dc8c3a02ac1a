// A GEMM by way of a BLAS-style sgemm: what the OpenBLAS provider does, and the oneDNN provider where no primitive
// fits. Right sides that sgemm can't read (panel16, 16-bit) are unpacked into scratch a chunk of columns at a time; the
// epilogue runs on the native row kernels.
#pragma once

#include "gemm/gemm.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// C = A B + beta C, all row-major f32; `b` holds B[K, N], or B^T when `transposed`. beta is 0 or 1; with 0, C is not
// read. Single-threaded.
using Sgemm = Status (*)(const ConstMatrix& a, bool transposed, const ConstMatrix& b, float beta,
                         const MutableMatrix& c);

// Scratch of gemm_by_sgemm(); a part of planned_scratch_bytes(), so in every build.
uint64_t sgemm_scratch_bytes(const GemmDesc& desc);
Status gemm_by_sgemm(Sgemm sgemm, const Kernels& kernels, const GemmDesc& desc, const GemmArgs& args, void* scratch);

// True when the residual is C itself: a GEMM must then add to C instead of overwriting it.
bool residual_is_c(const GemmArgs& args);

// What may follow the sums in C: row_bias, bias (each unless null), activation, residual (unless its data is null).
void finish_rows(const Kernels& kernels, const Epilogue& epilogue, const MutableMatrix& c);

}  // namespace LINFORMER_NAMESPACE
