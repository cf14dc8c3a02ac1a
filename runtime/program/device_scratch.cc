#include "program/device_scratch.h"

#include <algorithm>

#include "base/matrix.h"

namespace LINFORMER_NAMESPACE {
namespace {

constexpr int64_t workspace_bytes = int64_t{8} << 20;
constexpr int64_t enough_slices = 64;  // The number of products in one call that is enough to keep a GPU busy.

}  // namespace

bool lay_out_device_scratch(const Program& p, DeviceScratch* scratch) {
  int64_t widest = 1, most_k = 1, outputs = 1;
  for (const Op& op : p.ops) {
    if (const auto* gemm = op.get<ops::Gemm>(); gemm != nullptr && gemm->multiplies_e()) {
      widest = std::max(widest, gemm->b.cols);
      most_k = std::max(most_k, gemm->a.rows);
    }
    if (const auto* attend = op.get<ops::Attend>()) widest = std::max(widest, attend->keys.cols);
    const View& out = op.out();
    if (out.place != Place::output || op.is<ops::Expand>()) continue;
    const bool positions = p.vocabulary > 0 && out.cols == p.vocabulary;
    const int64_t rows = positions ? std::max(device_positions, p.extents.sequences) : p.extents.sequences;
    outputs = std::max(outputs, out.cols * rows);
  }
  for (const KeyGroup& group : p.groups) most_k = std::max({most_k, group.projections[0].k, group.projections[1].k});
  const Extents& e = p.extents;
  const int64_t longest = std::max(e.tokens, e.encoder_states);
  const Count padded = Count(device_row_multiple) * e.sequences;
  const Count rows = larger(e.rows, Count(e.sequences) * e.encoder_states) + padded;
  const Count narrow = rows * round_up(widest, device_row_multiple);
  const int64_t parts = longest > device_e_slice ? longest / device_e_slice + 1 : 0;
  const int64_t of_batch = parts > 0 ? std::min(e.sequences, enough_slices / parts) * parts : 0;
  scratch->slices_at_once = std::max(parts, of_batch);
  Count offset;
  bool fits = true;
  const auto place = [&](uint64_t* at, const Count& elements, uint64_t each) {
    fits = fits && offset.get(at);
    offset = offset + (elements * Count::bytes(each)).rounded_up(device_alignment);
  };
  place(&scratch->narrow, narrow, p.target.all == ElementType::f32 ? 0 : 2);
  place(&scratch->slices, Count(scratch->slices_at_once) * most_k * widest, sizeof(float));
  place(&scratch->outputs, outputs, sizeof(float));
  place(&scratch->sums, most_k, sizeof(float));
  place(&scratch->groups, static_cast<int64_t>(p.groups.size()), device_group_bytes);
  place(&scratch->positions, device_positions, sizeof(int32_t));
  place(&scratch->workspace, workspace_bytes, 1);
  offset = offset + device_alignment;  // The region itself may begin at any address.
  uint64_t elements = 0;
  fits = fits && offset.get(&scratch->total) && narrow.get(&elements) && scratch->total <= INT64_MAX;
  scratch->narrow_elements = static_cast<int64_t>(elements);
  scratch->output_elements = outputs;
  return fits;
}

}  // namespace LINFORMER_NAMESPACE
