// A product by way of a BLAS-style sgemm: what the OpenBLAS backend does, and the oneDNN backend where no prepared
// primitive fits. Right sides that sgemm can't read (panel16, 16-bit) are unpacked into scratch a chunk of columns
// at a time; the epilogue runs on the native row kernels.
#pragma once

#include "backends/backend.h"

namespace linformer {

// C[m,n] = alpha A B + beta C, all row-major f32; B is [k, n], or [n, k] when `transposed`. beta is 0 or 1; with 0,
// C is not read. Single-threaded.
using Sgemm = Status (*)(bool transposed, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
                         int64_t a_stride, const float* b, int64_t b_stride, float beta, float* c, int64_t c_stride);

// Scratch bytes of plain_gemm for this shape.
uint64_t plain_gemm_scratch(const ProductShape& shape);
Status plain_gemm(Sgemm sgemm, const Kernels& kernels, const ProductShape& shape, const Product& product,
                  void* scratch);

// True when the residual is C itself: a product must then add to C instead of overwriting it.
bool residual_is_c(const Product& product);

// Adds row_bias and bias to columns [n0, n0 + n) of rows [m0, m0 + m) of C, applies the activation, and adds
// `residual` (rows from m0, columns from n0), unless null. alpha is already in.
void finish_rows(const Kernels& kernels, const Product& product, int64_t m0, int64_t m, int64_t n0, int64_t n,
                 const float* residual);

}  // namespace linformer
