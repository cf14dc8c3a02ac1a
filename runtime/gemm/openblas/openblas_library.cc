#include "gemm/openblas/openblas_library.h"

#include <cstring>

#include "base/platform.h"

namespace LINFORMER_NAMESPACE {
namespace {

// OpenBLAS maps a buffer for each processor when it is opened, and one for each thread that calls it at the same time.
// A buffer has 128 MB on x86-64, and less on other processors.
constexpr uint64_t buffer_bytes = uint64_t{128} << 20;
constexpr uint64_t library_bytes = uint64_t{64} << 20;

Status open_default(OpenblasLibrary* library) { return open_openblas(openblas_names(), library); }

OpenedOnce<OpenblasLibrary>& opened() {
  static OpenedOnce<OpenblasLibrary> only;
  return only;
}

// Returns the version in the text of openblas_get_config(): "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...".
Version version_in(const char* config) {
  constexpr char name[] = "OpenBLAS ";
  constexpr uint32_t most = 1000000;  // Digits are read while the number is below this, so that it can't overflow.
  uint32_t numbers[3] = {};
  const char* at = std::strstr(config, name);
  if (at == nullptr) return {};
  at += sizeof name - 1;
  for (uint32_t& number : numbers) {
    for (; *at >= '0' && *at <= '9' && number < most; ++at) number = 10 * number + static_cast<uint32_t>(*at - '0');
    if (*at != '.') break;
    ++at;
  }
  return {numbers[0], numbers[1], numbers[2]};
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
  LINFORMER_TRY(
      check_address_space(names, library_bytes + static_cast<uint64_t>(platform::usable_processors()) * buffer_bytes));
  const Result<void*> handle = open_library(names);
  if (!handle.ok()) return handle.status();
  decltype(&openblas_get_parallel) get_parallel = nullptr;
  decltype(&openblas_get_config) get_config = nullptr;
  LINFORMER_TRY(find_function(*handle, names, "cblas_sgemm", &library->sgemm));
  LINFORMER_TRY(find_function(*handle, names, "openblas_get_parallel", &get_parallel));
  LINFORMER_TRY(find_function(*handle, names, "openblas_get_config", &get_config));
  // Builds with 64-bit and with 32-bit integers may have the same file name.
  const bool wide = std::strstr(get_config(), "USE64BITINT") != nullptr;
  if (wide != (sizeof(blasint) == 8)) {
    return Status::error(Code::unsupported,
                         "this machine's %s has integers of %d bits, and this program was built for one with %d: "
                         "install %s",
                         names.library, wide ? 64 : 32, static_cast<int>(8 * sizeof(blasint)), names.package);
  }
  library->handle = *handle;
  library->version = version_in(get_config());
  library->threads = static_cast<OpenblasThreads>(get_parallel());
  if (library->threads == OpenblasThreads::openmp) library->openmp = OpenMp(*handle);
  return {};
}

Result<const OpenblasLibrary*> openblas_library(int threads) {
  Result<const OpenblasLibrary*> library = opened().get(&open_default);
  if (!library.ok()) return library;
  const uint64_t bytes = static_cast<uint64_t>(threads) * (buffer_bytes + thread_address_space);
  LINFORMER_TRY(check_address_space(openblas_names(), bytes));
  return library;
}

const OpenblasLibrary& opened_openblas() { return opened().table(); }

}  // namespace LINFORMER_NAMESPACE
