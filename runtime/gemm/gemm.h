// Who multiplies matrices: one interface over the native kernels, oneDNN and OpenBLAS.
//
// A session declares each GEMM once (add), reserves scratch_bytes() for each thread, then calls run() from its threads.
// Nothing allocates in run() on the native provider; what the others allocate is in README.md.
#pragma once

#include <cstdint>
#include <memory>

#include "base/types.h"
#include "kernels/kernels.h"
#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// What is known of a GEMM before it runs: C[M, N] = epilogue(A[M, K] B[K, N]).
struct GemmDesc {
  int64_t max_m = 0;
  int64_t n = 0;           // exact, or the largest when varying_n
  int64_t k = 0;           // exact, or the largest when varying_k
  bool varying_n = false;  // scores of full attention or a nonuniform k
  bool varying_k = false;  // E Z: K is the sequence's length
  RightLayout layout = RightLayout::panel16;
  ElementType type = ElementType::f32;  // of B
  ElementType left = ElementType::f32;  // of A as it is passed
  // What is multiplied. f32: what isn't is widened, A where it is E in bf16 or f16. bf16: A and B are rounded where
  // they are f32. int8: both are, B in panels.
  ElementType compute = ElementType::f32;
  ElementType out = ElementType::f32;  // of C: f32, or bf16 where that is multiplied with panels
  Activation activation = Activation::none;
  bool bias = false, row_bias = false, residual = false, accumulate = false;
};

// Pure functions of their arguments, for plan(): nothing is opened, probed or generated, and all builds give the same.

// True: activations that serve as right sides many times (K^T and V of a sequence) should be packed once with
// Kernels::pack_panel and passed as panel16. False: pass them plain.
bool packs_activations(BackendKind kind);
// Whether this build has it.
bool has_backend(BackendKind kind);
// invalid_argument or unsupported, naming what no provider can do.
Status check_gemm(const GemmDesc& desc);
// Scratch of one thread for this GEMM; UINT64_MAX where 64 bits don't hold it. Exact for native and OpenBLAS. For
// oneDNN our own share, and a lower bound: its scratchpad, and the weights that are unpacked where it has no generated
// code (below AVX-512), are known only once its primitives exist, and GemmProvider::scratch_bytes() says the final
// figure.
uint64_t planned_scratch_bytes(BackendKind kind, const GemmDesc& desc);

class GemmProvider {
 public:
  virtual ~GemmProvider() = default;
  virtual BackendKind kind() const = 0;
  bool packs_activations() const { return linformer::packs_activations(kind()); }
  // Declares a GEMM that check_gemm() accepts; returns its id. Equal descriptions get the same id. Only before the
  // first run().
  virtual Result<int> add(const GemmDesc& desc) = 0;
  // Scratch that each thread needs, for all GEMMs declared so far; 64-byte aligned.
  virtual uint64_t scratch_bytes() const = 0;
  // `args` within what was declared, with exactly the parts of the epilogue that were; internal otherwise. Thread-safe
  // with distinct scratch. Always single-threaded: the session's threads split the work.
  virtual Status run(int gemm, const GemmArgs& args, void* scratch) const = 0;
  // Called on each of the session's threads around a call (oneDNN: one OpenMP thread for this thread, and back).
  virtual int enter_thread() const { return 0; }
  virtual void leave_thread(int /*token*/) const {}
};

// unsupported, with a sentence that names the build option, when this build lacks it; another code where its library
// can't be opened. At most `threads` will call run() at once.
Result<std::unique_ptr<GemmProvider>> make_gemm_provider(BackendKind kind, const Kernels& kernels, int threads = 1);

}  // namespace LINFORMER_NAMESPACE
