// A GEMM with fixed n and k whose right operand is panel16. It has a oneDNN primitive for each of several numbers of
// rows.
#pragma once

#include <memory>

#include "gemm/gemm.h"
#include "gemm/onednn/matmul.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE::onednn {

class PanelGemm {
 public:
  // Creates the primitives. Returns unsupported if oneDNN has no generated code for the GEMM.
  Status build(dnnl_engine_t engine, const GemmDesc& desc);
  uint64_t scratch_bytes() const;
  Status run(dnnl_engine_t engine, const Kernels& kernels, const GemmArgs& args, void* scratch) const;

 private:
  // There are primitives for 4, 8, 16, 32, ... and max_m rows. M rows are divided into steps of at least 16 rows and a
  // rest, which is padded in scratch unless a primitive has its number of rows. If the rows of A or C aren't dense, all
  // steps go through scratch and have at most 16 rows.
  static constexpr int max_steps = 32;
  // The primitives for each chunk of `width` columns.
  struct Chunk {
    int64_t width = 0;
    Matmul overwrite[max_steps], add[max_steps];
  };
  struct Call;

  Status build_chunk(dnnl_engine_t engine, int64_t width, Chunk* chunk);
  Status run_in_place(const Call& call, int step, int64_t row) const;
  Status run_tile(const Call& call, int step, int64_t row) const;
  Status run_padded(const Call& call, int64_t row, int64_t rows) const;

  GemmDesc desc_;
  int steps_ = 0;
  int64_t step_rows_[max_steps] = {};
  int64_t chunk_width_ = 0;
  bool in_tiles_ = false;
  std::unique_ptr<Chunk> whole_, rest_;  // For chunks of chunk_width_ columns, and for a narrower last chunk.
  uint64_t scratchpad_bytes_ = 0;
};

}  // namespace LINFORMER_NAMESPACE::onednn
