#include "gemm/backend_version.h"

#if defined(LINFORMER_HAS_ONEDNN)
#include "gemm/onednn/onednn_library.h"
#endif
#if defined(LINFORMER_HAS_OPENBLAS)
#include "gemm/openblas/openblas_library.h"
#endif

namespace LINFORMER_NAMESPACE {

Result<Version> opened_backend_version(BackendKind kind) {
  switch (kind) {
    case BackendKind::native:
      return library_version();
    case BackendKind::onednn: {
#if defined(LINFORMER_HAS_ONEDNN)
      LINFORMER_TRY(onednn::open_library(1));
      const dnnl_version_t& version = *onednn::library().version();
      return Version{static_cast<uint32_t>(version.major), static_cast<uint32_t>(version.minor),
                     static_cast<uint32_t>(version.patch)};
#else
      return Status::error(Code::unsupported, "this build has no oneDNN backend: build with -DLINFORMER_ONEDNN=ON");
#endif
    }
    case BackendKind::openblas: {
#if defined(LINFORMER_HAS_OPENBLAS)
      const Result<const OpenblasLibrary*> library = openblas_library(1);
      if (!library.ok()) return library.status();
      return (*library)->version;
#else
      return Status::error(Code::unsupported, "this build has no OpenBLAS backend: build with -DLINFORMER_OPENBLAS=ON");
#endif
    }
  }
  return Status::error(Code::invalid_argument, "there is no backend number %d", static_cast<int>(kind));
}

}  // namespace LINFORMER_NAMESPACE
