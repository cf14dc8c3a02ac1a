// The tables of all instruction sets. kernels.cc chooses among those that this build has (LINFORMER_KERNELS).
#pragma once

#include "kernels/generic/sums.h"
#include "kernels/kernels.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

using GemmKernel = void (*)(const GemmArgs&);
using FinishTile = void (*)(const GemmArgs&, const TileSums&);
using QuantizeKernel = void (*)(ConstMatrix src, const QuantizedRows& dst);

struct Bf16Kernels {
  GemmKernel gemm;
  void (*round_rows)(ConstMatrix src, Matrix<uint16_t> dst);
  void (*pack_panel)(ConstMatrix src, bool transposed, uint16_t* dst);
  void (*softmax_step)(MutableMatrix x, float scale, const OnlineSoftmax& state);
  FinishTile finish = nullptr;  // The epilogue of AMX products.
};

// The epilogue of int8 products by AMX.
struct Int8Epilogue {
  FinishTile finish, add_scaled_slice;
};

extern const Kernels scalar_kernels;
extern const Kernels avx2_kernels;
extern const Kernels avx512_kernels;       // Its gemm_int8 is null until kernels.cc sets it.
extern const GemmKernel avx512_gemm_int8;  // AVX512-VNNI and AVX512-BW
extern const QuantizeKernel avx512_quantize_rows;
extern const Int8Epilogue avx512_int8_epilogue;
extern const Bf16Kernels avx512_bf16_kernels;          // AVX512-BF16
extern const GemmKernel amx_gemm_bf16, amx_gemm_int8;  // AMX-BF16, AMX-INT8
extern const Kernels neon_kernels;                     // Its gemm_int8 needs no extension.
extern const GemmKernel neon_dotprod_gemm_int8;        // FEAT_DotProd
extern const GemmKernel neon_i8mm_gemm_int8;           // FEAT_I8MM
extern const Bf16Kernels neon_bf16_kernels;            // FEAT_BF16

}  // namespace LINFORMER_NAMESPACE
