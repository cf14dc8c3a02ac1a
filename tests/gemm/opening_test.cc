// Tests that a backend's library is opened when the backend is first requested.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

#include "gemm/backend_version.h"
#include "gemm/gemm.h"
#include "gemm/openblas/openblas_library.h"

namespace linformer_test::opening_test {

using namespace linformer;

namespace {

// Tries to open the first of these files that exists, as the library OpenBLAS. Checks that the error has this code, and
// returns the error's message.
std::string refused(const char* first, const char* second, Code code) {
  const LibraryNames names = {"OpenBLAS", "libopenblas0-openmp", {first, second}};
  OpenblasLibrary library;
  const Status status = open_openblas(names, &library);
  CHECK(status.code() == code);
  CHECK(library.handle == nullptr);
  const std::string message = status.message();
  CHECK(message.find("OpenBLAS") != std::string::npos);
  CHECK(message.find("install libopenblas0-openmp") != std::string::npos);
  return message;
}

bool is_loaded(const char* file) { return dlopen(file, RTLD_NOW | RTLD_NOLOAD) != nullptr; }

}  // namespace

TEST_CASE("the native provider doesn't load OpenBLAS, and many threads that request it load it once") {
  const Kernels& kernels = *kernels_for(Isa::automatic);
  CHECK(make_gemm_provider(BackendKind::native, kernels).ok());
  REQUIRE(!is_loaded("libopenblas.so.0"));
  std::vector<Result<const OpenblasLibrary*>> opened(8, Status());
  {
    std::vector<std::jthread> threads;
    for (auto& library : opened) threads.emplace_back([&library] { library = openblas_library(8); });
  }
  for (const auto& library : opened) {
    REQUIRE(library.ok());
    CHECK(*library == *opened[0]);
  }
  CHECK(is_loaded("libopenblas.so.0"));
  CHECK(make_gemm_provider(BackendKind::openblas, kernels).ok());
}

TEST_CASE("the error for a missing or unsuitable library names the package to install") {
  CHECK(refused("./no-such-blas.so.0", "libno-such-blas.so.0", Code::io_error).find("libno-such-blas.so.0") !=
        std::string::npos);
  CHECK(refused(nullptr, nullptr, Code::io_error) != "");
  CHECK(refused("libm.so.6", nullptr, Code::unsupported).find("has no function cblas_sgemm") != std::string::npos);
  if (sizeof(blasint) == 4) {
    CHECK(refused(LINFORMER_WIDE_OPENBLAS, nullptr, Code::unsupported).find("integers of 64 bits") !=
          std::string::npos);
  }
}

TEST_CASE("the second file is opened if the first doesn't exist") {
  const LibraryNames names = {"OpenBLAS", "libopenblas0-openmp", {"./no-such-blas.so.0", openblas_names().files[0]}};
  OpenblasLibrary library;
  const Status status = open_openblas(names, &library);
  CHECK(std::string(status.message()) == "");
  CHECK(library.handle != nullptr);
  CHECK((library.sgemm != nullptr));
}

TEST_CASE("the version of OpenBLAS is that of the opened library") {
  const Result<Version> version = opened_backend_version(BackendKind::openblas);
  REQUIRE(version.ok());
  void* const handle = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_NOLOAD);
  REQUIRE(handle != nullptr);
  const auto config = reinterpret_cast<const char* (*)()>(dlsym(handle, "openblas_get_config"));
  REQUIRE((config != nullptr));  // The parentheses are needed because doctest can't print a function.
  const std::string expected = "OpenBLAS " + std::to_string(version->major) + "." + std::to_string(version->minor) +
                               "." + std::to_string(version->patch);
  CAPTURE(std::string(config()));
  CHECK(std::string(config()).find(expected) != std::string::npos);
  CHECK(*opened_backend_version(BackendKind::native) == library_version());
}

}  // namespace linformer_test::opening_test
