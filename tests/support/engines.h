// The backends and instruction sets that this build and machine have.
#pragma once

#include <vector>

#include "linformer/session.h"

namespace linformer_test {

struct Engine {
  linformer::BackendKind backend;
  linformer::Isa isa;
};

inline std::vector<Engine> engines(const linformer::Model& model) {
  using namespace linformer;
  std::vector<Engine> found;
  for (BackendKind backend : {BackendKind::native, BackendKind::onednn, BackendKind::openblas}) {
    for (Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512, Isa::neon}) {
      SessionOptions options;
      options.backend = backend;
      options.isa = isa;
      options.max_tokens = 1;
      if (plan(model, options).ok()) found.push_back({backend, isa});
    }
  }
  return found;
}

}  // namespace linformer_test
