// A product with fixed n and k whose right side is panel16: oneDNN primitives for a ladder of row counts.
#pragma once

#include <memory>

#include "backends/backend.h"
#include "backends/onednn/matmul.h"

namespace linformer::onednn {

class PanelProduct {
 public:
  // unsupported when oneDNN has no generated code for it.
  Status build(dnnl_engine_t engine, const ProductShape& shape);
  uint64_t scratch_bytes() const;
  Status run(dnnl_engine_t engine, const Kernels& kernels, const Product& product, void* scratch) const;

 private:
  // Primitives exist for 16, 32, 64, ... rows and for max_m; any m is a sum of them, and a rest below the smallest
  // is padded in scratch.
  static constexpr int max_steps = 32;
  struct Chunk {  // of columns
    int64_t width = 0;
    Matmul overwrite[max_steps], add[max_steps];
  };
  struct Call;  // what the steps of one run share

  Status build_chunk(dnnl_engine_t engine, int64_t width, Chunk* chunk);
  Status run_step(const Call& call, int step, int64_t row) const;
  Status run_padded(const Call& call, int64_t row, int64_t rows) const;

  ProductShape shape_;
  int steps_ = 0;
  int64_t step_rows_[max_steps] = {};
  int64_t chunk_width_ = 0;
  std::unique_ptr<Chunk> whole_, rest_;  // chunks of chunk_width_ columns and the narrower last one
  uint64_t scratchpad_bytes_ = 0;
};

}  // namespace linformer::onednn
