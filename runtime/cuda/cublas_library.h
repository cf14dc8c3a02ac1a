// Opens cuBLASLt when a session first uses a GPU. A program that was built with CUDA can then start on a machine
// without the library.
#pragma once

#include <cublasLt.h>

#include "base/shared_library.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE::cuda {

// The functions of cuBLASLt. Those whose names end in _internal are called by the inline functions of cublasLt.h that
// have the rest of the name.
struct CublasLibrary {
  decltype(&::cublasLtCreate) create;
  decltype(&::cublasLtDestroy) destroy;
  decltype(&::cublasLtGetStatusString) status_string;
  decltype(&::cublasLtMatmul) matmul;
  decltype(&::cublasLtMatmulAlgoGetHeuristic) get_heuristic;
  decltype(&::cublasLtMatmulDescInit_internal) init_description;
  decltype(&::cublasLtMatmulDescSetAttribute) set_description;
  decltype(&::cublasLtMatrixLayoutInit_internal) init_layout;
  decltype(&::cublasLtMatrixLayoutSetAttribute) set_layout;
  decltype(&::cublasLtMatmulPreferenceInit_internal) init_preference;
  decltype(&::cublasLtMatmulPreferenceSetAttribute) set_preference;
};

Result<const CublasLibrary*> open_cublas();
// Returns the functions. Call it only after open_cublas() has succeeded.
const CublasLibrary& cublas();

}  // namespace LINFORMER_NAMESPACE::cuda
