// Lowers attention that keeps a key and a value for each row of the sequence. If the layer has a window, it may also
// have compressed keys and values.
#include <algorithm>

#include "program/lower.h"
#include "program/lower_keys.h"

namespace LINFORMER_NAMESPACE {

// Returns the view of the compressed keys or values that stand beside those of a window, as rows.
View Lowering::rows_beside(const LayerState& layer, int side) const {
  const BufferId buffer = side == key_side || layer.value_is_key ? BufferId::keys_beside : BufferId::values_beside;
  return slot(buffer, projection_of(layer.description->attention, side, 0).k, layer.key_width);
}

// Sets the compressed keys and values that queries see beside those of a window. Other layers have none.
void Lowering::view_keys_beside(LayerState* layer) {
  ops::Attend& attend = layer->attend;
  const int64_t k = projection_of(layer->description->attention, key_side, 0).k;
  if (attend.window == 0 || k == 0) return;
  attend.keys_beside = rows_beside(*layer, key_side);
  attend.values_beside = rows_beside(*layer, value_side);
  if (!layer->plan.panels) return;
  for (View* side : {&attend.keys_beside, &attend.values_beside}) {
    *side = slot(side == &attend.keys_beside ? BufferId::packed_keys_beside : BufferId::packed_values_beside, k, 0);
    side->type = attend.compute;
    side->layout = RightLayout::panel16;
  }
}

// Packs a block of the sequence's rows into the panels of keys or of values, or into both if values are keys.
void Lowering::pack_block(const LayerState& layer, int side, const View& rows) {
  for (int to : {key_side, value_side}) {
    if (to != side && !layer.value_is_key) continue;
    View out = panels(compressed_of(to), layer.attend);
    out.cols = layer.key_width;
    add(ops::PackBlock{out, rows, layer.attend.groups, layer.attend.d_head, to == key_side});
  }
}

// Adds the ops that compute K or V for a block of rows.
void Lowering::whole_side(const LayerState& layer, int side) {
  const bool stored = !layer.plan.panels || layer.attend.beside() > 0;
  View rows = stored ? key_slot(layer, side) : block(BufferId::ffn, layer.key_width);
  rows.ld = layer.key_width;  // rows next to one another: what every GEMM provider writes fastest
  project_rows(layer, side, rows);
  if (layer.plan.panels) pack_block(layer, side, rows);
}

// Adds E (Z W), which compresses the rows that whole_side() stored. E's first rows begin at the text's first row, and
// its last `end_rows` rows end at the text's last row. The rows of exact tokens are overwritten afterwards.
void Lowering::compress_beside(const LayerState& layer, int side) {
  const Projection& projection = projection_of(layer.description->attention, side, 0);
  key_stage(layer, Domain::compressed_rows, {}, projection.k, side == value_side).whole_keys = false;
  const int64_t at_start = projection.k - projection.end_rows;
  ops::Gemm product;
  product.b = key_slot(layer, side);
  product.out = rows_beside(layer, side);
  product.a = weight(projection.weight);
  product.row_bias = weight(projection.bias);
  product.end_m = at_start;
  if (at_start > 0) add(product);
  product.first_m = at_start;
  product.end_m = projection.k;
  product.from_end = true;
  if (projection.end_rows > 0) add(product);
  if (projection.exact_tokens.empty()) return;
  ops::PutTokens put{product.out, product.b};
  put.count = static_cast<int32_t>(projection.exact_tokens.size());
  std::copy(projection.exact_tokens.begin(), projection.exact_tokens.end(), put.tokens);
  add(put);
}

// Packs the compressed rows into panels of K^T and V, group by group.
void Lowering::pack_beside(const LayerState& layer) {
  const ops::Attend& attend = layer.attend;
  key_stage(layer, Domain::key_heads, {}, attend.groups.count, false);
  for (int side : {key_side, value_side}) {
    const View out = side == key_side ? attend.keys_beside : attend.values_beside;
    add(ops::Pack{out, rows_beside(layer, side), attend.groups, attend.d_head, side == key_side});
  }
}

void Lowering::whole_keys(LayerState* layer) {
  const int sides = layer->value_is_key ? 1 : 2;
  for (int side = 0; side < sides; ++side) {
    if (side == 0 || !layer->plan.converts_once) key_stage(*layer, Domain::source_rows, {}, 0, side > 0);
    whole_side(*layer, side);
  }
  if (layer->attend.beside() == 0) return;
  for (int side = 0; side < sides; ++side) compress_beside(*layer, side);
  if (layer->plan.panels) pack_beside(*layer);
}

}  // namespace LINFORMER_NAMESPACE
