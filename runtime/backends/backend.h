// The narrow interface between the executor and whatever multiplies matrices.
//
// A session declares each product once (add), reserves scratch_bytes() for each thread in its arena, then calls
// run() from its threads. Nothing allocates in run() on the native backend; the others say what they do in their README
// section.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/kernels.h"
#include "linformer/status.h"
#include "linformer/types.h"

namespace linformer {

// How the right side B[K,N] lies in memory.
enum class RightLayout : uint8_t {
  panel16,     // prepared: a weight from the file, or an activation through pack_panel
  row_major,   // [K, N] f32 with a stride
  transposed,  // [N, K] f32 (or bf16/f16 weights: a tied embedding) with a stride: B = src^T
};

struct ProductShape {
  int64_t max_m = 0;
  int64_t n = 0;
  int64_t k = 0;           // exact, or the largest when varying_k
  bool varying_k = false;  // E X: K is the text's length
  bool varying_n = false;  // scores of full attention or a nonuniform k
  RightLayout layout = RightLayout::panel16;
  ElementType type = ElementType::f32;
  Activation activation = Activation::none;
  bool bias = false, row_bias = false, residual = false, accumulate = false;
};

struct Product {
  int64_t m, n, k;  // within the declared shape
  const float* a;
  int64_t a_stride;
  const void* b;
  int64_t b_stride;  // elements; ignored for panel16
  float* c;
  int64_t c_stride;
  Epilogue epilogue;  // exactly the parts that were declared
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual BackendKind kind() const = 0;
  // True: activations that serve as right sides many times (K^T and V of a text) should be packed once with
  // Kernels::pack_panel and passed as panel16. False: pass them plain.
  virtual bool wants_packed_activations() const = 0;
  // Declares a product; returns its id. Only before the first run().
  virtual Result<int> add(const ProductShape& shape) = 0;
  // Scratch that each thread needs, for all products declared so far; 64-byte aligned.
  virtual uint64_t scratch_bytes() const = 0;
  // Thread-safe with distinct scratch. Always single-threaded: the session's threads split the work.
  virtual Status run(int product, const Product& arguments, void* scratch) const = 0;
  // Called on each of the session's threads around a call (oneDNN: one OpenMP thread for this thread, and back).
  virtual int enter_thread() const { return 0; }
  virtual void leave_thread(int /*token*/) const {}
};

// unsupported, with a sentence that names the build option, when this build lacks it.
Result<std::unique_ptr<Backend>> make_backend(BackendKind kind, const Kernels& kernels);

}  // namespace linformer
