// A oneDNN matmul primitive of fixed shape. It computes C[m, n] = A[m, k] B + bias, or C += A B + bias. B is f32 in
// panel16, and A and C have dense rows.
#pragma once

#include <cstdint>

#include "gemm/onednn/compat.h"
#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE::onednn {

// Returns out_of_memory or internal if `status` is an error. The message names `call` and has oneDNN's status number.
Status check(dnnl_status_t status, const char* call);

class Matmul {
 public:
  struct Shape {
    int64_t m, n, k;
    bool adds_to_c, has_bias;
  };

  Matmul() = default;
  Matmul(Matmul&& other) noexcept;
  Matmul& operator=(Matmul&& other) noexcept;
  ~Matmul();

  // Creates the primitive. Returns unsupported if oneDNN has no generated code for the shape on this machine. oneDNN
  // would then use its reference loops, which are hundreds of times slower.
  Status build(dnnl_engine_t engine, const Shape& shape);
  uint64_t scratchpad_bytes() const { return scratchpad_bytes_; }
  // Computes the product. Threads may call it at the same time with different scratchpads. `bias` [n] is read if the
  // shape has a bias.
  Status run(dnnl_engine_t engine, const float* a, const float* b, const float* bias, float* c, void* scratchpad) const;

 private:
  dnnl_primitive_t primitive_ = nullptr;
  MemoryDesc a_, b_, c_, scratchpad_, bias_;
  bool has_bias_ = false;
  uint64_t scratchpad_bytes_ = 0;
};

}  // namespace LINFORMER_NAMESPACE::onednn
