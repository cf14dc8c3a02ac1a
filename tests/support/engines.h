// Lists the backends and instruction sets that this build and machine have.
#pragma once

#include <string>
#include <vector>

#include "gemm/gemm.h"
#include "linformer/session.h"
#if defined(LINFORMER_TEST_DEVICE)
#include "cuda/create.h"
#include "support/skip.h"
#endif

namespace linformer_test {

struct Engine {
  linformer::BackendKind backend;
  linformer::Isa isa;
  int device = -1;  // CudaOptions::device
};

// Returns the instruction set that a session uses if its options name none.
inline linformer::Isa best_isa() { return linformer::kernels_for(linformer::Isa::automatic)->isa; }

// Returns whether an engine has kernels for bf16 that a session uses only if the options ask for bf16, because f32 is
// faster.
inline bool is_bf16_off_by_default(const Engine& engine) {
  if (engine.backend != linformer::BackendKind::native || engine.device >= 0) return false;
  const linformer::Kernels& kernels = *linformer::kernels_for(engine.isa);
  return kernels.gemm_bf16 != nullptr && !kernels.bf16.faster;
}

// Returns the value of RunOptions::compute with which tests run the kernels for bf16, except the scalar ones, even on
// machines that are faster in f32.
inline linformer::Compute bf16_compute(const Engine& engine) {
  const bool left_out = engine.isa != linformer::Isa::scalar && is_bf16_off_by_default(engine);
  return left_out ? linformer::Compute::bf16 : linformer::Compute::automatic;
}

// Returns the options of a session that runs on an engine, with the value of bf16_compute().
inline linformer::SessionOptions session_options(const Engine& engine, int threads, int64_t batch) {
  linformer::SessionOptions options;
  options.run.compute = bf16_compute(engine);
  options.cpu.backend = engine.backend;
  options.cpu.isa = engine.isa;
  options.cpu.threads = threads;
  options.cuda.device = engine.device;
  options.memory.max_batch = batch;
  return options;
}

// Returns whether the bits of a result may depend on the largest call for which a session was created. On a GPU they
// may, because the algorithms of GEMMs are chosen for that call. A simulated device has no choice of algorithms.
inline bool depends_on_largest_call([[maybe_unused]] const Engine& engine) {
#if defined(LINFORMER_CUDA_SIMULATED)
  return false;
#else
  return engine.device >= 0;
#endif
}

inline std::string label_of(const Engine& engine) {
  if (engine.device >= 0) return "cuda:" + std::to_string(engine.device);
  return std::string(linformer::name_of(engine.backend)) + " " + linformer::name_of(engine.isa);
}

#if defined(LINFORMER_TEST_DEVICE)
// Returns the engine of the device that replaces the CPU in the tests: a real device, or one that is simulated on the
// CPU (tests/cuda). If there is no usable device, returns nothing and reports the case as skipped.
inline std::vector<Engine> device_engines() {
  if (const auto found = linformer::cuda::multiplies_bf16(0); !found.ok()) {
    skip(found.status().message());
    return {};
  }
  return {{linformer::BackendKind::native, best_isa(), 0}};
}
#endif

inline std::vector<Engine> engines() {
  using namespace linformer;
#if defined(LINFORMER_TEST_DEVICE)
  return device_engines();
#endif
  std::vector<Engine> found;
  bool native_sets = true, backend_sets = true;
#if defined(__SANITIZE_THREAD__)
  native_sets = false;  // kernels don't change how threads are used
#elif defined(__SANITIZE_ADDRESS__)
  backend_sets = false;  // the other kernels are the same as with the native backend
#endif
  for (BackendKind backend : {BackendKind::native, BackendKind::onednn, BackendKind::openblas}) {
    for (Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512, Isa::neon}) {
      if (!(backend == BackendKind::native ? native_sets : backend_sets) && isa != best_isa()) continue;
      const Kernels* kernels = kernels_for(isa);
      if (kernels != nullptr && make_gemm_provider(backend, *kernels).ok()) found.push_back({backend, isa});
    }
  }
  return found;
}

}  // namespace linformer_test
