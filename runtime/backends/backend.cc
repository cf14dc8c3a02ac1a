#include "backends/backend.h"

#include "backends/native/native.h"
#if defined(LINFORMER_HAS_ONEDNN)
#include "backends/onednn/onednn.h"
#endif
#if defined(LINFORMER_HAS_OPENBLAS)
#include "backends/openblas/openblas.h"
#endif

namespace linformer {

Result<std::unique_ptr<Backend>> make_backend(BackendKind kind, const Kernels& kernels) {
  switch (kind) {
    case BackendKind::native:
      return make_native_backend(kernels);
    case BackendKind::onednn:
#if defined(LINFORMER_HAS_ONEDNN)
      return make_onednn_backend(kernels);
#else
      return Status::error(Code::unsupported,
                           "this build has no oneDNN backend: build with -DLINFORMER_ONEDNN=ON or use native");
#endif
    case BackendKind::openblas:
#if defined(LINFORMER_HAS_OPENBLAS)
      return make_openblas_backend(kernels);
#else
      return Status::error(Code::unsupported,
                           "this build has no OpenBLAS backend: build with -DLINFORMER_OPENBLAS=ON or use native");
#endif
  }
  return Status::error(Code::invalid_argument, "there is no backend number %d", static_cast<int>(kind));
}

}  // namespace linformer
