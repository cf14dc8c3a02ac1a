// How a GEMM on panel16 weights is cut for oneDNN, and the scratch that this takes. Knows nothing of oneDNN: a part of
// planned_scratch_bytes(), so in every build.
#pragma once

#include "gemm/gemm.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE::onednn {

// Primitives have fixed n and k; GEMMs that vary, and plain right sides, go by way of sgemm.
bool takes_panels(const GemmDesc& desc);

// Rows that go by way of scratch together; a step of the ladder in panel_gemm.h.
inline constexpr int64_t padded_rows = 16;

// Columns that are multiplied at a time.
int64_t chunk_columns(const GemmDesc& desc);
// Chunks of columns go by way of a tile in scratch, since primitives write dense rows only.
inline bool in_tiles(const GemmDesc& desc) { return chunk_columns(desc) < desc.n; }

// The three parts of scratch, one after the other. oneDNN's own scratchpad follows.
struct PanelScratch {
  struct Part {
    int64_t rows, cols;
    int64_t elements() const { return rows * cols; }
  };
  Part a_rows;   // rows of A, padded to a step
  Part tile;     // sums: rows of a step by a chunk of columns
  Part widened;  // a chunk of 16-bit weights as f32, panel16
};
PanelScratch panel_scratch(const GemmDesc& desc);
uint64_t panel_scratch_bytes(const GemmDesc& desc);

}  // namespace LINFORMER_NAMESPACE::onednn
