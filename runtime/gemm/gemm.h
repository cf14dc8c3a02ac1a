// The interface of the providers of matrix products (GEMMs): the native kernels, oneDNN and OpenBLAS.
//
// A session declares each GEMM once (add), reserves scratch_bytes() for each thread, then calls run() from its threads.
// The native provider allocates nothing in run(). README.md says what the other providers allocate.
#pragma once

#include <cstdint>
#include <memory>

#include "base/types.h"
#include "kernels/kernels.h"
#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// The description of a GEMM before it runs: C[M, N] = epilogue(A[M, K] B[K, N]).
struct GemmDesc {
  int64_t max_m = 0;       // The largest M.
  int64_t n = 0;           // N, or the largest N if varying_n.
  int64_t k = 0;           // K, or the largest K if varying_k.
  bool varying_n = false;  // For example in the scores of full attention, where N is a number of keys.
  bool varying_k = false;  // For example in E Z, where E is a projection over the rows Z and K is their number.
  RightLayout layout = RightLayout::panel16;
  ElementType type = ElementType::f32;  // The type of B.
  ElementType left = ElementType::f32;  // The type of A as it is passed.
  // The type that is multiplied. For f32, a B of another type is widened, and so is an A in bf16 or f16, which only a
  // projection E can be. For bf16, A and B are rounded if they are f32. For int8, both must be int8 and B in panels.
  ElementType compute = ElementType::f32;
  ElementType out = ElementType::f32;  // The type of C: f32, or bf16 if `compute` is bf16 and B is in panels.
  Activation activation = Activation::none;
  bool bias = false, row_bias = false, residual = false, accumulate = false;
};

// plan() uses the functions below. They open no library, examine no machine and generate no code. Except for
// has_backend(), they are pure functions of their arguments and give the same result in every build.

// Returns whether activations that are the right operand of many products (K^T and V of a sequence) should be packed
// once with Kernels::pack_panel and passed as panel16. Otherwise they should be passed as they are.
bool wants_packed_activations(BackendKind kind);
// Returns whether this build has the backend.
bool has_backend(BackendKind kind);
// Returns invalid_argument or unsupported, with the reason, if no provider can compute the GEMM.
Status check_gemm(const GemmDesc& desc);
// Returns the scratch memory of one thread for this GEMM in bytes, or UINT64_MAX if 64 bits don't hold it. It is exact
// for native and OpenBLAS. For oneDNN it is a lower bound: oneDNN's scratchpad, and the memory for unpacked weights if
// it has no generated code (below AVX-512), are known only after its primitives exist. GemmProvider::scratch_bytes()
// then returns the final value.
uint64_t planned_scratch_bytes(BackendKind kind, const GemmDesc& desc);

// Computes GEMMs with one of the backends.
class GemmProvider {
 public:
  virtual ~GemmProvider() = default;
  virtual BackendKind kind() const = 0;
  bool wants_packed_activations() const { return linformer::wants_packed_activations(kind()); }
  // Declares a GEMM and returns its id, or an error, such as that of check_gemm(). Equal descriptions get the same id.
  // It must not be called after the first run().
  virtual Result<int> add(const GemmDesc& desc) = 0;
  // Returns the scratch memory in bytes with which a thread can run any one of the GEMMs declared so far. Scratch must
  // be 64-byte aligned.
  virtual uint64_t scratch_bytes() const = 0;
  // Computes a GEMM on the calling thread alone. `args` must have the declared sizes, of which M and a varying N or K
  // may be smaller, and exactly the declared parts of the epilogue; otherwise run() returns internal. Threads may call
  // it at the same time with different scratch.
  virtual Status run(int gemm, const GemmArgs& args, void* scratch) const = 0;
  // Each thread of a session calls enter_thread() before its calls of run(), and leave_thread() with the token after
  // them. oneDNN and OpenBLAS set the number of OpenMP threads of this thread to 1 and restore it.
  virtual int enter_thread() const { return 0; }
  virtual void leave_thread(int /*token*/) const {}
};

// Creates a provider. Returns unsupported, with a message that names the build option, if this build lacks the backend,
// and the error of opening its library if that fails. At most `threads` threads may call run() at the same time.
Result<std::unique_ptr<GemmProvider>> make_gemm_provider(BackendKind kind, const Kernels& kernels, int threads = 1);

}  // namespace LINFORMER_NAMESPACE
