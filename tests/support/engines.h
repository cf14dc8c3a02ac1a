// The backends and instruction sets that this build and machine have.
#pragma once

#include <vector>

#include "gemm/gemm.h"
#include "linformer/session.h"

namespace linformer_test {

struct Engine {
  linformer::BackendKind backend;
  linformer::Isa isa;
};

inline std::vector<Engine> engines() {
  using namespace linformer;
  std::vector<Engine> found;
  for (BackendKind backend : {BackendKind::native, BackendKind::onednn, BackendKind::openblas}) {
    for (Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512, Isa::neon}) {
      const Kernels* kernels = kernels_for(isa);
      if (kernels != nullptr && make_gemm_provider(backend, *kernels).ok()) found.push_back({backend, isa});
    }
  }
  return found;
}

// The instruction set that a session takes where none is asked for.
inline linformer::Isa best_isa() { return linformer::kernels_for(linformer::Isa::automatic)->isa; }

}  // namespace linformer_test
