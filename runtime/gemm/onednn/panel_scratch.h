// How a GEMM with panel16 weights is divided for oneDNN, and the scratch that this takes. It doesn't need oneDNN. Every
// build has it, because planned_scratch_bytes() uses it.
#pragma once

#include "gemm/gemm.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE::onednn {

// Returns whether primitives compute the GEMM. They have fixed n and k, so sgemm computes GEMMs with a varying n or k.
// It also computes those whose right operand isn't in panels, and all GEMMs on machines for which oneDNN generates no
// primitives (below AVX-512).
bool uses_matmul_primitives(const GemmDesc& desc);

// The most rows that are padded in scratch together. There is a primitive for this number of rows, or for max_m rows if
// that is smaller (panel_gemm.h).
inline constexpr int64_t padded_rows = 16;

// Returns the number of columns that are multiplied at a time.
int64_t chunk_columns(const GemmDesc& desc);
// Returns whether all sums go through a tile in scratch, and not only those of padded rows. They do if there are chunks
// of columns, because primitives write dense rows only.
inline bool needs_sum_tile(const GemmDesc& desc) { return chunk_columns(desc) < desc.n; }

// The three parts of scratch, which lie one after the other. oneDNN's own scratchpad follows them.
struct PanelScratch {
  struct Part {
    int64_t rows, cols;
    int64_t elements() const { return rows * cols; }
  };
  Part a_rows;   // Rows of A, padded to the rows of a primitive.
  Part tile;     // Sums: the rows of a step by the columns of a chunk.
  Part widened;  // A chunk of weights that aren't f32, widened to f32 in panel16.
};
PanelScratch panel_scratch(const GemmDesc& desc);
uint64_t panel_scratch_bytes(const GemmDesc& desc);

}  // namespace LINFORMER_NAMESPACE::onednn
