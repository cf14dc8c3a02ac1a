// One oneDNN matmul primitive of fixed shape: C[m,n] = A[m,k] B + bias or C += A B + bias, B in panel16 f32, rows
// dense.
#pragma once

#include <cstdint>

#include "gemm/onednn/compat.h"
#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE::onednn {

// internal, with oneDNN's own number, when `status` is an error.
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

  // unsupported when this machine has no generated code for the shape: oneDNN would quietly use its reference
  // loops, hundreds of times slower.
  Status build(dnnl_engine_t engine, const Shape& shape);
  uint64_t scratchpad_bytes() const { return scratchpad_bytes_; }
  // Thread-safe with distinct scratchpads. `bias` [n] is read where the shape has one.
  Status run(dnnl_engine_t engine, const float* a, const float* b, const float* bias, float* c, void* scratchpad) const;

 private:
  dnnl_primitive_t primitive_ = nullptr;
  MemoryDesc a_, b_, c_, scratchpad_, bias_;
  bool has_bias_ = false;
  uint64_t scratchpad_bytes_ = 0;
};

}  // namespace LINFORMER_NAMESPACE::onednn
