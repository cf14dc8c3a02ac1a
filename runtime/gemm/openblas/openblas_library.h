// OpenBLAS, opened when it is first asked for.
#pragma once

#include <cblas.h>

#include "base/shared_library.h"
#include "gemm/openmp.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// What openblas_get_parallel() says.
enum class OpenblasThreads { sequential = 0, pthreads = 1, openmp = 2 };

struct OpenblasLibrary {
  void* handle = nullptr;  // for functions that only some builds have: LAPACK's
  decltype(&cblas_sgemm) sgemm = nullptr;
  Version version = {};  // 0.0.0 where it doesn't say
  OpenblasThreads threads = OpenblasThreads::sequential;
  OpenMp openmp;  // of the OpenMP build; empty otherwise
};

// Where it is looked for: the folder where the build found it, then wherever the system looks.
const LibraryNames& openblas_names();
// For so many threads that will be in it at once. Thread-safe. out_of_memory where the process's limit of address space
// leaves too little: OpenBLAS would ask for it again and again, for ever.
Result<const OpenblasLibrary*> openblas_library(int threads);
// The same where openblas_library() has succeeded before.
const OpenblasLibrary& opened_openblas();
// Opens other files, each time anew; for tests.
Status open_openblas(const LibraryNames& names, OpenblasLibrary* library);

}  // namespace LINFORMER_NAMESPACE
