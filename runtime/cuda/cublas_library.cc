#include "cuda/cublas_library.h"

namespace LINFORMER_NAMESPACE::cuda {
namespace {

#define LINFORMER_STRING(x) #x
#define LINFORMER_NUMBER(x) LINFORMER_STRING(x)

// Only the library with the header's major version is opened, because the calls were checked against this header.
constexpr LibraryNames names = {"cuBLASLt",
                                "CUDA " LINFORMER_NUMBER(CUBLAS_VER_MAJOR) "'s libcublas",
                                {"libcublasLt.so." LINFORMER_NUMBER(CUBLAS_VER_MAJOR), nullptr}};

Status open(CublasLibrary* library) {
  const Result<void*> opened = open_library(names);
  if (!opened.ok()) return opened.status();
  void* const handle = *opened;
  LINFORMER_TRY(find_function(handle, names, "cublasLtCreate", &library->create));
  LINFORMER_TRY(find_function(handle, names, "cublasLtDestroy", &library->destroy));
  LINFORMER_TRY(find_function(handle, names, "cublasLtGetStatusString", &library->status_string));
  LINFORMER_TRY(find_function(handle, names, "cublasLtMatmul", &library->matmul));
  LINFORMER_TRY(find_function(handle, names, "cublasLtMatmulAlgoGetHeuristic", &library->get_heuristic));
  LINFORMER_TRY(find_function(handle, names, "cublasLtMatmulDescInit_internal", &library->init_description));
  LINFORMER_TRY(find_function(handle, names, "cublasLtMatmulDescSetAttribute", &library->set_description));
  LINFORMER_TRY(find_function(handle, names, "cublasLtMatrixLayoutInit_internal", &library->init_layout));
  LINFORMER_TRY(find_function(handle, names, "cublasLtMatrixLayoutSetAttribute", &library->set_layout));
  LINFORMER_TRY(find_function(handle, names, "cublasLtMatmulPreferenceInit_internal", &library->init_preference));
  return find_function(handle, names, "cublasLtMatmulPreferenceSetAttribute", &library->set_preference);
}

OpenedOnce<CublasLibrary> opened;

}  // namespace

Result<const CublasLibrary*> open_cublas() { return opened.get(&open); }
const CublasLibrary& cublas() { return opened.table(); }

}  // namespace LINFORMER_NAMESPACE::cuda
