#include "gemm/onednn/panel_scratch.h"

#include <algorithm>

#include "base/checked.h"

namespace LINFORMER_NAMESPACE::onednn {
namespace {

// The most elements of a chunk of widened weights. oneDNN doesn't multiply f32 by other types, so weights of these are
// widened a chunk of columns at a time, which should stay in L2. f32 weights are multiplied as a whole, because copying
// a chunk first costs more than it gains.
constexpr int64_t widened_elements = 256 * 1024;

}  // namespace

bool uses_matmul_primitives(const GemmDesc& desc) {
  return desc.layout == RightLayout::panel16 && !desc.varying_k && !desc.varying_n;
}

int64_t chunk_columns(const GemmDesc& desc) {
  if (desc.type == ElementType::f32) return desc.n;
  const int64_t fitting = widened_elements / round_up(desc.k, panel_width) / panel_width * panel_width;
  return std::min(desc.n, std::max<int64_t>(fitting, 4 * panel_width));
}

PanelScratch panel_scratch(const GemmDesc& desc) {
  const int64_t rows = std::min(padded_rows, desc.max_m), k = round_up(desc.k, panel_width);
  const int64_t columns = round_up(chunk_columns(desc), panel_width);
  const bool widens = desc.type != ElementType::f32;
  return {{rows, k}, {needs_sum_tile(desc) ? desc.max_m : rows, columns}, {widens ? k : 0, widens ? columns : 0}};
}

uint64_t panel_scratch_bytes(const GemmDesc& desc) {
  const PanelScratch parts = panel_scratch(desc);
  CheckedSize bytes;
  for (const PanelScratch::Part& part : {parts.a_rows, parts.tile, parts.widened}) {
    bytes.add_product(static_cast<uint64_t>(part.rows), static_cast<uint64_t>(part.cols), sizeof(float));
  }
  return bytes.saturated();
}

}  // namespace LINFORMER_NAMESPACE::onednn
