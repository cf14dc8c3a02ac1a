#include "gemm/openblas/openblas_library.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cinttypes>
#include <cstring>

namespace linformer {
namespace {

// OpenBLAS maps a buffer for each processor when it is opened, and in calls one for each thread that is in it at once.
// 128 MB is the size on x86-64, and the largest.
constexpr uint64_t buffer_bytes = uint64_t{128} << 20;
constexpr uint64_t library_bytes = uint64_t{64} << 20;

uint64_t processors() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return static_cast<uint64_t>(CPU_COUNT(&allowed));
}

Status check_address_space(const LibraryNames& names) {
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  const uint64_t bytes = std::min<uint64_t>(2 * processors() * buffer_bytes + library_bytes, SIZE_MAX);
  void* space =
      mmap(nullptr, static_cast<size_t>(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) {
    return Status::error(Code::out_of_memory,
                         "%s takes up to %" PRIu64
                         " MB of address space, which this process's limit (ulimit -v) "
                         "denies: raise the limit",
                         names.library, bytes >> 20);
  }
  munmap(space, static_cast<size_t>(bytes));
  return {};
}

Status open_default(OpenblasLibrary* library) { return open_openblas(openblas_names(), library); }

OpenedOnce<OpenblasLibrary>& opened() {
  static OpenedOnce<OpenblasLibrary> only;
  return only;
}

}  // namespace

const LibraryNames& openblas_names() {
  static constexpr LibraryNames names = {
    "OpenBLAS",
    "libopenblas0-openmp",
#if defined(LINFORMER_OPENBLAS_FOLDER)
    {LINFORMER_OPENBLAS_FOLDER "/libopenblas.so.0", "libopenblas.so.0"}
#else
    {"libopenblas.so.0", nullptr}
#endif
  };
  return names;
}

Status open_openblas(const LibraryNames& names, OpenblasLibrary* library) {
  LINFORMER_TRY(check_address_space(names));
  const Result<void*> handle = open_library(names);
  if (!handle.ok()) return handle.status();
  decltype(&openblas_get_parallel) get_parallel = nullptr;
  decltype(&openblas_get_config) get_config = nullptr;
  LINFORMER_TRY(find_function(*handle, names, "cblas_sgemm", &library->sgemm));
  LINFORMER_TRY(find_function(*handle, names, "openblas_get_parallel", &get_parallel));
  LINFORMER_TRY(find_function(*handle, names, "openblas_get_config", &get_config));
  // Both kinds may have the same file name.
  const bool wide = std::strstr(get_config(), "USE64BITINT") != nullptr;
  if (wide != (sizeof(blasint) == 8)) {
    return Status::error(Code::unsupported,
                         "this machine's %s has integers of %d bits, and this program was built for one with %d: "
                         "install %s",
                         names.library, wide ? 64 : 32, static_cast<int>(8 * sizeof(blasint)), names.package);
  }
  library->handle = *handle;
  library->threads = static_cast<OpenblasThreads>(get_parallel());
  if (library->threads == OpenblasThreads::openmp) library->openmp = OpenMp(*handle);
  return {};
}

Result<const OpenblasLibrary*> openblas_library() { return opened().get(&open_default); }

const OpenblasLibrary& opened_openblas() { return opened().table(); }

}  // namespace linformer
