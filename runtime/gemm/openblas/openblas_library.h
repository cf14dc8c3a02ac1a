// Opens OpenBLAS when the backend is first used.
#pragma once

#include <cblas.h>

#include "base/shared_library.h"
#include "gemm/openmp.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// The kinds of OpenBLAS builds, with the numbers that openblas_get_parallel() returns.
enum class OpenblasThreads { sequential = 0, pthreads = 1, openmp = 2 };

struct OpenblasLibrary {
  void* handle = nullptr;  // The opened library, for functions that only some builds have, such as those of LAPACK.
  decltype(&cblas_sgemm) sgemm = nullptr;
  Version version = {};  // 0.0.0 if the library doesn't say its version.
  OpenblasThreads threads = OpenblasThreads::sequential;
  OpenMp openmp;  // Empty unless this is the OpenMP build.
};

// Returns the names of the library, which is looked for in the folder where the build found it, and then wherever the
// system looks.
const LibraryNames& openblas_names();
// Opens the library unless it is open, for `threads` threads that will call it at the same time. It is thread-safe.
// Returns out_of_memory if the process's limit of address space leaves too little room. OpenBLAS itself would ask for
// the memory again and again without end.
Result<const OpenblasLibrary*> openblas_library(int threads);
// Returns the library. openblas_library() must have succeeded before.
const OpenblasLibrary& opened_openblas();
// Opens a library with other names. Each call opens it again. Tests use this function.
Status open_openblas(const LibraryNames& names, OpenblasLibrary* library);

}  // namespace LINFORMER_NAMESPACE
