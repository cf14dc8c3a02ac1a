// cuBLASLt, opened when a session first asks for a GPU: a program that was built with CUDA starts where there is none.
#pragma once

#include <cublasLt.h>

#include "base/shared_library.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE::cuda {

// Its functions, under their own names. Those of descriptions are what cublasLt.h's inline functions call.
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
// Only after an open_cublas() that succeeded.
const CublasLibrary& cublas();

}  // namespace LINFORMER_NAMESPACE::cuda
